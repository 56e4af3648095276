// What `retry:` and `resume:` may say, at the top of the file and in rules.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct RetryDecoderTests {
    /// A policy under `retry:`.
    private func policy(
        _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> RetryPolicy {
        let loaded = try configuration("retry: {mine: \(text)}", sourceLocation: sourceLocation)
        return try #require(loaded.settings.retry.first, sourceLocation: sourceLocation)
    }

    /// The policy of a rule on line 3, below `definitions` on line 2.
    private func rulePolicy(_ text: String, definitions: String = "{}") throws -> RetryPolicy? {
        let body = "retry: \(definitions)\nrules: [{match: a.dev, retry: \(text)}]"
        return try #require(try configuration(body).rules.rules.first).retry
    }

    // MARK: Names

    @Test func `what a policy leaves out is as in standard`() throws {
        var expected = RetryPolicy.standard
        expected.name = "mine"
        #expect(try policy("{}") == expected)
        #expect(try configuration("retry:\n  mine:").settings.retry == [expected])
        expected.limit = 7
        #expect(try policy("{limit: 7}") == expected)
    }

    @Test func `policies are kept in the order of the file`() throws {
        let names = try configuration("retry: {z: {}, a: {}, m: {}}").settings.retry.map(\.name)
        #expect(names == ["z", "a", "m"])
    }

    @Test func `a built-in policy may be written out, and not changed`() {
        let written = """
            retry:
              none: {limit: 0}
              safe:
                limit: 1
                methods: [DELETE, GET, HEAD, OPTIONS, PUT, QUERY, TRACE]
                status: []
                errors: [connect, refused-stream, goaway, stale-connection]
                backoff: none
                replay_body: 256KiB
              standard:
                limit: 2
                status: [408, 500, 502, 503, 504]
                backoff: {base: 2, scale: 500ms, max: 10s, jitter: full}
                retry_after: {honour: true, max: 30s}
                budget: {ratio: 20%, floor: 100, window: 10s, per: host}
              connection-lost: {limit: 2, status: [], errors: [stale-connection, reset]}
            """
        #expect(errors(written).isEmpty)
        #expect(errors("retry:\n  none: {limit: 1}").contains("says something else"))
    }

    @Test func `Alamofire's policy is its numbers and nothing else`() throws {
        let written = """
            {use: standard, methods: [DELETE, GET, HEAD, OPTIONS, PUT, TRACE], \
            backoff: {base: 2, scale: 500ms, max: 10m, jitter: none}, \
            retry_after: {honour: false}, budget: none, circuit: off}
            """
        var policy = try #require(try rulePolicy(written))
        policy.name = "alamofire"
        #expect(try rulePolicy("alamofire") == policy)
        let waits = (0..<10).map {
            policy.backoff?.delay(retry: $0, previous: .zero, chance: .max)
        }
        #expect(waits == (0..<10).map { .milliseconds(500 << $0) })
    }

    @Test func `a rule takes a policy by its name, built in or defined`() throws {
        for policy in RetryPolicy.builtIn { #expect(try rulePolicy(policy.name) == policy) }
        #expect(try rulePolicy("mine", definitions: "{mine: {limit: 3}}") == policy("{limit: 3}"))
        #expect(try rulePolicy("{use: safe}") == .safe)
        #expect(try configuration("rules: [{match: a.dev}]").rules.rules.first?.retry == nil)
    }

    @Test func `a map in place starts from standard, or from what it uses`() throws {
        var plain = RetryPolicy.standard
        plain.name = "retry@3"
        plain.limit = 1
        #expect(try rulePolicy("{limit: 1}") == plain)
        var safe = RetryPolicy.safe
        safe.name = "safe@3"
        safe.status = [503]
        #expect(try rulePolicy("{use: safe, status: 503}") == safe)
        var mine = RetryPolicy.standard
        mine.name = "mine@3"
        mine.limit = 3
        mine.perTry = .seconds(5)
        let definitions = "{mine: {limit: 3}}"
        #expect(try rulePolicy("{per_try: 5s, use: mine}", definitions: definitions) == mine)
    }

    @Test func `a map in a map is replaced whole, what it leaves out is the default`() throws {
        let definitions = """
            {mine: {backoff: {base: 3, scale: 2s, jitter: none}, budget: {floor: 1, ratio: 5%},
             retry_after: {honour: false, max: 5s}, hedge: {after: 1s, max: 3}}}
            """
        let text = """
            {use: mine, backoff: {base: 1.5}, budget: {window: 1m}, retry_after: {max: 7s}, \
            hedge: {after: p95}}
            """
        let body = "retry: \(definitions)\nrules: [{match: a.dev, retry: \(text)}]"
        let policy = try #require(try configuration(body).rules.rules.first?.retry)
        var backoff = Backoff()
        backoff.base = 1.5
        #expect(policy.backoff == backoff)
        var budget = RetryPolicy.Budget()
        budget.window = .seconds(60)
        #expect(policy.budget == budget)
        #expect(policy.retryAfter.isHonoured && policy.retryAfter.max == .seconds(7))
        #expect(policy.hedge == .init(after: .percentile95, max: 1))
    }

    @Test func `a definition that no rule uses is told, one that is built upon is not`() throws {
        let body = """
            retry:
              one: {limit: 1}
              two: {limit: 2}
              three: {limit: 3}
            rules:
              - {match: a.dev, retry: one}
              - {match: b.dev, retry: {use: two, hold: 1KiB}}
            """
        #expect(
            decode(body).warnings.report() == """
                lupin.yaml:5:3: warning: no rule uses the retry policy "three"  [E-NAME]
                    three: {limit: 3}
                    ^^^^^  write retry: three in a rule, or take it out
                """
        )
    }

    // MARK: Keys

    @Test func `every key is read`() throws {
        let policy = try policy(
            """
            {limit: 10, methods: [GET, HEAD], status: [429, 500-502], errors: [dns, tls-transient],
             backoff: {base: 1.25, scale: 1ms, max: 10m, jitter: decorrelated},
             retry_after: {honour: false, max: 1m}, non_idempotent: with-idempotency-key,
             replay_body: 64MiB, replay_spill: 16GiB, per_try: 10s, hold: 16MiB,
             hedge: {after: 200ms, max: 3}, offline_wait: 5m,
             budget: {ratio: 100%, floor: 0, window: 5m, per: host}}
            """
        )
        var expected = RetryPolicy(name: "mine")
        expected.limit = 10
        expected.methods = [.get, .head]
        expected.status = [429, 500, 501, 502]
        expected.errors = [.dns, .tlsTransient]
        var backoff = Backoff()
        backoff.base = 1.25
        backoff.scale = .milliseconds(1)
        backoff.max = .seconds(600)
        backoff.jitter = .decorrelated
        expected.backoff = backoff
        expected.retryAfter.isHonoured = false
        expected.retryAfter.max = .seconds(60)
        expected.nonIdempotent = .withIdempotencyKey
        expected.replayBodyBytes = 64 << 20
        expected.replaySpillBytes = 16 << 30
        expected.perTry = .seconds(10)
        expected.holdBytes = 16 << 20
        expected.hedge = .init(after: .fixed(.milliseconds(200)), max: 3)
        expected.offlineWait = .seconds(300)
        var budget = RetryPolicy.Budget()
        budget.ratio = 1
        budget.floor = 0
        budget.window = .seconds(300)
        expected.budget = budget
        #expect(policy == expected)
    }

    @Test func `words and single values do as well`() throws {
        let off = try policy("{backoff: none, per_try: none, hedge: none, budget: none}")
        #expect(off.backoff == nil && off.perTry == nil && off.hedge == nil && off.budget == nil)
        let empty = try policy("{methods: [], status: [], errors: []}")
        #expect(empty.methods.isEmpty && empty.status.isEmpty && empty.errors.isEmpty)
        let single = try policy("{methods: GET, status: 503, errors: reset}")
        #expect(single.methods == [.get] && single.status == [503] && single.errors == [.reset])
        let always = try policy("{methods: [GET, POST, PROPFIND], non_idempotent: always}")
        #expect(always.methods == [.get, .post, .other("PROPFIND")])
        let body = "retry: {mine: {limit: \"${env:N:-4}\"}}"
        #expect(try configuration(body).settings.retry.first?.limit == 4)
    }

    @Test func `the table says what standard is`() throws {
        let standard = try policy("{}")
        for setting in RetryKeyTable.policy {
            let text = "{\(setting.key): \(setting.defaultText)}"
            #expect(try policy(text) == standard, "\(setting.key)")
            for leaf in RetryKeyTable.leaves(of: setting.key) where setting.key != "hedge" {
                let inside = "{\(setting.key): {\(leaf.key): \(leaf.defaultText)}}"
                #expect(try policy(inside) == standard, "\(leaf.name)")
            }
        }
    }

    @Test func `a rule may resume, or take that back`() throws {
        let body =
            "rules: [{match: a.dev, resume: true}, {match: b.dev, resume: false}, {match: {}}]"
        let rules = try configuration(body).rules.rules
        #expect(rules.map { $0.flags[.resume] } == [true, false, nil])
        #expect(rules.map(\.needsClearText) == [true, false, false])
        #expect(errors("rules: [{match: a.dev, resume: yes}]").contains("write true"))
    }

    @Test(arguments: [
        ("{method: POST}", true), ("{method: [HEAD, PUT]}", true), ("{not: {method: GET}}", true),
        ("{not: {method: [GET, HEAD], path: /a}}", false), ("{method: [GET, POST]}", false),
        ("{}", false), ("[{method: POST}, {method: GET}]", false),
    ])
    func `a rule without GET has nothing to resume`(match: String, isTold: Bool) {
        let lines = decode("rules: [{match: \(match), resume: true}]").warnings.map(\.text)
            .filter { $0.contains("E-RETRY") }
        #expect(!lines.isEmpty == isTold)
        guard isTold, let line = lines.first else { return }
        #expect(line.contains("the rule \"rule@2\" has nothing to resume: it matches no GET"))
        #expect(line.hasSuffix("^^^^^^  write method: GET in its match, or take resume out"))
    }

    @Test func `a policy for everybody decrypts everything, and that is told`() {
        let warnings = decode("rules: [{match: {}, retry: standard}]").warnings
        #expect(warnings.map(\.code) == [.intercept])
        #expect(warnings.first?.hint?.contains("scheme: http where that is enough") == true)
        let text = errors("intercept: {mode: none}\nrules: [{match: a.dev, resume: true}]")
        #expect(
            text.contains("needs https in clear text, and intercept.mode is none  [E-INTERCEPT]")
        )
    }
}
