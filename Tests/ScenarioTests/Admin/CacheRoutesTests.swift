// The cache over the admin socket: which methods and queries there are, and what they answer.
import LupinTestKit
import Testing

struct CacheRoutesTests {
    private static let rules = ProxyFixture.adminSocket + everywhere("cache: standard")

    @Test(
        arguments: [
            ("HEAD", "/v1/cache", 200, nil), ("POST", "/v1/cache", 405, "GET, HEAD, DELETE"),
            ("PUT", "/v1/cache/responses", 405, "GET, HEAD, DELETE"),
            ("GET", "/v1/cache/nothing", 404, nil), ("GET", "/v1/caches", 404, nil),
            ("DELETE", "/v1/cache", 200, nil),
            // What is misspelt must not drop more than was meant.
            ("DELETE", "/v1/cache/responses", 400, nil),
            ("DELETE", "/v1/cache/responses?mach=a.dev", 400, nil),
            ("DELETE", "/v1/cache/responses?match=**", 400, nil),
            ("DELETE", "/v1/cache/responses?match=", 400, nil),
            ("DELETE", "/v1/cache/responses?url=a.dev", 400, nil),
            ("DELETE", "/v1/cache/responses?url=http://a.dev/&match=a.dev", 400, nil),
            ("DELETE", "/v1/cache/responses?url=http://a.dev/", 404, nil),
            ("GET", "/v1/cache/responses?url=http://a.dev/", 404, nil),
            ("GET", "/v1/cache/responses?limit=-1", 400, nil),
            ("GET", "/v1/cache/responses?match=a.dev", 200, nil),
        ] as [(String, String, Int, String?)]
    )
    func `each route knows its methods and its query`(
        method: String,
        path: String,
        status: Int,
        allow: String?
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let answer = try proxy.admin(method, path)
            #expect(answer.status == status)
            #expect(answer["Allow"] == allow)
            if status >= 400 { #expect(RecordLine(answer.bodyText)?["error"] != nil) }
        }
    }

    @Test func `a URL is told, and dropped, by itself`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            for path in ["/a", "/a?b=1%262"] { try client.get(origin.url(path)) }
            // A client may have its response a moment before it is stored.
            try proxy.settleWell()
            let all = try proxy.adminJSON("/v1/cache/responses")
            #expect(all["total"] == "2")
            #expect(all["responses.0.fields"] == nil)
            let path = "/v1/cache/responses?url=\(origin.url("/a"))"
            let one = try proxy.adminJSON(path)
            #expect(one["total"] == "1")
            #expect(one["responses.0.url"] == origin.url("/a"))
            #expect(one["responses.0.source"] == "max-age")
            #expect(one["responses.0.lifetime"] == "600")
            #expect(one["responses.0.policy"] == "standard")
            #expect(one["responses.0.fields.1.0"] == "Cache-Control")
            let dropped = try #require(RecordLine(proxy.admin("DELETE", path).bodyText))
            #expect(dropped["responses"] == "1")
            #expect(try proxy.admin("DELETE", path).status == 404)
            let query = "/v1/cache/responses?url=\(origin.url("/a"))?b=1%25262"
            #expect(try proxy.adminJSON(query)["total"] == "1")
            let left = try #require(RecordLine(proxy.admin("DELETE", "/v1/cache").bodyText))
            #expect(left["responses"] == "1")
            #expect(left.number("bytes").map { $0 > 1000 } == true)
            try client.get(origin.url("/a"))
            #expect(flaky.asked == 3)
        }
    }
}
