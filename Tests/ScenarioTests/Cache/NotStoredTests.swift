// What is not stored, and the word for it that client and record get.
import LupinTestKit
import Testing

struct NotStoredTests {
    private static let rules = everywhere("cache: standard")

    private static let digits = String(repeating: "0123456789", count: 500)

    /// Asks twice and expects to be answered by the origin both times.
    private func expectTwice(
        under rules: String = rules,
        _ deed: FlakyOrigin.Deed,
        _ reason: String,
        fields: [String] = [],
        body: String = "one"
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(deed)
            for _ in 0..<2 {
                let client = try proxy.client()
                try client.send("GET", origin.url(), fields)
                let response = try client.response()
                #expect(response.bodyText == body)
                #expect(response.caching == "lupin; fwd=uri-miss; detail=\(reason)")
            }
            #expect(flaky.asked == 2)
            let records = try proxy.records(2)
            #expect(records[1]["cache.status"] == "lupin; fwd=uri-miss; detail=\(reason)")
        }
    }

    @Test(arguments: [
        ("no-store", ["Cache-Control: no-store"]),
        ("private", ["Cache-Control: private, max-age=600"]),
        ("set-cookie", ["Cache-Control: max-age=600", "Set-Cookie: a=b"]),
        ("vary-any", ["Cache-Control: max-age=600", "Vary: *"]),
        ("useless", []),
    ])
    func `what the origin says keeps it out`(reason: String, fields: [String]) async throws {
        try await expectTwice(.answer(200, fields, "one"), reason)
    }

    @Test func `a status without a lifetime is not kept`() async throws {
        try await expectTwice(.answer(403, [], "one"), "no-lifetime")
    }

    @Test func `what was asked for with credentials is nobody else's`() async throws {
        try await expectTwice(.fresh("one"), "authorization", fields: ["Authorization: Basic YTpi"])
    }

    @Test func `no-store of a request is heard`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            let first = try client.get(origin.url(), "Cache-Control: no-store")
            #expect(first.caching.hasSuffix("detail=request-no-store"))
            #expect(try client.get(origin.url()).bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a response that is too long is delivered whole`() async throws {
        let rules = everywhere("cache: standard", "cache: {store: {max_object: 4KiB}}")
        try await expectTwice(under: rules, .fresh(Self.digits), "too-large", body: Self.digits)
    }

    @Test func `without room in memory, a disk and others nothing is stored`() async throws {
        let rules = everywhere("cache: standard", "cache: {store: {memory: 0}}")
        try await expectTwice(under: rules, .fresh("one"), "store-failed")
    }

    @Test(arguments: [100, 600])
    func `a response that turns out too long is delivered whole`(times: Int) async throws {
        let rules = everywhere("cache: standard", "cache: {store: {max_object: 4KiB}}")
        try await ProxyFixture.run(rules) { proxy in
            let long = String(repeating: Self.digits, count: times)
            let chunk = String(long.utf8.count, radix: 16)
            let (flaky, origin) = try proxy.flaky(
                .say(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n\(chunk)\r\n\(long)\r\n0\r\n\r\n"
                )
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.bodyText == long)
                #expect(!response.isHit)
            }
            #expect(flaky.asked == 2)
        }
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ])
    func `a body that breaks off is cut and never served`(rest: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
            let (flaky, origin) = try proxy.flaky(.breakOff(head + rest), .fresh("whole"))
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(throws: SocketFailure.self) { try client.response() }
            #expect(client.stream.receivedText.contains("hello"))
            let whole = try proxy.client().get(origin.url())
            #expect(whole.bodyText == "whole")
            #expect(whole.caching == "lupin; fwd=uri-miss; stored")
            #expect(flaky.asked == 2)
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `responses to POST are not stored`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "x")
            #expect(try client.response(to: "POST").caching == "lupin; fwd=method")
            #expect(try client.get(origin.url()).bodyText == "two")
            #expect(flaky.asked == 2)
            #expect(try proxy.record()["cache.status"] == "lupin; fwd=method")
        }
    }

    @Test func `without a policy nothing is stored and nothing said`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: none, match: {path: /off}, cache: off}
            """
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            #expect(try client.get(origin.url("/off")).caching == "nothing")
            #expect(try client.get(origin.url("/off")).bodyText == "two")
            #expect(flaky.asked == 2)
            #expect(try proxy.record()["cache.status"] == nil)
        }
    }
}
