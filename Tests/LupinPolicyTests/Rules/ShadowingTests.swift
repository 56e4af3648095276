// Which rules are said never to match, and which are not.

import LupinCore
import LupinPolicy
import Testing

@Suite struct ShadowingTests {
    private func isHidden(_ later: Match, by earlier: Match) -> Bool {
        let rules = [Rule.named("earlier", earlier) { $0.stop = true }, .named("later", later)]
        let hidden = RuleSet(rules).explainShadowing()
        #expect(hidden.allSatisfy { $0.rule == 1 && $0.hiddenBy == 0 })
        return !hidden.isEmpty
    }

    @Test(arguments: [
        ("x.dev", "x.dev", true), ("x.dev", "*.dev", true), ("*.x.dev", "**.x.dev", true),
        ("a.*.x.dev", "**.x.dev", true), ("**.x.dev", "*.x.dev", false), ("x.dev", "y.dev", false),
        ("*.dev", "x.dev", false), ("/a/", "**", true), ("**", "/a/", false),
        ("x.dev", "/x/", true),
        ("**.x.dev", "**", true), ("**", "**.x.dev", false), ("a.x.dev", "a*.x.dev", true),
    ])
    func `a host is hidden by one that has it`(later: String, earlier: String, expected: Bool)
        throws
    {
        #expect(try isHidden(.host(later), by: .host(earlier)) == expected)
    }

    @Test(arguments: [
        ("x.dev/v1/a", "x.dev/v1/**", true), ("x.dev/v1/*/b", "**.dev/v1/**", true),
        ("x.dev/v1/**", "x.dev/v1/*", false), ("x.dev", "x.dev/**", false),
        ("x.dev/**", "x.dev", true), ("https://x.dev", "x.dev", true),
        ("x.dev", "https://x.dev", false),
        ("x.dev:80", "x.dev:1-100", true), ("x.dev:1-100", "x.dev:80", false), ("*", "*", true),
        ("x.dev", "*", true),
    ])
    func `every key counts`(later: String, earlier: String, expected: Bool) throws {
        #expect(try isHidden(Match(string: later), by: Match(string: earlier)) == expected)
    }

    @Test func `methods, fields, clients, programs, users and not are compared`() throws {
        let get = Match.with { $0.methods = [.get] }
        let both = Match.with { $0.methods = [.get, .head] }
        #expect(isHidden(get, by: both) && !isHidden(both, by: get))
        let narrow = try Match.with { $0.headers = [("a", [try ValuePattern("x")])] }
        let wide = try Match.with { $0.headers = [("a", [try ValuePattern("*")])] }
        #expect(isHidden(narrow, by: wide) && !isHidden(wide, by: narrow))
        let inner = try Match.with { $0.clients = [try #require(CIDR("10.1.0.0/16"))] }
        let outer = try Match.with { $0.clients = [try #require(CIDR("10.0.0.0/8"))] }
        #expect(isHidden(inner, by: outer) && !isHidden(outer, by: inner))
        let curl = try Match.with { $0.programs = [try ValuePattern("curl")] }
        #expect(isHidden(curl, by: Match()) && !isHidden(Match(), by: curl))
        let ann = try Match.with { $0.users = [try ValuePattern("ann")] }
        #expect(isHidden(ann, by: Match()) && !isHidden(Match(), by: ann))
        let notInner = Match.with { $0.not = [inner] }
        let notOuter = Match.with { $0.not = [outer] }
        #expect(isHidden(notOuter, by: notInner) && !isHidden(notInner, by: notOuter))
        #expect(!isHidden(Match(), by: notInner))
    }

    @Test func `without stop nothing is hidden, and of two rules the first hides`() throws {
        #expect(RuleSet([.named("a"), .named("b")]).explainShadowing().isEmpty)
        let rules = ["a", "b", "c"].map { name in Rule.named(name) { $0.stop = true } }
        let hidden = RuleSet(rules).explainShadowing()
        #expect(hidden.map(\.rule) == [1, 2])
        #expect(hidden.map(\.hiddenBy) == [0, 0])
    }

    @Test func `all alternatives must be hidden`() throws {
        var later = Rule.named("later", try .host("x.dev"))
        later.matches.append(try .host("y.dev"))
        let earlier = Rule.named("earlier", try .host("x.dev")) { $0.stop = true }
        #expect(RuleSet([earlier, later]).explainShadowing().isEmpty)
    }

    @Test func `a rule that a CONNECT cannot decide hides none that acts on it`() throws {
        let mixed = Rule(
            name: "mixed",
            line: 1,
            matches: [
                try .host("x.dev"), .with { $0.methods = [.get] },
            ]
        )
        var stopping = mixed
        stopping.stop = true
        let later = Rule.named("later", try .host("x.dev"))
        #expect(RuleSet([stopping, later]).explainShadowing().isEmpty)
    }
}
