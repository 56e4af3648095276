// Who else has a say in what is stored: an embedding program's handler, and `modify` of a policy.
import LupinCore
import LupinProxy
import LupinTestKit
import Testing

struct CacheHandlerTests {
    private static let rules = everywhere("cache: standard")

    /// Runs a story with a handler.
    private func run(
        under rules: String = rules,
        _ handler: ResponseCacher,
        _ body: @Sendable @escaping (ProxyFixture, FlakyOrigin, ScriptedOrigin) throws -> Void
    ) async throws {
        var hooks = Hooks()
        hooks.cachedResponseHandler = handler
        try await ProxyFixture.run(rules, hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one", ["X-A: origin"]))
            try body(proxy, flaky, origin)
        }
    }

    @Test func `a handler that agrees changes nothing`() async throws {
        try await run(.cache) { proxy, flaky, origin in
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url())["X-A"] == "origin")
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a handler may want nothing stored`() async throws {
        try await run(.doNotCache) { proxy, flaky, origin in
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.bodyText == "one")
                #expect(response.caching == "lupin; fwd=uri-miss; detail=handler")
            }
            #expect(flaky.asked == 2)
        }
    }

    @Test func `what a handler changes is for those who are served later`() async throws {
        let handler = ResponseCacher(
            behavior: .modify { request, response in
                var changed = response
                changed.fields.set(name: "X-A", value: "handler")
                return changed
            }
        )
        try await run(handler) { proxy, flaky, origin in
            let client = try proxy.client()
            #expect(try client.get(origin.url())["X-A"] == "origin")
            let hit = try client.get(origin.url())
            #expect(hit["X-A"] == "handler")
            #expect(hit.bodyText == "one")
            #expect(flaky.asked == 1)
        }
    }

    @Test func `modify of a policy changes what is stored`() async throws {
        let rules = everywhere("cache: {modify: [{set: {X-A: stored}}, {add: {X-B: more}}]}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one", ["X-A: origin"]))
            let client = try proxy.client()
            let first = try client.get(origin.url())
            #expect(first["X-A"] == "origin")
            #expect(first["X-B"] == nil)
            let hit = try client.get(origin.url())
            #expect(hit.isHit)
            #expect(hit["X-A"] == "stored")
            #expect(hit["X-B"] == "more")
            #expect(flaky.asked == 1)
        }
    }
}
