// Which idle connection the next request gets, and which ones are closed.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTestKit
import LupinUpstream
import Testing

struct UpstreamPoolTests {
    private static let hop = PlayedConnection.hop

    // MARK: Lease

    @Test func `the connection used last is leased first`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let kept = try Self.keep(3, in: pool, fixture)
            #expect(kept.allSatisfy { !$0.link.isReused })
            for connection in kept.reversed() {
                let leased = try #require(pool.lease(for: Self.hop))
                #expect(leased === connection.link && leased.isReused)
                leased.abort()
            }
            #expect(pool.lease(for: Self.hop) == nil)
        }
    }

    @Test func `a connection serves its own hop only`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let kept = try Self.keep(1, in: pool, fixture)
            let other = PlayedConnection.origin("b.test")
            #expect(pool.lease(for: .origin(other)) == nil)
            let proxy = ParentProxy(host: other.host, port: other.port)
            #expect(pool.lease(for: .parent(ParentHop(proxy: proxy, security: nil))) == nil)
            #expect(pool.lease(for: Self.hop) === kept[0].link)
            kept[0].link.abort()
        }
    }

    @Test(arguments: [true, false])
    func `what came since is seen by the lease itself`(isEnd: Bool) async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let kept = try Self.keep(2, in: pool, fixture)
            // Both have been read, in an earlier turn of the loop.
            let leased = [pool.lease(for: Self.hop), pool.lease(for: Self.hop)]
            #expect(leased.map { $0 === kept[1].link } == [true, false])
            for connection in kept { pool.keep(connection.link) }
            await fixture.settle()
            // The loop doesn't go round any more, so no event can tell.
            if isEnd {
                kept[1].peer.close()
            } else {
                try kept[1].peer.send("HTTP/1.1 408 Late\r\n")
            }
            #expect(kept[1].isOpen)
            #expect(pool.lease(for: Self.hop) === kept[0].link)
            #expect(!kept[1].isOpen && kept[0].isOpen)
            kept[0].link.abort()
        }
    }

    @Test func `bytes that answer no request close an idle connection`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let kept = try Self.keep(1, in: pool, fixture)
            try kept[0].peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await fixture.settle { !kept[0].isOpen }
            #expect(!kept[0].isOpen)
            #expect(pool.lease(for: Self.hop) == nil)
        }
    }

    @Test func `a known shelf is the one of its hop for as long as it is listed`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            #expect(pool.knownShelf(for: Self.hop) == nil)
            let kept = try Self.keep(1, in: pool, fixture)
            let shelf = try #require(pool.knownShelf(for: Self.hop))
            #expect(pool.lease(from: shelf) === kept[0].link)
            pool.keep(kept[0].link)
            #expect(pool.knownShelf(for: Self.hop) === shelf && shelf.isListed)
            pool.closeAll()
        }
    }

    // MARK: Eviction

    @Test func `who is idle for too long is closed by the sweep`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let old = try Self.keep(1, in: pool, fixture)
            try clock.advance(by: .seconds(30))
            await fixture.settle()
            let young = try Self.keep(1, in: pool, fixture)
            pool.sweep()
            #expect(old[0].isOpen && young[0].isOpen)
            try clock.advance(by: .seconds(30))
            await fixture.settle()
            pool.sweep()
            #expect(!old[0].isOpen && young[0].isOpen)
            pool.closeAll()
            #expect(!young[0].isOpen)
        }
    }

    @Test func `the surplus of a burst stays for a second, then the oldest go`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let kept = try Self.keep(4, in: pool, fixture)
            pool.sweep()
            #expect(kept.allSatisfy { $0.isOpen })
            try clock.advance(by: .seconds(1))
            await fixture.settle()
            pool.sweep()
            #expect(kept.map(\.isOpen) == [false, false, true, true])
            // The others are in their order.
            #expect(pool.lease(for: Self.hop) === kept[3].link)
            #expect(pool.lease(for: Self.hop) === kept[2].link)
            for connection in kept.suffix(2) { connection.link.abort() }
        }
    }

    @Test func `a lack of descriptors closes all that is idle`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            #expect(!pool.closeIdle())
            let kept = try Self.keep(2, in: pool, fixture)
            let busy = try #require(pool.lease(for: Self.hop))
            #expect(pool.closeIdle())
            #expect(kept.map(\.isOpen) == [false, true])
            #expect(!pool.closeIdle())
            busy.abort()
        }
    }

    @Test func `no request goes where the peer is about to close`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let connection = try PlayedConnection(fixture)
            try await connection.exchange(
                "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=8\r\nContent-Length: 0\r\n\r\n",
                fixture
            )
            connection.link.release(to: pool, or: nil)
            // A request takes time to get there, for which one second is left.
            try clock.advance(by: .milliseconds(6_900))
            await fixture.settle()
            #expect(pool.lease(for: Self.hop) === connection.link)
            pool.keep(connection.link)
            try clock.advance(by: .seconds(7))
            await fixture.settle()
            #expect(connection.isOpen)
            #expect(pool.lease(for: Self.hop) == nil)
            #expect(!connection.isOpen)
        }
    }

    // MARK: Ways

    /// Keeps new connections, the last one on top.
    private static func keep(
        _ count: Int,
        in pool: UpstreamPool,
        _ fixture: isolated LoopFixture
    ) throws -> [PlayedConnection] {
        var connections: [PlayedConnection] = []
        for _ in 0..<count { connections.append(try PlayedConnection(fixture)) }
        for connection in connections { pool.keep(connection.link) }
        return connections
    }
}
