// Which rules refuse every CONNECT of another rule's requests, and what it costs to find them.

import LupinCore
import LupinPolicy
import Testing

@Suite struct ConnectRefusalsTests {
    private static func answering(_ status: UInt16, _ match: Match) -> Rule {
        .named("answer", match) { rule in
            rule.respond = CannedResponse(status: status)
            rule.stop = status == 200
        }
    }

    @Test func `a refusal of every CONNECT keeps a mock from answering`() throws {
        let path = try PathPattern("/x")
        var mocked = try Match.host("a.dev")
        mocked.paths = [path]
        let mock = Self.answering(200, mocked)
        let refusing = Self.answering(403, Match())
        func found(_ rules: Rule...) -> Int? {
            var refusals = ConnectRefusals(RuleSet(rules))
            return refusals.refusing(before: 0)
        }
        #expect(found(mock, refusing) == 1)
        #expect(found(mock, Self.answering(403, try .host("*.dev"))) == 1)
        #expect(found(mock) == nil)
        #expect(found(mock, Self.answering(403, try .host("b.dev"))) == nil)
        // It refuses some of its ports only, or no https, or what is inside.
        #expect(found(mock, Self.answering(403, .with { $0.methods = [.get] })) == nil)
        #expect(found(mock, Self.answering(403, .with { $0.schemes = [.http] })) == nil)
        #expect(found(mock, Self.answering(403, .with { $0.paths = [path] })) == nil)
        // A later answer to the CONNECT goes before it, and so does a stop.
        #expect(found(mock, refusing, Self.answering(404, try .host("a.dev"))) == nil)
        #expect(found(Self.answering(200, try .host("a.dev")), refusing) == nil)
        let stop = Rule.named("stop", try .host("a.dev")) { $0.stop = true }
        #expect(found(mock, stop, refusing) == nil)
        let other = Rule.named("stop", try .host("b.dev")) { $0.stop = true }
        #expect(found(mock, other, refusing) == 2)
    }

    @Test func `hosts meet by the suffixes that they share`() throws {
        let match: (String) throws -> Match = { host in
            var match = try Match.host(host)
            match.paths = [try PathPattern("/x")]
            return match
        }
        func found(_ host: String, _ refusing: String...) throws -> Int? {
            let mock = Self.answering(200, try match(host))
            let others = try refusing.map { Self.answering(403, try .host($0)) }
            var refusals = ConnectRefusals(RuleSet([mock] + others))
            return refusals.refusing(before: 0)
        }
        #expect(try found("a.x.dev", "**.dev") == 1)
        #expect(try found("**.x.dev", "**.dev") == 1)
        #expect(try found("a.x.dev", "**.dev", "x.dev") == 1)
        // Some hosts of the rule are met by a refusal that is not for all of them.
        #expect(try found("**.x.dev", "**.dev", "a.x.dev") == nil)
        #expect(try found("**.dev", "x.dev") == nil)
        #expect(try found("a.x.dev", "/.*/", "b.dev") == 1)
        #expect(try found("**.x.dev", "/.*/") == nil)
        #expect(try found("b.dev", "**.dev", "/a.*/") == 1)
    }

    // MARK: Cost

    private static func path(_ pattern: String) throws -> Match {
        try .with { $0.paths = [try PathPattern(pattern)] }
    }

    private static func answering(_ match: Match) -> Rule { answering(403, match) }
    private static let files: [(name: String, rules: @Sendable (Int) throws -> [Rule])] = [
        ("paths", { [answering(try path("/a\($0)/**"))] }),
        (
            "paths and hosts",
            { i in
                var match = try path("/a/**")
                match.hosts = [try HostPattern("**.h\(i).example"), try HostPattern("*.example")]
                return [answering(match)]
            }
        ),
        ("hosts, and paths", { [answering(try .host("h\($0).dev")), answering(try path("/a"))] }),
        (
            "hosts that end matching",
            { i in
                var match = try path("/a")
                match.hosts = [try HostPattern("g\(i).dev")]
                let stop = Rule.named("stop", try .host("h\(i).dev")) { $0.stop = true }
                return [answering(match), stop, answering(try .host("g\(i).dev"))]
            }
        ),
    ]

    @Test(arguments: files.indices)
    func `a rule is compared with few others, however many there are`(file: Int) throws {
        let count = 500
        let rules = try (0..<count).flatMap(Self.files[file].rules)
        var refusals = ConnectRefusals(RuleSet(rules))
        for rule in rules.indices { _ = refusals.refusing(before: rule) }
        #expect(refusals.comparisons <= 4 * rules.count, "\(Self.files[file].name)")
    }
}
