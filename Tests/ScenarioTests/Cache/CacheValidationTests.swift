// Stale responses: how the origin is asked about them, and what its answer does to the store.
import LupinTestKit
import Testing

struct CacheValidationTests {
    private static let rules = everywhere("cache: standard")

    @Test func `a 304 makes what is stored fresh again`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let renewed = ["Cache-Control: max-age=600", "ETag: \"v1\"", "X-New: yes"]
            let (flaky, origin) = try proxy.flaky(
                .stale("one", "", ["X-Old: yes"]),
                .say("HTTP/1.1 304 X\r\n" + renewed.joined(separator: "\r\n") + "\r\n\r\n")
            )
            let client = try proxy.client()
            #expect(try client.get(origin.url()).bodyText == "one")
            let second = try client.get(origin.url())
            #expect(second.status == 200)
            #expect(second.bodyText == "one")
            #expect(second["X-New"] == "yes")
            #expect(second["X-Old"] == "yes")
            #expect(second.caching.hasPrefix("lupin; fwd=stale; fwd-status=304; ttl="))
            #expect(flaky.requests[1]["If-None-Match"] == "\"v1\"")
            #expect(try client.get(origin.url()).isHit)
            #expect(flaky.asked == 2)
            let record = try proxy.records(3)[1]
            #expect(record["attempts.0.why"] == "revalidate")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["cache.status"]?.contains("fwd-status=304") == true)
        }
    }

    @Test func `Last-Modified is sent back as the origin wrote it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let modified = "Fri, 01 Jan 2021 00:00:00 GMT"
            let fields = ["Cache-Control: max-age=6", "Age: 9", "Last-Modified: \(modified)"]
            let (flaky, origin) = try proxy.flaky(
                .answer(200, fields, "one"),
                .say("HTTP/1.1 304 X\r\nCache-Control: max-age=600\r\n\r\n")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).bodyText == "one")
            #expect(flaky.requests[1]["If-Modified-Since"] == modified)
            #expect(flaky.requests[1]["If-None-Match"] == nil)
            #expect(try client.get(origin.url()).isHit)
        }
    }

    @Test func `another response takes its place`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.stale("one"), .fresh("two", ["ETag: \"v2\""]))
            let client = try proxy.client()
            try client.get(origin.url())
            let second = try client.get(origin.url())
            #expect(second.bodyText == "two")
            #expect(second.caching == "lupin; fwd=stale; fwd-status=200; stored")
            let third = try client.get(origin.url())
            #expect(third.isHit)
            #expect(third.bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    @Test(arguments: [
        ("Cache-Control: no-cache", "request"), ("Pragma: no-cache", "request"),
        ("Cache-Control: max-age=0", "request"), ("Cache-Control: max-age=50", "request"),
        ("Cache-Control: min-fresh=590", "request"),
    ])
    func `a client may want more than what is fresh`(field: String, why: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = ["Age: 100", "ETag: \"v1\""]
            let (flaky, origin) = try proxy.flaky(.fresh("one", fields), .fresh("two"))
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url(), "Cache-Control: max-age=300").isHit)
            let response = try client.get(origin.url(), field)
            #expect(response.bodyText == "two")
            #expect(response.caching == "lupin; fwd=\(why); fwd-status=200; stored")
            #expect(flaky.requests[1]["If-None-Match"] == "\"v1\"")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a client may take what is stale`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.stale("one"), .fresh("two"))
            let client = try proxy.client()
            try client.get(origin.url())
            let hit = try client.get(origin.url(), "Cache-Control: max-stale=1000")
            #expect(hit.bodyText == "one")
            #expect(hit.caching.hasPrefix("lupin; hit; ttl=-4"))
            #expect(try client.get(origin.url(), "Cache-Control: max-stale").bodyText == "one")
            let two = try client.get(origin.url(), "Cache-Control: max-stale=100")
            #expect(two.bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `only-if-cached gets what is stored or 504`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            let wish = "Cache-Control: only-if-cached"
            let none = try client.get(origin.url(), wish)
            #expect(none.status == 504)
            #expect(none.caching.contains("detail=only-if-cached"))
            #expect(flaky.asked == 0)
            try client.get(origin.url())
            #expect(try client.get(origin.url(), wish).isHit)
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["http.response.status_code"] == "504")
            #expect(record["cache.status"]?.contains("only-if-cached") == true)
        }
    }

    @Test func `a client that has it gets 304 when the origin confirms it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .say("HTTP/1.1 304 X\r\nCache-Control: max-age=600\r\nETag: \"v1\"\r\n\r\n")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            let second = try client.get(origin.url(), "If-None-Match: \"v1\"")
            #expect(second.status == 304)
            #expect(try client.get(origin.url()).bodyText == "one")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a client that has another one gets what the origin says of that`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .say("HTTP/1.1 304 X\r\nCache-Control: max-age=600\r\nETag: \"v2\"\r\n\r\n")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url(), "If-None-Match: \"v2\"").status == 304)
            #expect(flaky.requests[1]["If-None-Match"] == "\"v1\", \"v2\"")
        }
    }

    @Test func `a 304 about nothing that is known is asked again without conditions`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .say("HTTP/1.1 304 X\r\nETag: \"v9\"\r\n\r\n"),
                .fresh("nine", ["ETag: \"v9\""])
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).bodyText == "nine")
            #expect(flaky.requests.map { $0["If-None-Match"] } == [nil, "\"v1\"", nil])
            #expect(try client.get(origin.url()).isHit)
        }
    }

    @Test func `no-cache of a response has every use confirmed`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = ["Cache-Control: no-cache, max-age=600", "ETag: \"v1\""]
            let (flaky, origin) = try proxy.flaky(
                .answer(200, fields, "one"),
                .say("HTTP/1.1 304 X\r\nETag: \"v1\"\r\n\r\n")
            )
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try client.get(origin.url()).bodyText == "one") }
            #expect(flaky.asked == 3)
        }
    }

    @Test func `HEAD tells that what GET has stored is out of date`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(200, "Cache-Control: max-age=600", "ETag: \"v1\"", body: "one")
            try client.response()
            try client.send("HEAD", origin.url(), ["Cache-Control: no-cache"])
            try connection.request()
            try connection.send("HTTP/1.1 200 X\r\nContent-Length: 3\r\nETag: \"v2\"\r\n\r\n")
            #expect(try client.response(to: "HEAD")["ETag"] == "\"v2\"")
            try client.send("GET", origin.url())
            try connection.request()
            try connection.reply(200, body: "two")
            #expect(try client.response().bodyText == "two")
        }
    }
}
