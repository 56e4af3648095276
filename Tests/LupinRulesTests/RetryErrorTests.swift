// What is said of a retry policy that can't be: the place, the sentence, and what to write.

import LupinCore
import LupinRules
import Testing

struct RetryErrorTests {
    /// The only problem of `body`: its line of the report, and its hint.
    private func expectProblem(_ body: String, _ line: String, _ hint: String) {
        let problems = decode(body).errors
        #expect(problems.count == 1, "\(problems.report())")
        let first = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(first == "lupin.yaml:\(line)")
        #expect(problems.first?.hint == hint)
    }

    private static let failures =
        "dns, connect, reset, stale-connection, timeout, tls-transient, refused-stream, goaway"

    // The value begins in column 17: `retry: {a: {` is 12 wide, and the keys differ.
    @Test(arguments: [
        ("limit: 11", "2:20: limit 11 is out of range  [E-RANGE]", "allowed: 0 to 10"),
        ("limit: -1", "2:20: limit -1 is out of range  [E-RANGE]", "allowed: 0 to 10"),
        ("limit: two", "2:20: \"two\" is not a number  [E-TYPE]", "write a number from 0 to 10"),
        ("limit: []", "2:20: expected a number, found a list  [E-TYPE]", "write 2"),
        (
            "methods: [get]", "2:23: methods are case-sensitive: \"get\" is none  [E-NAME]",
            "write GET"
        ),
        ("methods: [G T]", "2:23: \"G T\" is not a method  [E-TYPE]", "write GET"),
        (
            "methods: {a: b}", "2:22: expected a list, found a map  [E-TYPE]",
            "write [DELETE, GET, HEAD, OPTIONS, PUT, QUERY, TRACE]"
        ),
        ("status: [399]", "2:22: status 399 is out of range  [E-RANGE]", "allowed: 400 to 599"),
        ("status: 600", "2:21: status 600 is out of range  [E-RANGE]", "allowed: 400 to 599"),
        ("status: [5xx]", "2:22: \"5xx\" is not a number  [E-TYPE]", "write 500-599"),
        ("status: [504-500]", "2:22: the range 504-500 is empty  [E-RANGE]", "write 500-504"),
        (
            "errors: [conect]", "2:22: unknown kind of failure \"conect\"  [E-NAME]",
            "did you mean \"connect\"? allowed: \(failures)"
        ),
        (
            "errors: never", "2:21: unknown kind of failure \"never\"  [E-NAME]",
            "allowed: \(failures)"
        ),
        (
            "backoff: 500ms", "2:22: expected none or a map, found \"500ms\"  [E-TYPE]",
            "write {base: 2, scale: 500ms}"
        ),
        (
            "backoff: {base: 0}", "2:29: base 0 is out of range  [E-RANGE]",
            "allowed: 1 to 10; 1 is the same wait each time"
        ),
        (
            "backoff: {base: 10.5}", "2:29: base 10.5 is out of range  [E-RANGE]",
            "allowed: 1 to 10; 1 is the same wait each time"
        ),
        (
            "backoff: {base: -2}", "2:29: base -2 is out of range  [E-RANGE]",
            "allowed: 1 to 10; 1 is the same wait each time"
        ),
        (
            "backoff: {base: 1.2345}", "2:29: \"1.2345\" is more exact than lupin waits  [E-RANGE]",
            "at most 3 digits behind the point"
        ),
        ("backoff: {base: 1e1}", "2:29: \"1e1\" is not a number  [E-TYPE]", "write 2 or 1.5"),
        ("backoff: {base: nan}", "2:29: \"nan\" is not a number  [E-TYPE]", "write 2 or 1.5"),
        ("backoff: {base: .5}", "2:29: \".5\" is not a number  [E-TYPE]", "write 2 or 1.5"),
        (
            "backoff: {scale: 0}", "2:30: scale 0 is out of range  [E-RANGE]",
            "allowed: 1ms to 1m"
        ),
        (
            "backoff: {scale: 61s}", "2:30: scale 61s is out of range  [E-RANGE]",
            "allowed: 1ms to 1m"
        ),
        (
            "backoff: {scale: 20s}",
            "2:30: scale 20s is more than max, which is 10s unless it is written  [E-RANGE]",
            "write max: 20s beside it"
        ),
        (
            "backoff: {max: 100ms}", "2:28: max 100ms is less than scale 500ms  [E-RANGE]",
            "write 500ms or more"
        ),
        ("backoff: {max: 11m}", "2:28: max 11m is out of range  [E-RANGE]", "allowed: 1ms to 10m"),
        (
            "backoff: {jitter: half}", "2:31: unknown value \"half\"  [E-NAME]",
            "allowed: full, decorrelated, none"
        ),
        (
            "backoff: {factor: 2}", "2:23: unknown key \"factor\" in \"backoff\"  [E-KEY]",
            "known: base, scale, max, jitter"
        ),
        (
            "retry_after: false", "2:26: expected a map, found \"false\"  [E-TYPE]",
            "write {honour: false}"
        ),
        (
            "retry_after: 30s", "2:26: expected a map, found \"30s\"  [E-TYPE]",
            "write {honour: true}"
        ),
        (
            "retry_after: {honour: no}", "2:35: \"no\" is not a boolean  [E-TYPE]", "write false"
        ),
        (
            "retry_after: {max: 2h}", "2:32: max 2h is out of range  [E-RANGE]", "allowed: 0 to 1h"
        ),
        (
            "non_idempotent: sometimes", "2:29: unknown value \"sometimes\"  [E-NAME]",
            "allowed: never, with-idempotency-key, always"
        ),
    ])
    func `a wrong value is told with what to write`(text: String, line: String, hint: String) {
        expectProblem("retry: {a: {\(text)}}", line, hint)
    }

