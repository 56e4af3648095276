// Who makes a connection that others may share, and who waits for it.
import LupinCore
import LupinIO
import LupinTestKit
import LupinUpstream
import Testing

struct StreamPoolTests {
    private static func hop(_ security: OriginSecurity) throws -> NextHop {
        let origin = Origin(scheme: .https, host: try #require(Host("a.test")), port: 443)
        return .secure(origin, security, through: nil)
    }

    @Test func `one exchange makes the connection, others wait and are told`() async throws {
        let hop = try Self.hop(.played())
        try await LoopFixture.run { fixture in
            let streams = UpstreamPool.played(on: fixture.loop).streams
            #expect(streams.mayShare(hop) && !streams.isDialing(hop))
            #expect(streams.beginDial(hop, wants: nil))
            #expect(!streams.beginDial(hop, wants: nil) && streams.isDialing(hop))
            let waiting = ParkingSlot(on: fixture.loop)
            let gone = ParkingSlot(on: fixture.loop)
            streams.wait(for: hop, in: waiting)
            streams.wait(for: hop, in: gone)
            streams.stopWaiting(for: hop, in: gone)
            streams.endDial(hop, isConnected: false)
            #expect(waiting.has(.answered) && !gone.has(.answered))
            #expect(streams.failures(at: hop) == 1 && !streams.isDialing(hop))
            // The next one may try.
            #expect(streams.beginDial(hop, wants: nil))
            streams.endDial(hop, isConnected: true)
            #expect(streams.failures(at: hop) == 1)
            #expect(streams.connection(to: hop, forWebSocket: false) == nil)
        }
    }

    @Test func `what speaks HTTP 1 only is not waited for`() async throws {
        let hop = try Self.hop(.played())
        let other = try Self.hop(.played())
        try await LoopFixture.run { fixture in
            let streams = UpstreamPool.played(on: fixture.loop).streams
            // Only protocols of the settings may lead to a connection that others can use.
            #expect(!streams.beginDial(hop, wants: ["http/1.1"]))
            streams.remember(hop, wantsHTTP1: false)
            #expect(!streams.mayShare(hop) && !streams.wantsHTTP1(hop))
            #expect(!streams.beginDial(hop, wants: nil))
            streams.remember(hop, wantsHTTP1: true)
            streams.remember(hop, wantsHTTP1: false)
            #expect(streams.wantsHTTP1(hop))
            // Another policy's connections are others, to the same origin, too.
            #expect(streams.mayShare(other))
            #expect(!streams.mayShare(PlayedConnection.hop))
        }
    }
}
