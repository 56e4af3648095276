// How a tunnel ends, with bodies in the place of its connections.
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import LupinUpstream
import Testing

struct JoinedTunnelTests {
    /// A side whose connection says nothing more, and stays open.
    private final class Silence: BodySource {
        var trailers: FieldSection { FieldSection() }
        var knownLength: UInt64? { nil }
        func pull() throws(LupinError) -> BodyProgress { .blocked }

        func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
            Offer(taken: 0, isAllTaken: true, isEnd: false)
        }
    }

    private static func relay(_ source: any BodySource, _ slot: ParkingSlot) -> BodyRelay {
        let relay = BodyRelay(from: source, to: DiscardedBody(), slot: slot)
        _ = relay.pump()
        return relay
    }

    @Test func `a side that has ended is who closed it, and the other may go on`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let now = fixture.loop.now
            let ended = Self.relay(BytesBody(Array("bytes".utf8)), slot)
            let open = Self.relay(Silence(), slot)
            var left = JoinedTunnel(up: ended, down: open)
            let isLeftOver = try left.hasEndedWell(now: now, idle: 1_000_000, isCut: false)
            #expect(!isLeftOver)
            #expect(left.record.closedBy == .client && left.record.sentBytes == 5)
            var right = JoinedTunnel(up: open, down: ended)
            let isRightOver = try right.hasEndedWell(now: now, idle: 1_000_000, isCut: false)
            #expect(!isRightOver)
            #expect(right.record.closedBy == .upstream && right.record.receivedBytes == 5)
        }
    }

    @Test func `a tunnel that rests too long, or is cut, is closed by lupin`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let now = fixture.loop.now
            for isCut in [true, false] {
                let (up, down) = (Self.relay(Silence(), slot), Self.relay(Silence(), slot))
                var tunnel = JoinedTunnel(up: up, down: down)
                let later = isCut ? now : now + 2_000_000
                #expect(throws: LupinError.self) {
                    _ = try tunnel.hasEndedWell(now: later, idle: 1_000_000, isCut: isCut)
                }
                #expect(tunnel.record.closedBy == .lupin)
            }
        }
    }

    @Test func `a client that closes behind either end has ended it regularly`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let gone = Self.relay(BytesBody([], failure: .clientGone), slot)
            let ended = Self.relay(BytesBody([]), slot)
            let isOver = try JoinedTunnel(up: gone, down: ended).hasEndedWell()
            #expect(isOver)
            let broken = JoinedTunnel(up: gone, down: Self.relay(Silence(), slot))
            #expect(throws: LupinError.clientGone) { _ = try broken.hasEndedWell() }
            #expect(broken.record.closedBy == .client)
            let reset = LupinError(.connectionTerminated, detail: "It was reset.")
            let failed = Self.relay(BytesBody([], failure: reset), slot)
            #expect(throws: reset) {
                _ = try JoinedTunnel(up: ended, down: failed).hasEndedWell()
            }
        }
    }
}