    @Test(arguments: [
        (
            "replay_body: 65MiB", "2:26: replay_body 65MiB is out of range  [E-RANGE]",
            "allowed: 0 to 64MiB"
        ),
        ("replay_body: 256", "2:26: \"256\" has no unit  [E-TYPE]", "write 256KiB"),
        (
            "replay_spill: 17GiB", "2:27: replay_spill 17GiB is out of range  [E-RANGE]",
            "allowed: 0 to 16GiB"
        ),
        ("per_try: 0", "2:22: per_try 0 is out of range  [E-RANGE]", "allowed: 10ms to 7d"),
        ("per_try: 5", "2:22: \"5\" has no unit  [E-TYPE]", "write 5s"),
        ("hold: 17MiB", "2:19: hold 17MiB is out of range  [E-RANGE]", "allowed: 0 to 16MiB"),
        (
            "hedge: 200ms", "2:20: expected none or a map, found \"200ms\"  [E-TYPE]",
            "write {after: 200ms}"
        ),
        (
            "hedge: {max: 2}", "2:13: \"hedge\" has no \"after\"  [E-KEY]",
            "write {after: 200ms} or {after: p95}"
        ),
        (
            "hedge: {after: p99}", "2:28: \"p99\" is neither a duration nor p95  [E-TYPE]",
            "write p95 or 200ms"
        ),
        (
            "hedge: {after: 0}", "2:28: after 0 is out of range  [E-RANGE]", "allowed: 1ms to 5m"
        ),
        (
            "hedge: {after: 1s, max: 4}", "2:37: max 4 is out of range  [E-RANGE]",
            "allowed: 1 to 3"
        ),
        (
            "offline_wait: 6m", "2:27: offline_wait 6m is out of range  [E-RANGE]",
            "allowed: 0 to 5m"
        ),
        (
            "budget: 20%", "2:21: expected none or a map, found \"20%\"  [E-TYPE]",
            "write {ratio: 20%, floor: 100}"
        ),
        (
            "budget: {ratio: 140%}", "2:29: ratio 140% is out of range  [E-RANGE]",
            "allowed: 0% to 100%"
        ),
        ("budget: {ratio: 0.2}", "2:29: \"0.2\" is not a share  [E-TYPE]", "write 20%"),
        (
            "budget: {floor: 10001}", "2:29: floor 10001 is out of range  [E-RANGE]",
            "allowed: 0 to 10000"
        ),
        (
            "budget: {window: 999ms}", "2:30: window 999ms is out of range  [E-RANGE]",
            "allowed: 1s to 5m"
        ),
        ("budget: {per: rule}", "2:27: unknown value \"rule\"  [E-NAME]", "allowed: host"),
        ("limt: 2", "2:13: unknown key \"limt\" in \"retry\"  [E-KEY]", "did you mean \"limit\"?"),
        (
            "use: safe", "2:13: unknown key \"use\" in \"a\"  [E-KEY]",
            "what a policy leaves out is as in standard; only rules say use"
        ),
    ])
    func `a wrong limit is told with what to write`(text: String, line: String, hint: String) {
        expectProblem("retry: {a: {\(text)}}", line, hint)
    }

    // MARK: Names

