// What `match: "…"` means when it is one string.

import LupinCore
import LupinPolicy
import Testing

@Suite struct MatchStringTests {
    private func matches(_ text: String, _ request: SampleRequest?) throws -> Bool {
        let rules = RuleSet([.named("r", try Match(string: text))])
        return try !rules.plan(for: #require(request).subject).matched.isEmpty
    }

    @Test(arguments: [
        ("x.dev", Scheme.http, "x.dev", UInt16(8080), "/any", true),
        ("x.dev", .https, "y.dev", 443, "/", false),
        ("*.acme.dev/v1/**", .https, "api.acme.dev", 443, "/v1/x?y", true),
        ("*.acme.dev/v1/**", .https, "api.acme.dev", 443, "/v2", false),
        ("https://x.dev", .http, "x.dev", 80, "/", false),
        ("HTTPS://x.dev", .https, "x.dev", 443, "/", true),
        ("x.dev:8443", .https, "x.dev", 8443, "/", true),
        ("x.dev:8443", .https, "x.dev", 443, "/", false),
        ("x.dev:8000-8099/a", .http, "x.dev", 8050, "/a", true),
        ("x.dev:*", .http, "x.dev", 1, "/", true),
        ("*", .http, "a.b.c", 80, "/", true), ("**/v1", .http, "a.b.c", 80, "/v1", true),
        ("*:81", .http, "a.b.c", 80, "/", false), ("[::1]:80/x", .http, "[::1]", 80, "/x", true),
        ("[::1]", .http, "[::1]", 99, "/", true), ("::1", .http, "[::1]", 99, "/", true),
        ("::1/x", .http, "[::1]", 99, "/x", true), ("x.dev/v1/", .http, "x.dev", 80, "/v1/", true),
        ("x.dev/v1/", .http, "x.dev", 80, "/v1", false), ("x.dev/", .http, "x.dev", 80, "/", true),
    ])
    func `scheme, host, port and path are read apart`(
        text: String,
        scheme: Scheme,
        host: String,
        port: UInt16,
        path: String,
        expected: Bool
    ) throws {
        let request = SampleRequest(.get, scheme, host: host, port: port, path: path)
        #expect(try matches(text, request) == expected)
    }

    @Test(arguments: [
        ("ftp://x.dev", "`ftp` is no scheme; write `http` or `https`", 0),
        ("http//a.dev/v1", "`http//a.dev/v1` has no `://`; write `http://a.dev/v1`", 0),
        ("HTTPS:/a.dev", "write `https://a.dev`", 0),
        ("https:///v1/**", "a host is missing; any host is `**`: `**/v1/**`", 8),
        ("/v1/**", "a host is missing; any host is `**`", 0), ("", "a host is missing", 0),
        ("x.dev:", "`` is no port", 6), ("x.dev:70000", "`70000` is no port", 6),
        ("x.dev:9-8", "is no port", 6), ("x.dev:http/a", "`http` is no port", 6),
        ("x.dev?q=1", "a query needs its key", 5), ("x.dev/a?q=1", "`query: {name: value}`", 7),
        ("me@x.dev", "a user name does not belong here", 2),
        ("https://a.x y.dev", "` ` does not belong in a host name", 11),
        ("http://x.dev/a/b*c*", "`*` stands twice in one segment", 18),
        ("/^api/", "a regular expression needs its key", 0),
    ])
    func `a bad string says where`(text: String, message: String, offset: Int) throws {
        let problem = try #require(problem { _ = try Match(string: text) })
        #expect(problem.message.contains(message), "\(problem.message)")
        #expect(problem.offset == offset)
    }
}
