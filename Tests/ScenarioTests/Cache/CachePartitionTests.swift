// Whose responses they are: private caches, tokens that lupin attaches, and strangers.
import LupinCore
import LupinTestKit
import Testing

struct CachePartitionTests {
    @Test func `in a private cache each Authorization has its own`() async throws {
        try await ProxyFixture.run(everywhere("cache: {mode: private}")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .answer(200, ["Cache-Control: private, max-age=600"], "one"),
                .answer(200, ["Cache-Control: private, max-age=600", "Set-Cookie: a=b"], "two")
            )
            let client = try proxy.client()
            let (a, b) = ("Authorization: Bearer a", "Authorization: Bearer b")
            #expect(try client.get(origin.url(), a).bodyText == "one")
            #expect(try client.get(origin.url(), b).bodyText == "two")
            #expect(try client.get(origin.url(), a).bodyText == "one")
            let hit = try client.get(origin.url(), b)
            #expect(hit.isHit)
            #expect(hit.bodyText == "two")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `in a private cache each user has their own`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(
            everywhere("cache: {mode: private}"),
            authentication: [users.authentication]
        ) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            let other = try proxy.client()
            #expect(try client.get(origin.url(), ClientUsers.alice).bodyText == "one")
            #expect(try other.get(origin.url(), ClientUsers.bob).bodyText == "two")
            #expect(try client.get(origin.url(), ClientUsers.alice).bodyText == "one")
            #expect(flaky.asked == 2)
        }
    }

    @Test func `so has each user of the machine, and who is not known shares with nobody`()
        async throws
    {
        let users = LocalUsers()
        try await ProxyFixture.run(
            everywhere("cache: {mode: private}"),
            identify: users.identify
        ) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("mine"),
                .fresh("theirs"),
                .fresh("another's"),
                .fresh("nobody's")
            )
            let clients = [
                (try proxy.client(), "mine"), (try users.stranger(proxy), "theirs"),
                (try users.client(proxy, of: LocalUsers.stranger &+ 1), "another's"),
                (try users.client(proxy, of: nil), "nobody's"),
            ]
            // Nothing is stored for the last one.
            for (client, body) in clients + clients.dropLast() {
                let shown = try client.get(origin.url()).bodyText
                #expect(shown == body)
            }
            #expect(flaky.asked == 4)
        }
    }

    @Test func `a token in a private cache is still its owner's alone`() async throws {
        let users = LocalUsers()
        let rules = """
            tokens: {one: {bearer: aaa111}}
            rules: [{match: {path: /**}, cache: {mode: private}, request: [{auth: one}]}]
            """
        try await ProxyFixture.run(rules, identify: users.identify) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("mine"))
            #expect(try proxy.client().get(origin.url()).bodyText == "mine")
            #expect(try users.stranger(proxy).get(origin.url()).status == 403)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a shared cache is for every user`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(
            everywhere("cache: standard"),
            authentication: [users.authentication]
        ) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let (client, other) = (try proxy.client(), try proxy.client())
            #expect(try client.get(origin.url(), ClientUsers.alice).bodyText == "one")
            #expect(try other.get(origin.url(), ClientUsers.bob).isHit)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `what two tokens and none brought is kept apart`() async throws {
        let rules = """
            tokens: {one: {bearer: aaa111}, two: {bearer: bbb222}}
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: a, match: {header: {X-Who: a}}, request: [{auth: one}]}
              - {name: b, match: {header: {X-Who: b}}, request: [{auth: two}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let open = ["Cache-Control: public, max-age=600"]
            let (flaky, origin) = try proxy.flaky(
                .answer(200, open, "none"),
                .answer(200, open, "first"),
                .answer(200, open, "second")
            )
            let client = try proxy.client()
            let rows = [("n", "none"), ("a", "first"), ("b", "second")]
            for (who, body) in rows + rows {
                #expect(try client.get(origin.url(), "X-Who: \(who)").bodyText == body)
            }
            #expect(flaky.asked == 3)
            let shown = flaky.requests.map { $0["Authorization"] }
            #expect(shown == [nil, "Bearer aaa111", "Bearer bbb222"])
            #expect(!proxy.logText.contains("aaa111"))
        }
    }

    @Test func `a response to a token stays out of a shared cache unless the origin allows it`()
        async throws
    {
        let rules = """
            tokens: {one: {bearer: aaa111}}
            rules: [{name: all, match: {path: /**}, cache: standard, request: [{auth: one}]}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.caching == "lupin; fwd=uri-miss; detail=authorization")
            }
            #expect(flaky.asked == 2)
        }
    }
}
