// Whether looking only at the candidates of paths and methods finds what asking all rules would.

import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

@Suite struct PathIndexTests {
    private static let paths = [
        "/", "/v1", "/v1/users/", "/v1/*", "/v1/**", "/**", "/*", "/v1/users/*/posts", "/v1/use*",
        "/a%2Fb",
        "/%7Eada/**", "/**/x", "/^\\/v\\d/", "/v1/users", "/v2/**/x",
    ]
    private static let requests = [
        "/", "", "/v1", "/v1/", "/v1/users", "/v1/users/7/posts", "/v1/users/7/posts/", "/v2/a/b/x",
        "/v1/../v2/x", "/a%2fb", "/~ada/x", "/%7eada", "/v1?x=/v2", "//v1", "/V1", "*",
        "/v1/./users",
    ]

    /// Every path, with and without host and method, in rules of which every fifth stops.
    private static func rules() throws -> [Rule] {
        var rules: [Rule] = []
        for path in paths {
            for host in [nil, "x.dev", "**.dev"] {
                for methods in [nil, [Method.get], [.post, .other("BREW")]] {
                    let match = try Match.with {
                        $0.paths = [try PathPattern(path)]
                        $0.hosts = try host.map { [try HostPattern($0)] }
                        $0.methods = methods
                    }
                    rules.append(.named("r\(rules.count)", match))
                }
            }
        }
        for methods in [[Method.get], [.post, .options], [.other("BREW")]] {
            rules.append(.named("m\(rules.count)", .with { $0.methods = methods }))
        }
        var several = Rule.named("several", try .host("x.dev"))
        several.matches.append(try .with { $0.paths = [try PathPattern("/v2/**")] })
        several.matches.append(.with { $0.methods = [.delete] })
        rules.append(several)
        rules.append(
            .named(
                "pair",
                try .with { $0.paths = try ["/v1", "/v1/**"].map { try PathPattern($0) } }
            )
        )
        return rules
    }

    /// Without a rule that stops, and with some.
    private static let sets = Result {
        let rules = try Self.rules()
        var stopping = rules
        for i in stride(from: 3, to: rules.count, by: 5) { stopping[i].stop = true }
        return [RuleSet(rules), RuleSet(stopping)]
    }

    @Test(arguments: [Method.get, .post, .delete, .options, .connect, .other("BREW")])
    func `the plan is that of all rules that match`(method: Method) throws {
        for set in try Self.sets.get() {
            for path in Self.requests {
                let cache = PlanCache(set)
                for host in ["x.dev", "a.x.dev", "y.org"] {
                    let request = try #require(SampleRequest(method, host: host, path: path))
                    let expected = set.matching(request.subject)
                    var known: TargetRules?
                    // Asked twice: what is known of the target after the first must not matter.
                    for _ in 0..<2 {
                        let plan = cache.plan(
                            for: request.subject,
                            at: request.origin,
                            known: &known
                        )
                        #expect((plan?.matched ?? []) == expected, "\(host) \(path)")
                    }
                }
            }
        }
    }

    @Test func `a few rules and many rules give one answer`() throws {
        let all = try Self.rules()
        let few = RuleSet(Array(all.prefix(3)))
        let request = try #require(SampleRequest(path: "/"))
        var known: TargetRules?
        let plan = PlanCache(few).plan(for: request.subject, at: request.origin, known: &known)
        #expect((plan?.matched ?? []) == few.matching(request.subject))
    }
}
