// Which stored URLs a pattern means, which patterns mean all of them, and what is none.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct CachePatternTests {
    @Test(arguments: [
        ("a.dev", "http://a.dev/", true), ("a.dev", "https://a.dev/b?c", true),
        ("a.dev", "http://b.a.dev/", false), ("*.a.dev", "http://b.a.dev/", true),
        ("**.a.dev/v1/**", "https://c.b.a.dev/v1/x?y=z", true),
        ("**.a.dev/v1/**", "https://a.dev/v2/x", false),
        ("http://a.dev", "http://a.dev/x", true), ("http://a.dev", "https://a.dev/x", false),
        ("a.dev:8080", "http://a.dev:8080/", true), ("a.dev:8080", "http://a.dev/", false),
        // A path means every query, and a query one URL.
        ("http://a.dev/b", "http://a.dev/b", true), ("http://a.dev/b", "http://a.dev/b?c", true),
        ("http://a.dev/b?c", "http://a.dev/b?c", true),
        ("http://a.dev/b?c", "http://a.dev/b", false),
        ("http://a.dev/b?c", "http://a.dev/b?cd", false),
        ("HTTP://A.dev:80/x/../b?c#d", "http://a.dev/b?c", true),
        ("http://a.dev/*?c", "http://a.dev/b?c", false),
        ("a.dev/b%41", "http://a.dev/bA", true), ("[::1]/b", "http://[::1]/b", true),
    ])
    func `a pattern means the URLs that a rule would`(
        pattern: String,
        url: String,
        isMeant: Bool
    ) throws {
        #expect(try CachePattern(pattern).matches(url) == isMeant)
    }

    @Test(arguments: [
        ("http://a.dev/b?c=1&utm=2", true), ("http://a.dev/b?utm=3&c=1", true),
        ("http://a.dev/b?c=1", true), ("http://a.dev/b?c=2", false), ("a.dev/b", true),
        ("a.dev/c", false), ("http://a.dev/b?", false),
    ])
    func `one URL means what a request for it finds by No-Vary-Search`(
        pattern: String,
        isMeant: Bool
    ) throws {
        let url = try #require(HTTPURL("http://a.dev/b?c=1&utm=2"))
        let variance = try #require(NoVarySearch("params=(\"utm\")"))
        let path = Array(url.path.utf8)
        let key = CacheKey(origin: url.origin, pathAndQuery: path.span, partition: "x")
        #expect(try CachePattern(pattern).matches(key.generalized(by: variance)) == isMeant)
    }

    @Test(arguments: ["**", "*", "**/**", "*/**", "*.**", "**.**", "**:*", "**:1-65535/**"])
    func `what leaves nothing out is everything`(pattern: String) throws {
        #expect(try CachePattern(pattern).isEverything)
        #expect(try CachePattern(pattern).matches("https://a.b.dev:8443/c?d"))
    }

    @Test(arguments: ["http://**", "*.*", "**.dev", "**:443", "**/v1/**", "**/*", "http://a.dev/?"])
    func `what leaves something out is not`(pattern: String) throws {
        #expect(try !CachePattern(pattern).isEverything)
    }

    @Test(arguments: [
        ("", "a host is missing"), ("/a", "a host is missing; any host is `**`: `**/a`"),
        ("ftp://a.dev", "`ftp` is no scheme; write `http` or `https`"),
        ("a.dev/b?c", "what has a query is one URL, which begins with http:// or https://"),
        ("ftp://a.dev/?b", "not an http or https URL"),
        ("http://me@a.dev/?b", "not an http or https URL"),
    ])
    func `what is no pattern says why`(pattern: String, message: String) {
        let problem = #expect(throws: PatternProblem.self) { try CachePattern(pattern) }
        #expect(problem?.message == message)
    }

    @Test func `a partition has a tag, and everybody's has none`() throws {
        let url = try #require(HTTPURL("http://a.dev/b"))
        func tag(_ partition: String) -> String? {
            CacheKey(origin: url.origin, pathAndQuery: "/b".utf8Span.span, partition: partition)
                .partitionTag
        }
        #expect(tag("") == nil)
        #expect(tag("ab.1.c0.ff.12.34") == "ab1c0ff1")
        #expect(tag("ab.1") == "ab1")
        #expect(CacheKey.url(of: url) == "http://a.dev/b")
    }
}
