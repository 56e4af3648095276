// Fields that some servers take for the path or the method, and when they matter.
import LupinCore
import LupinPolicy
import Testing

struct TargetFieldsTests {
    private func other(
        _ fields: [(String, String)],
        to path: String = "/pub/a",
        by rules: [Rule]
    ) throws -> OtherReading? {
        let request = SampleRequest(.get, .https, host: "a.test", path: path, fields: fields)
        return RuleSet(rules).otherReading(of: try #require(request).subject)
    }

    private static func allowing(_ change: (inout Match) throws -> Void) rethrows -> [Rule] {
        [.named("pub", try .with(change)) { $0.steps = [.auth(token: "t")] }]
    }

    private static func byPath() throws -> [Rule] {
        try allowing { $0.paths = [try PathPattern("/pub/**")] }
    }

    private static func byMethod() throws -> [Rule] { allowing { $0.methods = [.get, .head] } }

    @Test(arguments: [
        "X-Original-URL", "x-rewrite-url", "X-Override-URL", "X_Original_URL", "X-REWRITE_URL",
    ])
    func `a field with another path is another reading`(name: String) throws {
        let rules = try Self.byPath()
        for path in [
            "/secret", "/secret?x=/pub/", "https://a.test/secret", "secret", "/pub/../secret",
            "/pub/..%2fsecret", "https://pub/",
        ] {
            let other = try other([(name, path)], by: rules)
            #expect(other?.field == name, "\(path)")
            #expect(other?.servers == TargetField.path.servers)
        }
        for path in ["/pub/a", "/pub/b", "https://a.test/pub/a?x", "pub/a", "/pub/./a", ""] {
            #expect(try other([(name, path)], by: rules) == nil, "\(path)")
        }
        #expect(try other([("X-Forwarded-Uri", "/secret")], by: rules) == nil)
        // Where no rule tests the path, no server's reading of it matters.
        #expect(try other([(name, "/secret")], by: Self.allowing { _ in }) == nil)
    }

    @Test(arguments: ["X-HTTP-Method-Override", "x-http-method", "X-Method-Override"])
    func `a field with another method is another reading`(name: String) throws {
        let rules = try Self.byMethod()
        for method in ["DELETE", "delete", "PROPFIND"] {
            let other = try other([(name, method)], by: rules)
            #expect(other?.path == "\(method.uppercased()) /pub/a")
            #expect(other?.servers == TargetField.method.servers)
        }
        for method in ["GET", "head", ""] {
            #expect(try other([(name, method)], by: rules) == nil)
        }
        #expect(try other([(name, "DELETE")], by: Self.byPath()) == nil)
    }

    @Test func `fields count together, and all of a name`() throws {
        let rules = try Self.allowing { match in
            let inner = try Match.with { inner in
                inner.paths = [try PathPattern("/secret")]
                inner.methods = [.delete]
            }
            match.not = [inner]
        }
        let (url, method) = (("X-Original-URL", "/secret"), ("X-HTTP-Method", "DELETE"))
        #expect(try other([url], by: rules) == nil)
        #expect(try other([method], by: rules) == nil)
        #expect(try other([url, method], by: rules)?.path == "DELETE /secret")
        let twice = [("X-Original-URL", "/pub/a"), ("X-Original-URL", "/secret")]
        #expect(try other(twice, by: Self.byPath()) != nil)
        // Nobody sends so many, and each pair of a path and a method would be judged.
        let many = (0..<9).map { ("X-Rewrite-URL", "/pub/\($0)") }
        #expect(try other(many, by: Self.byPath()) != nil)
    }

    @Test func `the sentence names the field and both readings`() throws {
        let other = try other([("X-Original-URL", "/secret")], to: "/pub/a?b", by: Self.byPath())
        #expect(
            other?.sentence
                == "The request can be read in two ways: as it was sent, GET /pub/a, and as GET "
                + "/secret by servers that heed X-Original-URL, such as IIS with rewriting "
                + "modules, Symfony and Zend. The rule \"pub\" (line 1) may hold for one of them "
                + "alone. Leave the field out, let the rule name both forms, or set "
                + "access.paths: lenient."
        )
    }
}
