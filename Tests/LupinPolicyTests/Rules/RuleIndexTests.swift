// Whether looking only at the candidates finds what looking at all rules would.

import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

@Suite struct RuleIndexTests {
    private static let patterns = [
        "x.dev", "*.x.dev", "**.x.dev", "**.dev", "a.x.dev", "a.*.dev", "**", "*", "api-*.x.dev",
        "/^a/", "127.0.0.1", "[::1]", "dev", "b.a.x.dev", "*.*.x.dev", "**.a.**",
    ]

    @Test(arguments: [
        "x.dev", "a.x.dev", "b.a.x.dev", "c.b.a.x.dev", "y.dev", "ax.dev", "dev", "127.0.0.1",
        "[::1]",
        "api-1.x.dev", "com", "a.com",
    ])
    func `the index finds every rule that matches`(host: String) throws {
        let host = try #require(Host(host))
        let patterns = try Self.patterns.map { try HostPattern($0) }
        let rules = patterns.map { pattern in
            Rule.named(pattern.source, .with { $0.hosts = [pattern] })
        }
        let request = try #require(SampleRequest(host: host.uriText))
        let expected = patterns.filter { $0.matches(host) }.map(\.source)
        #expect(RuleSet(rules).plan(for: request.subject).names == expected)
    }

    @Test func `a rule with several patterns for one host is visited once, in file order`() throws {
        let rules = [
            Rule.named("one", try .host("**.dev", "x.dev", "*.dev")), .named("all"),
            .named("three", try .host("x.dev", "y.dev")),
        ]
        let plan = try RuleSet(rules).plan(for: #require(SampleRequest(host: "x.dev")).subject)
        #expect(plan.names == ["one", "all", "three"])
        let alone = RuleSet([.named("one", try .host("x.dev", "**.x.dev"))])
        #expect(try alone.plan(for: #require(SampleRequest(host: "x.dev")).subject).matched == [0])
    }

    @Test func `ten thousand rules with hosts of their own cost what a few do`() throws {
        func time(_ count: Int) throws -> Duration {
            let rules = RuleSet(
                try (0..<count).map { .named("r\($0)", try .host("h\($0).x.dev", "*.g\($0).dev")) }
            )
            let subject = try #require(SampleRequest(host: "h7.x.dev")).subject
            var best = Duration.seconds(9)
            for _ in 0..<20 {
                best = min(best, processorTime { _ = rules.plan(for: subject) })
            }
            #expect(rules.plan(for: subject).matched == [7])
            return best
        }
        #expect(try time(2_000) < time(20) * 20)
    }
}
