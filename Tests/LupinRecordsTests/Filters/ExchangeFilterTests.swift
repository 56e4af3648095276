// What filters keep, how they are written, and what is said of one that is wrong.
import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct ExchangeFilterTests {
    private static let now = sampleStart + 60_000_000

    /// The line of a full record: 200 from api.github.com by the second of two attempts.
    private func line(_ change: (inout ExchangeRecord) -> Void = { _ in }) throws -> JSONValue {
        var record = makeFullRecord()
        change(&record)
        return try #require(parseJSON(jsonLine(of: record, redactor: makeRedactor())))
    }

    private func keeps(_ filter: String, _ line: JSONValue) throws -> Bool {
        try ExchangeFilter(filter).matches(line, now: Self.now)
    }

    @Test(arguments: [
        ("", true), ("host:api.github.com", true), ("host:*.GitHub.com", true),
        ("host:github.com", false), ("host~github", true), ("host=api.github.com", true),
        ("url~/USER", true), ("url~nothing", false), ("path:/user", true), ("scheme:http", true),
        ("port:80", true), ("port:1-79", false), ("method:get", true), ("method:POST", false),
        ("status:200", true), ("status:2xx", true), ("status:2XX", true),
        ("status:200-299", true), ("status:5xx", false), ("status>=200", true),
        ("status<600", true), ("status<200", false), ("status>199", true), ("status<=200", true),
        ("outcome:ok", true), ("outcome:denied", false), ("outcome:*", true),
        ("rule=github", true), ("rule=GitHub", false), ("rule=git*", false),
        ("rule:github", true), ("rule:git", false), ("rule:git*", true), ("rule~hub", true),
        ("step:\"default accept\"", true), ("program:curl", true), ("user:*", false),
        ("client:127.0.0.1", true), ("client:127.0.0.0/8", true), ("client:10.0.0.0/8", false),
        ("client:::1", false), ("error:*", false), ("not error:*", true),
        ("duration>700ms", true), ("duration>1s", false), ("duration:700ms-1s", true),
        ("size:5120", true), ("size>=5KiB", true), ("size<5KiB", false), ("sent:0", true),
        ("attempts:2", true), ("attempts>2", false), ("redirects:*", false), ("age<2m", true),
        ("age<10s", false), ("id:6f1c0e0b", true), ("id:6F1C", true), ("id:0e0b", false),
        ("event:exchange", true), ("version:*", true), ("cache:*", false),
        // Joined.
        ("host:a or status:200", true), ("host:a or status:500", false),
        ("status:200 rule:github", true), ("status:200 and rule:other", false),
        ("not status:200", false), ("not not status:200", true),
        ("NOT host:a AND status:200", true),
        ("status:500 and host:a or rule:github", true),
        ("status:500 and (host:a or rule:github)", false),
        ("(status:200)", true), ("not (status:500 or host:a)", true),
        ("( ( status:200 ) )rule:github", true), ("host:\"api.github.com\"", true),
    ])
    func `a line is kept or not`(filter: String, isKept: Bool) throws {
        #expect(try keeps(filter, line()) == isKept)
    }

    @Test(arguments: [
        ("redirected:true", true), ("redirected:TRUE", true), ("redirected=true", true),
        ("redirected:*", true), ("redirected:false", false), ("not redirected:true", false),
    ])
    func `connections that were led to lupin are told apart`(
        filter: String,
        isKept: Bool
    ) throws {
        let redirected = try line { $0.client.isRedirected = true }
        #expect(try keeps(filter, redirected) == isKept)
        #expect(try keeps(filter, line()) == !isKept)
    }

    @Test func `what was read over is found`() throws {
        let flawed = try line { $0.flaws = ResponseFlaws([.lineFeed, .length]) }
        for filter in ["lenient:*", "lenient:lf", "lenient:length"] {
            #expect(try keeps(filter, flawed), "\(filter)")
            #expect(try !keeps(filter, line()), "\(filter)")
        }
        #expect(try !keeps("lenient:name", flawed))
    }

    @Test(arguments: ["redirected:yes", "redirected~true", "redirected>0", "redirected:t*"])
    func `a flag is true or false`(filter: String) {
        do throws(FilterProblem) {
            _ = try ExchangeFilter(filter)
            Issue.record("it was compiled")
        } catch {
            #expect("\(error)".contains("redirected:true"))
        }
    }

    @Test(arguments: [
        ("lupin; hit; ttl=30", ["hit"]),
        ("lupin; fwd=uri-miss; stored", ["miss", "stored", "uri-*"]),
        ("lupin; fwd=stale; fwd-status=304; collapsed", ["stale", "collapsed", "fwd-status"]),
        ("lupin; fwd=bypass; detail=\"no-store\"", ["bypass", "no-store", "fwd"]),
    ])
    func `what the cache did is a set of words`(status: String, words: [String]) throws {
        let line = try line { $0.cache = status }
        let all = ["hit", "miss", "stored", "uri-*", "stale", "collapsed", "fwd-status", "bypass"]
        for word in all {
            #expect(try keeps("cache:\(word)", line) == words.contains(word), "\(word)")
        }
        for word in words { #expect(try keeps("cache:\(word)", line), "\(word)") }
    }

    @Test func `errors, tunnels and tokens are found`() throws {
        let failed = try line { record in
            record.outcome = .error
            record.error = LupinError(.dnsError, detail: "x")
            record.authentication = AuthenticationRecord(token: "github")
        }
        for filter in ["error:dns_*", "error~dns", "side:upstream", "token:github"] {
            #expect(try keeps(filter, failed), "\(filter)")
        }
        let tunnel = try line { record in
            record.mode = .tunnel
            record.request?.form = .authority
            record.tunnel = TunnelRecord()
            record.tunnel?.receivedBytes = 99
        }
        for filter in ["mode:tunnel", "event:tunnel", "host:api.github.com", "not url:*"] {
            #expect(try keeps(filter, tunnel), "\(filter)")
        }
    }

    @Test func `what ended early is an error too, unless it is asked for exactly`() throws {
        for outcome in ExchangeRecord.Outcome.allCases {
            let line = try line { $0.outcome = outcome }
            let isError = [.error, .aborted, .truncated].contains(outcome)
            #expect(try keeps("outcome:error", line) == isError, "\(outcome)")
            #expect(try keeps("outcome=error", line) == (outcome == .error), "\(outcome)")
        }
    }

    @Test func `a date of any year has an age`() throws {
        let line = try #require(parseJSON(#"{"ts":"0000-01-01T00:00:00.000000Z"}"#))
        #expect(try ExchangeFilter("age>1d").matches(line, now: .max))
        #expect(try !ExchangeFilter("age>1d").matches(line, now: .min))
    }

    @Test func `exchanges under way have the same keys`() throws {
        let live = try #require(
            parseJSON(
                """
                {"id":"6f1c","ts":"2026-11-20T22:41:07.123456Z","elapsed":1500,"mode":"http",\
                "client":{"address":"::1","program":"git"},"method":"GET",\
                "url":"http://a.example/x","host":"a.example","rules":{"matched":["a"]},\
                "attempts":2}
                """
            )
        )
        for filter in [
            "host:a.example", "url~/x", "method:GET", "duration>1s", "attempts:2", "rule:a",
            "client:::1", "program:git", "age:59s-61s",
        ] {
            #expect(try keeps(filter, live), "\(filter)")
        }
        #expect(try !keeps("status:*", live))
    }

    @Test(arguments: [
        (
            "hots:a", 0, 4,
            "there is no key \"hots\"; did you mean host? `lupin help filters` lists all"
        ),
        ("status:200 zzzzz:a", 11, 5, "there is no key \"zzzzz\"; `lupin help filters` lists all"),
        ("acme", 0, 4, "\"acme\" is no comparison; write url~acme for URLs that contain it"),
        ("status:9xx", 7, 3, "unknown status \"9xx\"; write 404, 5xx or 200-299"),
        ("status:299-200", 7, 7, "the range 299-200 is empty: write 200-299"),
        ("status:200-", 7, 4, "unknown status \"200-\"; write 404, 5xx or 200-299"),
        (
            "outcome:bad", 8, 3,
            "unknown outcome \"bad\"; known are ok, error, aborted, truncated, denied"
        ),
        ("status:600", 7, 3, "unknown status \"600\"; write 404, 5xx or 200-299"),
        (
            "duration:1s", 9, 2,
            "no time is exactly 1s: write duration>1s, or a range such as 1s-2s"
        ), ("host!=a", 0, 7, "\"!=\" is no comparator; write not host:a"),
        ("host==a", 5, 2, "a value can't begin with =: comparators are : = ~ < <= > >="),
        ("duration=>1s", 9, 3, "a value can't begin with >: comparators are : = ~ < <= > >="),
        ("duration>5", 9, 1, "\"5\" has no unit; write 5s"),
        ("duration~5", 0, 9, "duration is a number: write duration>1s"),
        ("host>a", 0, 5, "host can't be compared so: write host:*.acme.dev"),
        ("body:a", 0, 5, "body can't be compared so: write body~\"out of stock\""),
        ("host:", 5, 0, "a value is missing behind host, as in host:*.acme.dev"),
        ("(status:200", 0, 1, "this parenthesis is not closed"),
        ("status:200)", 10, 1, "this parenthesis closes nothing"),
        ("rule:\"a", 5, 2, "this quotation mark is not closed"),
        ("and host:a", 0, 3, "\"and\" stands between two comparisons"),
        ("not", 3, 0, "a comparison is missing here, such as host:a.example"),
        ("status:200 or", 13, 0, "a comparison is missing here, such as host:a.example"),
        ("()", 1, 0, "a comparison is missing here, such as host:a.example"),
        (
            "client:300.1.1.1", 7, 9,
            "\"300.1.1.1\" is no address and no network; write 127.0.0.1 or 10.0.0.0/8"
        ),
        ("id:xyz", 3, 3, "an ID consists of hexadecimal digits"),
        ("size<0", 5, 1, "nothing is less than 0"),
        ("port:99999999999999999999", 5, 20, "\"99999999999999999999\" is not a number"),
        ("duration>99999999999999d", 9, 15, "\"99999999999999d\" is out of range"),
    ])
    func `a mistake is told with its place`(
        filter: String,
        offset: Int,
        count: Int,
        message: String
    ) throws {
        let problem = try #require(throws: FilterProblem.self) { try ExchangeFilter(filter) }
        #expect(problem.message == message)
        #expect(problem.offset == offset && problem.count == count)
    }

    @Test func `the place is underlined, behind letters of several bytes too`() throws {
        let filter = "rule:ä hots:b"
        let problem = try #require(throws: FilterProblem.self) { try ExchangeFilter(filter) }
        #expect(problem.text(in: filter).hasSuffix("\n  rule:ä hots:b\n         ^^^^"))
        #expect(problem.sentence(in: filter).hasPrefix("at character 8 of the filter: "))
    }

    @Test func `a line feed moves nothing`() throws {
        let filter = "host:a\nhots:b"
        let problem = try #require(throws: FilterProblem.self) { try ExchangeFilter(filter) }
        #expect(problem.text(in: filter).hasSuffix("\n  host:a hots:b\n         ^^^^"))
    }

    @Test func `the record of a line with heads is asked`() throws {
        let whole = try #require(parseJSON(#"{"record":{"url":{"domain":"a.example"}}}"#))
        #expect(try keeps("host:a.example", whole))
    }

    @Test func `depth and length are bounded`() {
        for filter in [
            String(repeating: "(", count: 100_000), String(repeating: "not ", count: 100_000),
            String(repeating: "port:1 ", count: 201),
        ] {
            #expect(throws: FilterProblem.self) { try ExchangeFilter(filter) }
        }
        #expect(throws: Never.self) {
            try ExchangeFilter(String(repeating: "port:1 or ", count: 199) + "port:1")
        }
    }

    @Test func `every piece of a filter is read or refused`() {
        let filter = "(not host:\"a\\\"b\" or duration>=1s) and client:10.0.0.0/8 cache:hit"
        for end in 0...filter.utf8.count {
            _ = try? ExchangeFilter(String(decoding: filter.utf8.prefix(end), as: UTF8.self))
        }
    }

    @Test(arguments: [
        (["rule:no telemetry"], "rule:\"no telemetry\""),
        (["host:a", "or", "host:b"], "host:a or host:b"),
        (["host:a or status:5xx"], "host:a or status:5xx"),
        (["(host:a", "not", "rule:b)"], "(host:a not rule:b)"),
        (["rule:\"a b\" x"], "rule:\"a b\" x"), ([], ""), (["", " "], ""),
        (["rule:allow and deny"], "rule:\"allow and deny\""),
        (["rule:say \"hi\" now"], "rule:\"say \\\"hi\\\" now\""),
        (["(rule:dev tenant)"], "(rule:\"dev tenant\")"),
        (["(rule:(dev tenant)"], "(rule:\"(dev tenant\")"),
        (["size>=1 KiB"], "size>=\"1 KiB\""), (["host:x or", "port:1"], "host:x or port:1"),
        (["host:a hots:b"], "host:a hots:b"),
    ])
    func `words of a shell are put together`(words: [String], filter: String) {
        #expect(FilterWords.joined(words) == filter)
    }

    @Test(arguments: [
        ("host:a", true), ("(host:a", true), (")", true), ("and", true), ("NOT", true),
        ("duration>1s", true), ("hots:a", true), ("lupin.jsonl", false), ("./a:b", false),
        ("-", false), ("/var/log/x", false), ("android.log", false), ("a.b:c", false),
        ("", false), ("host!=a", true),
    ])
    func `files are told from filters`(word: String, belongs: Bool) {
        #expect(FilterWords.belongs(word) == belongs)
    }
}
