// Stale responses that are served all the same: in place of errors, and while fresh ones come.
import LupinTestKit
import Testing

struct StaleTests {
    private static let rules = everywhere("cache: standard")

    @Test(arguments: [500, 502, 503, 504])
    func `stale-if-error of the origin covers its errors`(status: Int) async throws {
        try await ProxyFixture.run(everywhere("cache: standard, retry: none")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one", ", stale-if-error=9000"),
                .answer(status, [], "error")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            let response = try client.get(origin.url())
            #expect(response.status == 200)
            #expect(response.bodyText == "one")
            #expect(response.caching.contains("fwd=stale; fwd-status=\(status)"))
            #expect(response.caching.contains("stale-if-error"))
            #expect(flaky.asked == 2)
            let record = try proxy.records(2)[1]
            #expect(record["attempts.0.status"] == "\(status)")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `what is fetched in the background may come bit by bit`() async throws {
        try await ProxyFixture.run(everywhere("cache: {stale_while_revalidate: 1h}")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(200, "Cache-Control: max-age=600", "Age: 1000", body: "old")
            #expect(try client.response().bodyText == "old")
            #expect(try client.get(origin.url()).bodyText == "old")
            try connection.request()
            try connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 8\r\n\r\n"
            )
            try proxy.settleWell()
            try connection.send("new ")
            try proxy.settleWell()
            try connection.send("text")
            try eventually("the new response has been stored") {
                (try? client.get(origin.url()))?.bodyText == "new text"
            }
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `an error in the background costs no stored response`() async throws {
        let rules = everywhere("cache: {stale_while_revalidate: 1h}, retry: none")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .answer(503, ["Cache-Control: max-age=600"], "error")
            )
            let client = try proxy.client()
            for _ in 0..<2 { #expect(try client.get(origin.url()).bodyText == "one") }
            try eventually("the origin was asked in the background") { flaky.asked == 2 }
            try proxy.settleWell()
            #expect(try client.get(origin.url()).bodyText == "one")
        }
    }

    @Test func `an origin that is gone is covered by the policy`() async throws {
        let rules = everywhere("cache: {stale_if_error: 1h}, retry: none")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(
                200,
                "Cache-Control: max-age=600",
                "Age: 1000",
                "Connection: close",
                body: "one"
            )
            connection.close()
            #expect(try client.response().bodyText == "one")
            origin.close()
            let response = try client.get(origin.url())
            #expect(response.status == 200)
            #expect(response.bodyText == "one")
            #expect(response.caching.contains("stale-if-error: connection_refused"))
        }
    }

    @Test(arguments: ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=600"])
    func `the origin may forbid that anything stale is served`(word: String) async throws {
        let rules = everywhere("cache: {stale_if_error: 1h}, retry: none")
        try await ProxyFixture.run(rules) { proxy in
            let (_, origin) = try proxy.flaky(
                .stale("one", ", \(word), stale-if-error=9000, stale-while-revalidate=9000"),
                .answer(503, [], "error")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            let response = try client.get(origin.url(), "Cache-Control: max-stale")
            #expect(response.status == 503)
            #expect(response.bodyText == "error")
        }
    }

    @Test func `without leave an error is an error, and nothing is lost`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard, retry: none")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .answer(503, [], "error"),
                .say("HTTP/1.1 304 X\r\nETag: \"v1\"\r\nCache-Control: max-age=600\r\n\r\n")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).status == 503)
            #expect(try client.get(origin.url()).bodyText == "one")
            #expect(flaky.asked == 3)
        }
    }

    @Test func `a cookie of a 304 reaches who asked, and nobody else`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (_, origin) = try proxy.flaky(
                .stale("one"),
                .say(
                    "HTTP/1.1 304 X\r\nETag: \"v1\"\r\nCache-Control: max-age=600\r\n"
                        + "Set-Cookie: sid=secret\r\n\r\n"
                )
            )
            let client = try proxy.client()
            try client.get(origin.url())
            let renewed = try client.get(origin.url())
            #expect(renewed.bodyText == "one")
            #expect(renewed["Set-Cookie"] == "sid=secret")
            let hit = try proxy.client().get(origin.url())
            #expect(hit.isHit)
            #expect(hit["Set-Cookie"] == nil)
        }
    }

    @Test func `a stale response is served at once and fetched once in the background`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(
                200,
                "Cache-Control: max-age=600, stale-while-revalidate=9000",
                "Age: 1000",
                "ETag: \"v1\"",
                body: "one"
            )
            try client.response()
            for _ in 0..<3 {
                let stale = try proxy.client().get(origin.url(), "If-None-Match: \"v0\"")
                #expect(stale.bodyText == "one")
                #expect(stale.caching.hasPrefix("lupin; hit; ttl=-4"))
            }
            let request = try connection.request()
            #expect(request["If-None-Match"] == "\"v1\"")
            try connection.reply(200, "Cache-Control: max-age=600", body: "two")
            // The record of the background is the fifth one.
            let record = try proxy.records(5)[4]
            #expect(record["cache.status"] == "lupin; fwd=stale; fwd-status=200; stored")
            #expect(record["attempts.0.why"] == "revalidate")
            let fresh = try client.get(origin.url())
            #expect(fresh.isHit)
            #expect(fresh.bodyText == "two")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a 304 in the background makes it fresh`() async throws {
        let rules = everywhere("cache: {stale_while_revalidate: 1h}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .say("HTTP/1.1 304 X\r\nCache-Control: max-age=600\r\nETag: \"v1\"\r\n\r\n")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).caching.hasPrefix("lupin; hit; ttl=-4"))
            _ = try proxy.records(3)
            #expect(!(try client.get(origin.url()).caching.contains("ttl=-")))
            #expect(flaky.asked == 2)
        }
    }

    @Test(arguments: [
        "Cache-Control: no-store\r\nConnection: close\r\n\r\nwithout end",
        "Cache-Control: max-age=600\r\nContent-Length: 9000\r\n\r\nlong",
        "Cache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"
            + String(repeating: "x", count: 9000),
    ])
    func `the background takes nothing that is not stored`(rest: String) async throws {
        let rules = everywhere(
            "cache: {stale_while_revalidate: 1h}, resume: true, retry: none",
            "cache: {store: {max_object: 4KiB}}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(
                200,
                "Cache-Control: max-age=600",
                "Age: 1000",
                "ETag: \"v1\"",
                body: "one"
            )
            try client.response()
            #expect(try client.get(origin.url()).bodyText == "one")
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\n\(rest)")
            // It ends, though the origin does not.
            _ = try connection.waitForEnd()
            _ = try proxy.records(3)
        }
    }

    @Test func `what the background can't reach stays as it is`() async throws {
        let rules = everywhere("cache: {stale_while_revalidate: 1h}, retry: none")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.stale("one"), .reset)
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).bodyText == "one")
            try eventually("the failure in the background") { proxy.recordsSoFar().count == 3 }
            #expect(proxy.recordsSoFar().contains { $0["outcome"] == "error" })
            #expect(try client.get(origin.url()).bodyText == "one")
            try eventually("another try") { flaky.asked > 2 }
        }
    }
}
