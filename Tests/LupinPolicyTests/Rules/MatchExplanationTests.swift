// Why a rule does not match, in words: every key that fails, what hides a rule, what is not seen.

import LupinCore
import LupinPolicy
import Testing

@Suite struct MatchExplanationTests {
    private static let redactor = Redactor(settings: .init(), secrets: [], digest: { _ in 0 })

    private func reasons(_ match: Match, _ request: SampleRequest?) throws -> [String] {
        let rules = RuleSet([.named("a", match)])
        let subject = try #require(request).subject
        guard case .fails(let all) = rules.verdicts(for: subject, redactor: Self.redactor)[0] else {
            return []
        }
        return all.flatMap { $0 }.map { "\($0.key): \($0.reason)" }
    }

    private static let request = SampleRequest(
        .get,
        .http,
        host: "api.example",
        path: "/v1/%68ealth?key=geheim",
        fields: [("X-Env", "prod"), ("Authorization", "Bearer geheim")]
    )

    private static let failures: [(@Sendable (inout Match) throws -> Void, String)] = [
        (
            { $0.hosts = [try HostPattern("*.acme.dev")] },
            "host: host is api.example, not *.acme.dev"
        ),
        ({ $0.schemes = [.https] }, "scheme: scheme is http, not https"),
        (
            { $0.ports = PortSet([443...443, 8000...8999]) },
            "port: port is 80, not 443 or 8000-8999"
        ),
        ({ $0.methods = [.put, .post] }, "method: method is GET, not PUT or POST"),
        ({ $0.paths = [try PathPattern("/v2/**")] }, "path: path is /v1/health, not /v2/**"),
        (
            { $0.headers = [("x-env", [try ValuePattern("staging")])] },
            "header: header x-env is prod, not staging"
        ),
        ({ $0.headers = [("x-no", [])] }, "header: there is no header x-no"),
        (
            { $0.headers = [("authorization", [try ValuePattern("Bearer other")])] },
            "header: header authorization is another value"
        ),
        ({ $0.query = [("key", [try ValuePattern("b")])] }, "query: query key is another value"),
        ({ $0.query = [("q", [])] }, "query: there is no query q"),
        (
            { $0.clients = [CIDR(.v4(0x0A00_0000), prefix: 8)] },
            "client: client is 127.0.0.1, not 10.0.0.0/8"
        ),
        ({ $0.programs = [try ValuePattern("curl*")] }, "program: program is not known, not curl*"),
        ({ $0.users = [try ValuePattern("ann")] }, "user: user is not known, not ann"),
        (
            { $0.not = [try .with { $0.paths = [try PathPattern("/v1/health")] }] },
            "not: path /v1/health is excluded by not"
        ),
        ({ $0.hosts = [] }, "host: host is api.example, not any: the list is empty"),
    ]

    @Test(arguments: failures.indices)
    func `the key that fails says what it met and what it wants`(index: Int) throws {
        let (change, reason) = Self.failures[index]
        #expect(try reasons(.with(change), Self.request) == [reason])
    }

    @Test func `all keys that fail are told, of each alternative`() throws {
        var rule = Rule(name: "a", line: 1, matches: [])
        rule.matches = [
            try .with {
                $0.hosts = [try HostPattern("b.dev")]
                $0.methods = [.post]
            },
            .with { $0.schemes = [.https] },
        ]
        let subject = try #require(Self.request).subject
        let verdict = RuleSet([rule]).verdicts(for: subject, redactor: Self.redactor)[0]
        guard case .fails(let alternatives) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(alternatives.map { $0.map(\.key) } == [["host", "method"], ["scheme"]])
    }

    @Test func `long lists are cut`() throws {
        let match = try Match.with { $0.hosts = try (1...9).map { try HostPattern("h\($0).dev") } }
        let told = try reasons(match, Self.request)
        #expect(
            told == ["host: host is api.example, not h1.dev, h2.dev, h3.dev, h4.dev or 5 others"]
        )
    }

    @Test func `what stands behind a matching stop is hidden by it`() throws {
        let rules = RuleSet([
            .named("first"), .named("other", .with { $0.schemes = [.https] }) { $0.stop = true },
            .named("end") { $0.stop = true }, .named("late"),
        ])
        let subject = try #require(Self.request).subject
        let verdicts = rules.verdicts(for: subject, redactor: Self.redactor)
        #expect(verdicts[0] == .matches && verdicts[2] == .matches)
        #expect(verdicts[3] == .hidden(by: 2))
        #expect(verdicts[1] == .fails([[MatchFailure("scheme", "scheme is http, not https")]]))
    }

    @Test func `what only the inside of a tunnel shows is no failure of a CONNECT`() throws {
        let subject = try #require(SampleRequest(.connect, .https, host: "a.dev", path: "")).subject
        let rules = RuleSet([
            try .named(
                "path",
                .with {
                    $0.paths = [try PathPattern("/x")]
                    $0.query = [("q", [])]
                }
            ),
            try .named(
                "host",
                .with {
                    $0.paths = [try PathPattern("/x")]
                    $0.hosts = [try HostPattern("b.dev")]
                }
            ),
        ])
        let verdicts = rules.verdicts(for: subject, redactor: Self.redactor)
        #expect(verdicts[0] == .needsClearText(["path", "query"]))
        #expect(
            verdicts[1] == .fails([[MatchFailure("host", "host is a.dev, not b.dev")]])
        )
    }
}
