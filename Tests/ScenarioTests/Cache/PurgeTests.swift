// PURGE through the proxy: for whom it drops what, and that it never goes further.
import LupinCaching
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct PurgeTests {
    private static let rules = everywhere("cache: standard")

    @Test func `what is stored of a URL is dropped, in all variants, and nothing else`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("one", ["Vary: X-A"]),
                .fresh("two", ["Vary: X-A"]),
                .fresh("other"),
                .fresh("query"),
                .fresh("new")
            )
            let client = try proxy.client()
            try client.get(origin.url("/a"), "X-A: 1")
            try client.get(origin.url("/a"), "X-A: 2")
            try client.get(origin.url("/b"))
            try client.get(origin.url("/a?q"))
            let answer = try client.purge(origin.url("/a"))
            #expect(answer.status == 200)
            #expect(answer.bodyText == "lupin dropped 2 stored responses of this URL.\n")
            #expect(answer.caching == "lupin; detail=\"purged 2\"")
            #expect(try client.get(origin.url("/b")).isHit)
            #expect(try client.get(origin.url("/a?q")).isHit)
            #expect(flaky.asked == 4)
            #expect(try client.get(origin.url("/a"), "X-A: 1").bodyText == "new")
            let record = try proxy.records(5)[4]
            #expect(record["http.request.method_original"] == "PURGE")
            #expect(record["outcome"] == "ok")
            #expect(record["cache.status"] == "lupin; detail=\"purged 2\"")
            #expect(record.count("attempts") == 0)
        }
    }

    @Test func `where nothing is stored the answer is 404`() async throws {
        try await ProxyFixture.run(everywhere("cache: {status_header: off}")) { proxy in
            let (flaky, origin) = try proxy.flaky()
            let answer = try proxy.client().purge(origin.url("/a"), body: "abc")
            #expect(answer.status == 404)
            #expect(answer.bodyText == "lupin has nothing stored of this URL.\n")
            #expect(answer["Cache-Status"] == nil)
            #expect(flaky.asked == 0)
        }
    }

    @Test func `what is stored for others goes too`() async throws {
        try await ProxyFixture.run(everywhere("cache: {mode: private}")) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"), .fresh("new"))
            let client = try proxy.client()
            try client.get(origin.url(), "Authorization: Bearer a")
            try client.get(origin.url(), "Authorization: Bearer b")
            #expect(try client.purge(origin.url()).bodyText.contains(" 2 "))
            #expect(try !client.get(origin.url(), "Authorization: Bearer b").isHit)
            #expect(flaky.asked == 3)
        }
    }

    @Test func `the client's URL and the one that steps make of it are both meant`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: moved, match: {path: /a, method: [PURGE]}, request: [{url: {path: /b}}]}
              - {name: always, match: {path: /c}, request: [{url: {path: /d}}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("a"))
            let client = try proxy.client()
            for path in ["/a", "/b", "/c"] { try client.get(origin.url(path)) }
            #expect(try client.purge(origin.url("/a")).bodyText.contains(" 2 "))
            #expect(try client.purge(origin.url("/c")).bodyText.contains(" 1 "))
            #expect(flaky.asked == 3)
        }
    }

    /// A user's number; nil for whom the kernel does not know, such as a client elsewhere.
    @Test(arguments: [nil, SystemUsers.own &+ 4242] as [UInt32?])
    func `a stranger gets 403 and drops nothing`(user: UInt32?) async throws {
        try await ProxyFixture.run(
            Self.rules,
            identify: { _, _, _ in ProcessLookup.Finding(user: user) }
        ) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try client.get(origin.url())
            let answer = try client.purge(origin.url())
            #expect(answer.status == 403)
            #expect(answer.bodyText.contains(CachePurge.refusal))
            #expect(try client.get(origin.url()).isHit)
            #expect(flaky.asked == 1)
            let record = try proxy.records(2)[1]
            #expect(record["outcome"] == "denied")
            #expect(record["error.detail"] == CachePurge.refusal)
            #expect(record["cache.status"] == nil)
        }
    }

    @Test func `root may, whoever lupin runs as`() async throws {
        try await ProxyFixture.run(
            Self.rules,
            identify: { _, _, _ in ProcessLookup.Finding(user: 0) }
        ) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.purge(origin.url()).bodyText.hasPrefix("lupin dropped 1 "))
        }
    }

    @Test func `without a cache PURGE goes to the origin, and a rule's respond answers it`()
        async throws
    {
        let rules = """
            rules:
              - {name: some, match: {path: /stored/**}, cache: standard}
              - {name: own, match: {path: /stored/own}, respond: {status: 418}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(202))
            let client = try proxy.client()
            #expect(try client.purge(origin.url("/a")).status == 202)
            #expect(flaky.requests.map(\.method) == ["PURGE"])
            #expect(try client.purge(origin.url("/stored/own")).status == 418)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `inside an intercepted CONNECT it is the same`() async throws {
        let rules = "rules: [{name: in, match: {host: origin.test}, cache: standard}]"
        try await Inside.run(rules) { inside in
            try inside.send("GET", "/a")
            let connection = try inside.accept()
            try connection.request()
            try connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\n\r\none"
            )
            #expect(try inside.client.response().bodyText == "one")
            try inside.send("PURGE", "/a")
            #expect(try inside.client.response(to: "PURGE").status == 200)
            try inside.send("PURGE", "/a")
            #expect(try inside.client.response(to: "PURGE").status == 404)
            let record = try #require(
                try inside.proxy.records(3).last { $0["cache.status"]?.contains("purged") == true }
            )
            #expect(record["mode"] == "intercept")
        }
    }

    @Test func `by HTTP/2 it is the same`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let authority = "\(origin.address)"
            let client = try HTTP2Client(to: proxy.address)
            #expect(try client.request(authority: authority, path: "/a").bodyText == "one")
            try proxy.settleWell()
            let answer = try client.request("PURGE", authority: authority, path: "/a")
            #expect(answer.bodyText == "lupin dropped 1 stored response of this URL.\n")
            #expect(flaky.asked == 1)
            client.close()
        }
    }
}

extension ScriptedClient {
    /// Sends a PURGE and reads its response.
    @discardableResult
    func purge(_ url: String, body: String? = nil) throws -> ScriptedMessage {
        try send("PURGE", url, body: body)
        return try response(to: "PURGE")
    }
}
