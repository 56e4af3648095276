// What the cache does for one request after another, by scripts without sockets.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinTestKit
import Testing

struct CacheHandlerTests {
    private static let fresh = PlayedReply(
        fields: [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")],
        body: "whole"
    )

    @Test func `what an origin calls fresh is fetched once`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            let first = try PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh)
            try await first.ask()
            #expect(first.status == 200 && first.text == "whole")
            #expect(first.told == "lupin; fwd=uri-miss; stored")
            let second = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await second.ask()
            #expect(second.status == 200 && second.text == "whole" && second.fetches.isEmpty)
            #expect(second.told.hasPrefix("lupin; hit"))
        }
    }

    @Test func `what is stale is asked about, and a 304 renews it`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            let same = PlayedReply(status: 304, fields: Self.fresh.fields)
            let asking = try PlayedCacheClient(of: cache, on: fixture.loop, same)
            try await asking.ask()
            #expect(asking.fetches.count == 1 && asking.fetches[0] != nil)
            #expect(asking.status == 200 && asking.text == "whole")
            let next = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await next.ask()
            #expect(next.fetches.isEmpty && next.text == "whole")
        }
    }

    @Test func `what is stale is replaced by what the origin has now`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            var newer = Self.fresh
            newer.fields[1].1 = "\"2\""
            newer.body = "newer"
            let asking = try PlayedCacheClient(of: cache, on: fixture.loop, newer)
            try await asking.ask()
            #expect(asking.text == "newer")
            let next = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await next.ask()
            #expect(next.fetches.isEmpty && next.text == "newer")
        }
    }

    @Test func `an error is answered from the store where the policy allows it`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            cache.policy.staleIfError = .seconds(600)
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            let failing = PlayedReply(status: 503, body: "busy")
            let answered = try PlayedCacheClient(of: cache, on: fixture.loop, failing)
            try await answered.ask()
            #expect(answered.status == 200 && answered.text == "whole")
            let unreachable = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await unreachable.ask()
            #expect(unreachable.fetches.count == 1 && unreachable.text == "whole")
        }
    }

    @Test func `elsewhere the client gets the error`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            let failing = PlayedReply(status: 503, body: "busy")
            let answered = try PlayedCacheClient(of: cache, on: fixture.loop, failing)
            try await answered.ask()
            #expect(answered.status == 503 && answered.text == "busy")
            let unreachable = try PlayedCacheClient(of: cache, on: fixture.loop)
            await #expect(throws: LupinError.self) { try await unreachable.ask() }
            #expect(unreachable.status == nil)
        }
    }

    @Test func `a stale response is served while it is validated`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            cache.policy.staleWhileRevalidate = .seconds(600)
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            let asking = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await asking.ask()
            #expect(asking.text == "whole" && asking.fetches.isEmpty && asking.validations == 1)
        }
    }

    @Test func `what may not be stored is passed on each time`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            let secret = PlayedReply(fields: [("Cache-Control", "no-store")], body: "once")
            for _ in 0..<2 {
                let client = try PlayedCacheClient(of: cache, on: fixture.loop, secret)
                try await client.ask()
                #expect(client.text == "once" && client.fetches.count == 1)
            }
            #expect(cache.responses.counts.stored == 0)
        }
    }

    @Test func `a client that wants only what is stored gets 504 without a fetch`() async throws {
        try await LoopFixture.run { fixture in
            let client = try PlayedCacheClient(
                .get,
                [("Cache-Control", "only-if-cached")],
                of: PlayedCache(),
                on: fixture.loop,
                Self.fresh
            )
            try await client.ask()
            #expect(client.status == 504 && client.fetches.isEmpty)
        }
    }

    @Test func `a POST that succeeds drops what is stored for its URL`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 1)
            let done = PlayedReply(status: 200, body: "done")
            try await PlayedCacheClient(.post, of: cache, on: fixture.loop, done).ask()
            cache.wait(seconds: 1)
            let next = try PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh)
            try await next.ask()
            #expect(next.fetches.count == 1 && next.text == "whole")
        }
    }

    @Test func `a body that broke off is kept, and only the rest is fetched`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            var broken = Self.fresh
            broken.body = "who"
            broken.length = 5
            let first = try PlayedCacheClient(of: cache, on: fixture.loop, broken)
            await #expect(throws: PlayedReply.brokenOff) { try await first.ask() }
            var rest = Self.fresh
            rest.status = 206
            rest.fields.append(("Content-Range", "bytes 3-4/5"))
            rest.body = "le"
            let second = try PlayedCacheClient(of: cache, on: fixture.loop, rest)
            try await second.ask()
            #expect(second.status == 200 && second.text == "whole")
            let third = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await third.ask()
            #expect(third.fetches.isEmpty && third.text == "whole")
        }
    }

    @Test func `what a validation behind the client's back breaks stays stored`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            cache.policy.staleWhileRevalidate = .seconds(600)
            try await PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh).ask()
            cache.wait(seconds: 61)
            let own = try PlayedCacheClient(of: cache, on: fixture.loop, PlayedReply(status: 500))
            own.isForStoreAlone = true
            try await own.validate()
            #expect(own.status == nil && own.fetches.count == 1)
            let next = try PlayedCacheClient(of: cache, on: fixture.loop)
            try await next.ask()
            #expect(next.text == "whole")
        }
    }

    @Test func `two that ask at the same time cause one fetch`() async throws {
        try await LoopFixture.run { fixture in
            let cache = PlayedCache()
            let first = try PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh)
            let second = try PlayedCacheClient(of: cache, on: fixture.loop, Self.fresh)
            first.fetchWaits = true
            let leading = fixture.start { try await first.ask() }
            let waiting = fixture.start { try await second.ask() }
            await fixture.settle()
            first.slot.wake(.answered)
            try await leading.value
            try await waiting.value
            #expect(first.text == "whole" && second.text == "whole")
            #expect(first.fetches.count == 1 && second.fetches.isEmpty)
            #expect(cache.responses.counts.collapsed == 1)
        }
    }
}
