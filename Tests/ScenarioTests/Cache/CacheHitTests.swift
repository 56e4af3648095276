// What is served from the store: to whom, with which fields, and what the record says of it.
import LupinTestKit
import Testing

struct CacheHitTests {
    private static let rules = everywhere("cache: standard")

    @Test func `the first request is stored and the second one is served`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one", ["X-Origin: yes"]), .fresh("two"))
            let first = try proxy.client().get(origin.url("/a?b"))
            #expect(first.bodyText == "one")
            #expect(first.caching == "lupin; fwd=uri-miss; stored")
            let second = try proxy.client().get(origin.url("/a?b"))
            #expect(second.bodyText == "one")
            #expect(second.isHit)
            #expect(second["X-Origin"] == "yes")
            #expect(second["Content-Length"] == "3")
            #expect(Int(second["Age"] ?? "") ?? 99 < 5)
            #expect(flaky.asked == 1)
            #expect(try proxy.client().get(origin.url("/a?c")).bodyText == "two")
            let records = try proxy.records(3)
            #expect(records[0]["cache.status"] == "lupin; fwd=uri-miss; stored")
            #expect(records[1]["cache.status"]?.hasPrefix("lupin; hit; ttl=") == true)
            #expect(records[1].count("attempts") == 0)
            #expect(records[1]["outcome"] == "ok")
            #expect(records[1]["http.response.body.size"] == "3")
        }
    }

    @Test func `Age counts on from what the origin said`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one", ["Age: 100"]))
            let client = try proxy.client()
            #expect(try client.get(origin.url())["Age"] == "100")
            let age = try client.get(origin.url())["Age"].flatMap { Int($0) }
            #expect((100..<110).contains(age ?? 0))
        }
    }

    @Test func `HEAD is answered by what GET has stored`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try client.get(origin.url())
            try client.send("HEAD", origin.url())
            let head = try client.response(to: "HEAD")
            #expect(head.isHit)
            #expect(head["Content-Length"] == "3")
            #expect(try client.get(origin.url()).bodyText == "one")
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: [
        ("If-None-Match: \"v1\"", 304), ("If-None-Match: W/\"v1\"", 304), ("If-None-Match: *", 304),
        ("If-None-Match: \"v0\", \"v1\"", 304), ("If-None-Match: \"v0\"", 200),
        ("If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT", 304),
        ("If-Modified-Since: Fri, 01 Jan 2021 00:00:00 GMT", 304),
        ("If-Modified-Since: Wed, 01 Jan 2020 00:00:00 GMT", 200),
    ])
    func `a client's condition is judged by what is stored`(
        condition: String,
        status: Int
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let modified = "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT"
            let fields = ["ETag: \"v1\"", modified, "Content-Type: text/plain"]
            let (flaky, origin) = try proxy.flaky(.fresh("one", fields))
            let client = try proxy.client()
            try client.get(origin.url())
            let response = try client.get(origin.url(), condition)
            #expect(response.status == status)
            #expect(response.isHit)
            #expect(response["ETag"] == "\"v1\"")
            if status == 304 {
                #expect(response["Content-Type"] == nil)
                #expect(response["Content-Length"] == nil)
            }
            #expect(try client.get(origin.url()).bodyText == "one")
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked\r\n\r\n2\r\non\r\n1\r\ne\r\n0\r\n\r\n",
        "Connection: close\r\n\r\none",
    ])
    func `a body of unknown length is stored when it is complete`(rest: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
            let (flaky, origin) = try proxy.flaky(.breakOff(head + rest))
            #expect(try proxy.client().get(origin.url()).bodyText == "one")
            let hit = try proxy.client().get(origin.url())
            #expect(hit.isHit)
            #expect(hit.bodyText == "one")
            #expect(hit["Content-Length"] == "3")
            #expect(flaky.asked == 1)
        }
    }

    @Test func `204 and 301 are stored as they are`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let empty = "HTTP/1.1 204 X\r\nCache-Control: max-age=600\r\n\r\n"
            let moved = ["Cache-Control: max-age=600", "Location: /there"]
            let (flaky, origin) = try proxy.flaky(.say(empty), .answer(301, moved, "gone"))
            let client = try proxy.client()
            #expect(try client.get(origin.url("/empty")).status == 204)
            let hit = try client.get(origin.url("/empty"))
            #expect(hit.status == 204)
            #expect(hit.isHit)
            #expect(hit["Content-Length"] == nil)
            #expect(try client.get(origin.url("/moved")).status == 301)
            let again = try client.get(origin.url("/moved"))
            #expect(again.isHit)
            #expect(again["Location"] == "/there")
            #expect(again.bodyText == "gone")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `trailers reach the client for whom the response is fetched`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let trailed = """
                HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\
                Trailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n
                """
            let (flaky, origin) = try proxy.flaky(.say(trailed))
            let wish = ["TE: trailers", "Connection: TE"]
            let client = try proxy.client()
            let first = try client.get(origin.url(), wish[0], wish[1])
            #expect(first.bodyText == "hello")
            #expect(first.trailer("X-Sum") == "abc")
            #expect(try client.get(origin.url(), wish[0], wish[1]).bodyText == "hello")
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a client of HTTP 1_0 is served`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            try proxy.client().get(origin.url())
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            let response = try client.response()
            #expect(response.isHit)
            #expect(response.bodyText == "one")
            #expect(try client.waitForEnd() == .finished)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a client of HTTP 2 shares what one of HTTP 1_1 has stored`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            try proxy.client().get(origin.url())
            let client = try proxy.http2Client()
            let response = try client.request(authority: origin.authority)
            #expect(response["cache-status"]?.hasPrefix("lupin; hit") == true)
            #expect(response.bodyText == "one")
            #expect(response["age"] != nil)
            #expect(flaky.asked == 1)
            try client.finish()
        }
    }

    @Test func `requests inside an intercepted CONNECT are served`() async throws {
        let rules = "rules: [{name: inside, match: {host: origin.test}, cache: standard}]"
        try await Inside.run(rules) { inside in
            try inside.send()
            let origin = try inside.accept()
            try origin.request()
            try origin.reply(200, "Cache-Control: max-age=600", body: "one")
            #expect(try inside.client.response().caching == "lupin; fwd=uri-miss; stored")
            try inside.send()
            let hit = try inside.client.response()
            #expect(hit.isHit)
            #expect(hit.bodyText == "one")
            // In clear it is another URL.
            let client = try inside.proxy.client()
            try client.send("GET", "http://\(inside.authority)/")
            let plain = try inside.origin.accept()
            try plain.request()
            try plain.reply(200, body: "clear")
            #expect(try client.response().bodyText == "clear")
        }
    }

    @Test func `steps of a rule change what the client sees of a stored response`() async throws {
        let rules = everywhere("cache: standard, response: [{set: {X-Id: \"${id}\"}}]")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one", ["X-Id: origin"]))
            let client = try proxy.client()
            let first = try client.get(origin.url())
            let second = try client.get(origin.url())
            #expect(second.isHit)
            #expect(second.values("X-Id").count == 1)
            #expect(second["X-Id"] != first["X-Id"])
            #expect(second["X-Id"] != "origin")
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a URL that steps make is the one under which it lies`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: old, match: {path: /old}, request: [{url: {path: /new}}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            #expect(try client.get(origin.url("/old")).bodyText == "one")
            let hit = try client.get(origin.url("/new"))
            #expect(hit.isHit)
            #expect(hit.bodyText == "one")
            #expect(flaky.requests.map(\.target) == ["/new"])
        }
    }

    @Test func `variants lie side by side`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let vary = ["Vary: Accept-Language"]
            let (flaky, origin) = try proxy.flaky(.fresh("hallo", vary), .fresh("salut", vary))
            let client = try proxy.client()
            let (german, french) = ("Accept-Language: de", "Accept-Language: fr")
            #expect(try client.get(origin.url(), german).caching == "lupin; fwd=uri-miss; stored")
            #expect(try client.get(origin.url(), french).caching == "lupin; fwd=vary-miss; stored")
            #expect(try client.get(origin.url(), german).bodyText == "hallo")
            #expect(try client.get(origin.url(), french).bodyText == "salut")
            #expect(flaky.asked == 2)
        }
    }
}