    @Test func `an unknown name is told with the nearest one`() {
        let report = errors(
            """
            retry: {mine: {}}
            rules:
              - match: a.dev
                retry: standart
            """
        )
        #expect(
            report == """
                lupin.yaml:5:12: unknown retry policy "standart"  [E-NAME]
                    retry: standart
                           ^^^^^^^^  did you mean "standard"? defined: none, safe, standard, \
                alamofire, connection-lost, mine
                """
        )
    }

    @Test func `nothing is no list`() {
        let report = errors("retry:\n  a:\n    status:\n    limit: 1")
        #expect(report.contains("expected a list, found nothing  [E-TYPE]"))
    }

    @Test func `names and forms that can't be are told`() {
        expectProblem(
            "retry: {standard: {limit: 3}}",
            "2:9: the retry policy \"standard\" is built in, and says something else  [E-NAME]",
            "choose another name"
        )
        expectProblem(
            "retry: {a: {limit: 1}, a: {limit: 2}}",
            "2:24: \"a\" is written twice  [E-DUP]",
            "first on line 2"
        )
        expectProblem(
            "rules: [{match: a.dev, retry: {use: nobody, limit: 1}}]",
            "2:37: unknown retry policy \"nobody\"  [E-NAME]",
            "defined: none, safe, standard, alamofire, connection-lost"
        )
        expectProblem(
            "rules: [{match: a.dev, retry: [standard]}]",
            "2:31: expected a retry policy, found a list  [E-TYPE]",
            "write standard"
        )
        expectProblem(
            "retry: {a: 3}",
            "2:12: expected a retry policy, found \"3\"  [E-TYPE]",
            "write {limit: 5}"
        )
        expectProblem(
            "rules: [{match: a.dev, retry: {uses: safe}}]",
            "2:32: unknown key \"uses\" in \"retry\"  [E-KEY]",
            "did you mean \"use\"?"
        )
        // A policy with a problem of its own is defined all the same.
        let broken = decode("retry: {a: {limit: 11}}\nrules: [{match: a.dev, retry: a}]").errors
        #expect(broken.map(\.code) == [.range])
    }

    // MARK: E-RETRY

    @Test(arguments: [
        (
            "methods: [GET, POST]",
            "2:28: POST is not idempotent: what it does may be done twice (RFC 9110 §9.2.2)",
            "write non_idempotent: with-idempotency-key in its place, or "
                + "non_idempotent: always beside it"
        ),
        (
            "methods: PATCH, non_idempotent: with-idempotency-key",
            "2:22: PATCH is not idempotent: what it does may be done twice (RFC 9110 §9.2.2)",
            "take it out: with-idempotency-key admits it by itself"
        ),
        (
            "methods: [CONNECT]",
            "2:23: CONNECT is not idempotent: what it does may be done twice (RFC 9110 §9.2.2)",
            "write non_idempotent: always beside it if that is meant"
        ),
        (
            "methods: [PROPFIND]",
            "2:23: whether PROPFIND is idempotent is not known (RFC 9110 §9.2.2)",
            "write non_idempotent: always beside it if that is meant"
        ),
    ])
    func `methods that may do something twice need a word`(
        text: String,
        line: String,
        hint: String
    ) {
        expectProblem("retry: {a: {\(text)}}", "\(line)  [E-RETRY]", hint)
    }

    @Test func `a rule can't forbid what it uses and keep its methods`() {
        expectProblem(
            "retry: {a: {methods: [POST], non_idempotent: always}}\n"
                + "rules: [{match: a.dev, retry: {use: a, non_idempotent: never}}]",
            "3:56: \"a\" repeats POST, which never forbids (RFC 9110 §9.2.2)  [E-RETRY]",
            "write methods: without them too, or leave this out"
        )
    }

    @Test func `an attempt has less time than the exchange`() throws {
        let hint = "no second attempt would have time: write less, or per_try: none"
        expectProblem(
            "timeouts: {total: 20s}\nrules: [{match: a.dev, retry: {per_try: 20s}}]",
            "3:41: per_try 20s is not less than timeouts.total, 20s  [E-RETRY]",
            hint
        )
        expectProblem(
            "retry: {a: {per_try: 2m}}\n"
                + "rules: [{match: a.dev, retry: a, timeouts: {total: 90s}}]",
            "3:31: per_try 2m of \"a\" is not less than timeouts.total of the rule, 90s  [E-RETRY]",
            hint
        )
        let fine = """
            timeouts: {total: 20s}
            rules:
              - {match: a.dev, retry: {per_try: 30s}, timeouts: {total: none}}
              - {match: b.dev, retry: {per_try: 19s}}
            """
        #expect(errors(fine) == "")
    }

    @Test func `no more of a body is kept than may come`() {
        let hint = "no body is that large: write 64KiB or less"
        expectProblem(
            "retry: {a: {replay_body: 1MiB}}\nlimits: {body: 64KiB}",
            "2:26: replay_body 1MiB is more than limits.body 64KiB  [E-RETRY]",
            hint
        )
        expectProblem(
            "limits: {body: 64KiB}\nrules: [{match: a.dev, retry: {replay_body: 65KiB}}]",
            "3:45: replay_body 65KiB is more than limits.body 64KiB  [E-RETRY]",
            hint
        )
        // The default of standard is no fault of the file.
        let fine =
            "limits: {body: 64KiB}\nretry: {a: {limit: 1}}\n"
            + "rules: [{match: a.dev, retry: {use: a, replay_body: 64KiB}}]"
        #expect(errors(fine) == "")
    }

    @Test func `validate may ask for a retry where no rule says which`() {
        #expect(errors("rules: [{match: a.dev, validate: {status: 200, then: retry}}]") == "")
    }
}
