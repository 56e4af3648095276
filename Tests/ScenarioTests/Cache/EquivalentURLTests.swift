// URLs that No-Vary-Search of a response calls equivalent: one response for all of them, where a
// rule asks for it.
import LupinTestKit
import Testing

struct EquivalentURLTests {
    private static let rules = everywhere("cache: {no_vary_search: true}")
    private static let field = "No-Vary-Search: params=(\"utm\")"

    /// Runs a story in which the origin does these deeds, one a request.
    private func run(
        _ deeds: FlakyOrigin.Deed...,
        under rules: String = rules,
        _ body:
            @Sendable @escaping (ProxyFixture, ScriptedClient, FlakyOrigin, ScriptedOrigin) throws
            -> Void
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let flaky = FlakyOrigin(deeds)
            let origin = try proxy.origin { flaky.serve($0) }
            try body(proxy, proxy.client(), flaky, origin)
        }
    }

    // MARK: Looking up

    @Test func `equivalent URLs get one response, and others their own`() async throws {
        try await run(.fresh("one", [Self.field]), .fresh("two", [Self.field])) {
            proxy,
            client,
            flaky,
            origin in
            let first = try client.get(origin.url("/a?x=1&utm=2"))
            #expect(first.caching == "lupin; fwd=uri-miss; stored")
            for query in ["?utm=3&x=1", "?x=1", "?%78=1&utm=&utm=4", "?x=1&utm=2"] {
                let hit = try client.get(origin.url("/a\(query)"))
                #expect(hit.bodyText == "one")
                #expect(hit["No-Vary-Search"] == "params=(\"utm\")")
                #expect(hit.caching.contains(/^lupin; hit; ttl=\d+; detail=no-vary-search$/))
            }
            #expect(flaky.asked == 1)
            #expect(try client.get(origin.url("/a?x=2&utm=2")).bodyText == "two")
            #expect(try client.get(origin.url("/a?x=2&utm=9")).bodyText == "two")
            #expect(try !client.get(origin.url("/b?x=1")).isHit)
            #expect(flaky.asked == 3)
            let record = try proxy.records(2)[1]
            #expect(record["url.full"] == origin.url("/a?utm=3&x=1"))
            #expect(record["cache.status"]?.hasSuffix("; detail=no-vary-search") == true)
        }
    }

    @Test func `a rule that doesn't ask for it sees none of it`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: {no_vary_search: true}}
              - {name: plain, match: {header: {X-Plain: "*"}}, cache: standard}
            """
        try await run(
            .fresh("one", [Self.field]),
            .fresh("plain", [Self.field]),
            under: rules
        ) { _, client, flaky, origin in
            try client.get(origin.url("/a?x=1&utm=2"))
            // Neither for the very URL nor for the one that is its normal form.
            for (i, query) in ["?x=1&utm=2", "?x=1"].enumerated() {
                let own = try client.get(origin.url("/a\(query)"), "X-Plain: 1")
                #expect(own.bodyText == "plain")
                #expect(!own.isHit)
                #expect(flaky.asked == i + 2)
            }
            #expect(try !client.get(origin.url("/a?x=1&utm=3"), "X-Plain: 1").isHit)
            #expect(try client.get(origin.url("/a?x=1&utm=4")).bodyText == "one")
            #expect(flaky.asked == 4)
        }
    }

    @Test func `what is stored with several fields is found by each of them`() async throws {
        let deeds: [String] = ["params=(\"a\")", "except=(\"b\")", "key-order, params=(\"c\")"]
        try await run(
            .fresh("0", ["No-Vary-Search: \(deeds[0])"]),
            .fresh("1", ["No-Vary-Search: \(deeds[1])"]),
            .fresh("2", ["No-Vary-Search: \(deeds[2])"])
        ) { _, client, flaky, origin in
            for query in ["?x=0&a=1", "?b=1", "?x=2&y=2"] {
                try client.get(origin.url("/a" + query))
            }
            #expect(flaky.asked == 3)
            for (i, query) in ["?a=7&x=0", "?z&b=1&y", "?y=2&c&x=2"].enumerated() {
                #expect(try client.get(origin.url("/a" + query)).bodyText == "\(i)")
            }
            #expect(flaky.asked == 3)
        }
    }

    @Test func `Vary tells responses of equivalent URLs apart as ever`() async throws {
        let fields = [Self.field, "Vary: X-A"]
        try await run(.fresh("one", fields), .fresh("two", fields)) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"), "X-A: 1")
            let other = try client.get(origin.url("/a?utm=2"), "X-A: 2")
            #expect(other.caching == "lupin; fwd=vary-miss; stored")
            #expect(try client.get(origin.url("/a?utm=3"), "X-A: 1").bodyText == "one")
            #expect(try client.get(origin.url("/a?utm=4"), "X-A: 2").bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `credentials keep equivalent URLs apart`() async throws {
        let rules = everywhere("cache: {mode: private, no_vary_search: true}")
        try await run(
            .fresh("one", [Self.field]),
            .fresh("two", [Self.field]),
            under: rules
        ) { _, client, flaky, origin in
            let (a, b) = ("Authorization: Bearer a", "Authorization: Bearer b")
            try client.get(origin.url("/a?utm=1"), a)
            #expect(try client.get(origin.url("/a?utm=2"), b).bodyText == "two")
            #expect(try client.get(origin.url("/a?utm=3"), a).bodyText == "one")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `HEAD, conditions and ranges are answered for equivalent URLs`() async throws {
        let fields = [Self.field, "ETag: \"v1\""]
        try await run(.fresh("hello", fields)) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"))
            try client.send("HEAD", origin.url("/a?utm=2"))
            let head = try client.response(to: "HEAD")
            #expect(head.isHit && head["Content-Length"] == "5")
            let url = origin.url("/a?utm=3")
            #expect(try client.get(url, "If-None-Match: \"v1\"").status == 304)
            #expect(try client.get(url, "Range: bytes=1-2").bodyText == "el")
            let wish = "Cache-Control: only-if-cached"
            #expect(try client.get(url, wish).bodyText == "hello")
            #expect(try client.get(origin.url("/a?other"), wish).status == 504)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `equal requests are equal still, and see what was dropped`() async throws {
        try await run(.fresh("one", [Self.field]), .fresh("two", [Self.field])) {
            _,
            client,
            flaky,
            origin in
            try client.get(origin.url("/a?utm=1"))
            for _ in 0..<6 { #expect(try client.get(origin.url("/a?utm=2")).bodyText == "one") }
            try client.purge(origin.url("/a?utm=3"))
            #expect(try client.get(origin.url("/a?utm=2")).bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    // MARK: What changes

    @Test func `a newer response without the field takes the place of the old one`()
        async throws
    {
        try await run(
            .stale("old", "", [Self.field]),
            .fresh("new"),
            .fresh("own")
        ) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"))
            let new = try client.get(origin.url("/a?utm=2"))
            #expect(new.bodyText == "new")
            #expect(new.caching == "lupin; fwd=stale; fwd-status=200; stored")
            #expect(flaky.requests[1]["If-None-Match"] == "\"v1\"")
            #expect(try client.get(origin.url("/a?utm=2")).caching.hasPrefix("lupin; hit; ttl="))
            #expect(try client.get(origin.url("/a?utm=1")).bodyText == "own")
            #expect(flaky.asked == 3)
            #expect(flaky.requests[2]["If-None-Match"] == nil)
        }
    }

    @Test func `of two that a request may have the latest is served`() async throws {
        let date = "Date: Sun, 01 Nov 2020 00:00:00 GMT"
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: {no_vary_search: true, ttl: 1h}}
              - {name: plain, match: {header: {X-Plain: "*"}}, cache: {ttl: 1h}}
            """
        try await run(
            .fresh("own", [date]),
            .fresh("one", [Self.field]),
            .fresh("older", [date]),
            under: rules
        ) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"), "X-Plain: 1")
            try client.get(origin.url("/a?utm=2"))
            #expect(try client.get(origin.url("/a?utm=1")).bodyText == "one")
            try client.get(origin.url("/a?utm=3"), "X-Plain: 1")
            #expect(try client.get(origin.url("/a?utm=3")).bodyText == "one")
            #expect(flaky.asked == 3)
        }
    }

    @Test(arguments: [([], true), ([field], true), (["No-Vary-Search: key-order"], false)])
    func `a 304 renews the response for all, unless it says otherwise`(
        fields: [String],
        isKept: Bool
    ) async throws {
        try await run(
            .stale("one", "", [Self.field]),
            .answer(304, ["Cache-Control: max-age=600", "ETag: \"v1\""] + fields),
            .fresh("new")
        ) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"))
            let validated = try client.get(origin.url("/a?utm=2"))
            #expect(validated.bodyText == "one")
            #expect(validated.caching.hasPrefix("lupin; fwd=stale; fwd-status=304; ttl="))
            #expect(validated.caching.hasSuffix("; detail=no-vary-search"))
            #expect(try client.get(origin.url("/a?utm=3")).bodyText == (isKept ? "one" : "new"))
            #expect(flaky.asked == (isKept ? 2 : 3))
        }
    }

    @Test func `what is stale is validated once in the background, whoever asks`() async throws {
        let rules = everywhere("cache: {stale_while_revalidate: 1h, no_vary_search: true}")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/?utm=1"))
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(
                200,
                "Cache-Control: max-age=600",
                "Age: 1000",
                Self.field,
                body: "old"
            )
            _ = try client.response()
            for i in 2...4 {
                #expect(try client.get(origin.url("/?utm=\(i)")).bodyText == "old")
            }
            #expect(try connection.request().target == "/?utm=2")
            try connection.reply(200, "Cache-Control: max-age=600", Self.field, body: "new")
            try eventually("the new response has been stored") {
                (try? client.get(origin.url("/?utm=5")))?.bodyText == "new"
            }
            #expect(!origin.hasWaiting)
        }
    }

    // MARK: Fetching together

    @Test func `equivalent URLs that are fetched at once are both right`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let clients = try (0..<2).map { _ in try proxy.client() }
            var connections: [OriginConnection] = []
            for (i, client) in clients.enumerated() {
                try client.send("GET", origin.url("/?utm=\(i)"))
                connections.append(try origin.accept())
                #expect(try connections[i].request().target == "/?utm=\(i)")
            }
            for (i, connection) in connections.enumerated() {
                try connection.reply(200, "Cache-Control: max-age=600", Self.field, body: "\(i)")
                #expect(try clients[i].response().bodyText == "\(i)")
            }
            let third = try clients[0].get(origin.url("/?utm=3"))
            #expect(third.isHit)
            #expect(third.bodyText == "1")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `one URL that many want at once is one request as ever`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 5)
            try crowd.connection.reply(
                200,
                "Cache-Control: max-age=600",
                Self.field,
                body: "one for all"
            )
            for client in crowd.all { #expect(try client.response().bodyText == "one for all") }
            #expect(try crowd.leader.get(crowd.origin.url("/?utm=2")).isHit)
            #expect(!crowd.origin.hasWaiting)
        }
    }

    // MARK: Parts

    @Test func `parts of equivalent URLs are parts of one`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin(fields: ["Cache-Control: max-age=600", Self.field])
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            try client.range("0-999", of: url + "?utm=1")
            let within = try client.range("100-199", of: url + "?utm=2")
            #expect(within.isHit)
            #expect(within.body == Array(parts.body[100...199]))
            #expect(parts.asked == 1)
            let whole = try client.get(url + "?utm=3")
            #expect(whole.body == parts.body)
            #expect(whole.caching.contains("fwd=partial"))
            #expect(parts.asked == 2)
            let again = try client.get(url + "?utm=4")
            #expect(again.isHit)
            #expect(again.body == parts.body)
            #expect(try client.get(url + "?other").caching.contains("fwd=uri-miss"))
        }
    }

    @Test(arguments: [([], 2), ([field], 2), (["No-Vary-Search: key-order"], 3)])
    func `what completes parts is for the URLs of those, unless it says otherwise`(
        fields: [String],
        asked: Int
    ) async throws {
        let common = ["Cache-Control: max-age=600", "ETag: \"v1\""]
        try await run(
            .answer(206, common + ["Content-Range: bytes 0-1/4", Self.field], "ab"),
            .answer(206, common + ["Content-Range: bytes 2-3/4"] + fields, "cd"),
            .fresh("abcd")
        ) { _, client, flaky, origin in
            try client.get(origin.url("/a?utm=1"), "Range: bytes=0-1")
            let whole = try client.get(origin.url("/a?utm=2"))
            #expect(whole.bodyText == "abcd")
            #expect(flaky.requests[1]["Range"] == "bytes=2-")
            #expect(try client.get(origin.url("/a?utm=3")).bodyText == "abcd")
            #expect(flaky.asked == asked)
        }
    }

    // MARK: Dropping

    @Test(
        arguments: [
            ("?utm=9&x=1", ["/a?x=2"]), ("?x=2", ["/a?x=1"]), ("", ["/a?x=1", "/a?x=2"]),
        ]
    )
    func `an unsafe method drops what its URL would find`(
        query: String,
        left: [String]
    ) async throws {
        try await run(
            .fresh("1", [Self.field]),
            .fresh("2", [Self.field]),
            .status(204),
            .answer(200, ["Cache-Control: no-store"], "new")
        ) { _, client, _, origin in
            for i in 1...2 { try client.get(origin.url("/a?x=\(i)&utm=1")) }
            try client.send("POST", origin.url("/a" + query), body: "x")
            try client.response(to: "POST")
            let hits = try ["/a?x=1", "/a?x=2"].filter { try client.get(origin.url($0)).isHit }
            #expect(hits == left)
        }
    }

    @Test func `PURGE drops what its URL would find, whatever the rule`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: {no_vary_search: true}}
              - {name: plain, match: {method: [PURGE]}, cache: standard}
            """
        try await run(.fresh("one", [Self.field]), under: rules) { _, client, flaky, origin in
            for path in ["/a?x=1&utm=1", "/a?x=2&utm=1"] { try client.get(origin.url(path)) }
            let answer = try client.purge(origin.url("/a?utm=7&x=1"))
            #expect(answer.bodyText == "lupin dropped 1 stored response of this URL.\n")
            #expect(try client.purge(origin.url("/a")).status == 404)
            #expect(try client.get(origin.url("/a?x=2")).isHit)
            #expect(try !client.get(origin.url("/a?x=1")).isHit)
            #expect(flaky.asked == 3)
        }
    }

    @Test func `the admin interface lists what URLs have in common, and finds it by each`()
        async throws
    {
        try await run(.fresh("one", [Self.field]), under: ProxyFixture.adminSocket + Self.rules) {
            proxy,
            client,
            _,
            origin in
            for path in ["/a?x=1&utm=1", "/a?x=2&utm=1"] { try client.get(origin.url(path)) }
            try proxy.settleWell()
            let path = "/v1/cache/responses?"
            let all = try proxy.adminJSON(path + "match=127.0.0.1:*/a")
            #expect(all["total"] == "2")
            #expect(all["responses.1.url"] == origin.url("/a?x=1"))
            let query = "url=\(origin.url("/a"))?utm=5%26x=1"
            let one = try proxy.adminJSON(path + query)
            #expect(one["total"] == "1")
            #expect(one["responses.0.url"] == origin.url("/a?x=1"))
            #expect(try proxy.admin("GET", path + "url=\(origin.url("/a"))").status == 404)
            let dropped = try proxy.admin("DELETE", path + query)
            #expect(try #require(RecordLine(dropped.bodyText))["responses"] == "1")
            #expect(try proxy.admin("DELETE", path + query).status == 404)
            #expect(try client.get(origin.url("/a?x=2")).isHit)
            #expect(try !client.get(origin.url("/a?x=1")).isHit)
        }
    }
}
