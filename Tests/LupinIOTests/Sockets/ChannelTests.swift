// What a channel makes of a socket's edges: nothing is read twice, sent twice, or missed.
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct ChannelTests {
    // MARK: Receiving

    @Test func `bytes that come while the task waits wake it`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(try channel.receive() == .blocked)
            let slot = channel.waits(for: .ready)
            try peer.send("hello")
            #expect(await slot.park(for: .ready) == .ready)
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "hello")
            #expect(channel.bytesReceived == 5)
        }
    }

    @Test func `a short read ends the attempts until the next edge`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("one")
            #expect(try channel.receive() == .bytes)
            // In the socket already, but the edge has not been told: no call is spent on it.
            try peer.send("two")
            #expect(try channel.receive() == .blocked)
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "onetwo")
        }
    }

    @Test func `only bytes that nothing was sent behind are still to be acknowledged`() async throws
    {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(!channel.isUnacknowledged)
            try peer.send("one")
            #expect(try channel.receive() == .bytes)
            #expect(channel.isUnacknowledged)
            _ = try channel.send(text: "answer")
            #expect(!channel.isUnacknowledged)
            try peer.send("two")
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            channel.acknowledge()
            #expect(!channel.isUnacknowledged)
        }
    }

    @Test func `what came before a reset can be read once a write has failed`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(try channel.receive() == .blocked)
            try peer.send("no more")
            peer.reset()
            // No event has told of it yet.
            #expect(throws: SystemError.self) { _ = try channel.send(text: "rest") }
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "no more")
        }
    }

    @Test(arguments: [true, false])
    func `a connection that was answered and reset at once was made`(isAnswered: Bool) async throws
    {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let near = try PlainSocket.connect(to: listener.address)
            let far = try listener.accept()
            let channel = try Channel(
                owning: near.surrender(),
                on: fixture.loop,
                isConnected: false
            )
            defer { channel.close() }
            if isAnswered { try far.send("busy") }
            far.reset()
            await fixture.settle()
            let isConnected = if case .success? = channel.connectResult() { true } else { false }
            #expect(isConnected == isAnswered)
            #expect(channel.text == (isAnswered ? "busy" : ""))
        }
    }

    @Test func `an end behind a short read is seen`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("last words")
            #expect(try channel.receive() == .bytes)
            #expect(try channel.receive() == .blocked)
            let slot = channel.waits(for: .ready)
            peer.shutdownWrite()
            #expect(await slot.park(for: .ready) == .ready)
            #expect(channel.hasHungUp)
            #expect(!channel.isBroken)
            #expect(try channel.receive() == .end)
            #expect(try channel.receive() == .end)
        }
    }

    @Test func `bytes and the end in one event are read to the end without another`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            await fixture.settle()
            #expect(try channel.receive() == .blocked)
            let slot = channel.waits(for: .ready)
            try peer.send("bye")
            peer.shutdownWrite()
            _ = await slot.park(for: .ready)
            #expect(try channel.receive() == .bytes)
            #expect(try channel.receive() == .end)
        }
    }

    @Test func `a full buffer says so and loses nothing`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let sent = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try peer.send(sent)
            peer.shutdownWrite()
            let slot = channel.waits(for: .ready)
            var received: [UInt8] = []
            var wasFull = false
            reading: while true {
                switch try channel.receive() {
                case .bytes: continue
                case .blocked: _ = await slot.park(for: .ready)
                case .full:
                    wasFull = true
                    #expect(channel.input.count == InputBuffer.capacity)
                    received += channel.take(10_000)
                case .end: break reading
                }
            }
            #expect(wasFull)
            #expect(received + channel.take(channel.input.count) == sent)
        }
    }

    @Test(arguments: [true, false])
    func `an idle connection is quiet until something comes or it is closed`(
        asksKernel: Bool
    ) async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(channel.isQuiet(asksKernel: asksKernel))
            try peer.send("x")
            await fixture.settle()
            #expect(!channel.isQuiet(asksKernel: asksKernel))
            let (other, closing) = try fixture.connectedPair()
            defer { other.close() }
            #expect(other.isQuiet(asksKernel: asksKernel))
            closing.close()
            await fixture.settle()
            #expect(!other.isQuiet(asksKernel: asksKernel))
        }
    }

    @Test func `room to send is news to who had none, and to nobody else`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let slot = channel.waits(for: .downstreamReadable)
            channel.writableReason = .downstreamWritable
            for _ in 0..<3 {
                channel.stage { $0 += [1, 2, 3] }
                #expect(try channel.flush())
                _ = try peer.receive(exactly: 3)
                try peer.send("x")
                #expect(await slot.park(for: .downstreamReadable) == .downstreamReadable)
                #expect(try channel.receive() == .bytes)
            }
            await fixture.settle()
            #expect(!slot.has(.downstreamWritable))
            // Until the kernel takes no more.
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            var sent = 0
            while true {
                let taken = try channel.send(piece.span)
                sent += taken
                if taken < piece.count { break }
            }
            let reading = TestThread { [sent] in _ = try peer.receive(exactly: sent) }
            _ = await slot.park(for: .downstreamWritable)
            #expect(try channel.send(piece.span) > 0)
            try reading.join()
        }
    }

    @Test func `the kernel knows of bytes before the loop has told`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(channel.isQuiet(asksKernel: true))
            try peer.send("x")
            #expect(channel.isQuiet(asksKernel: false))
            #expect(!channel.isQuiet(asksKernel: true))
        }
    }

    @Test func `a channel knows whether a read of this turn has emptied it`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("x")
            await fixture.settle()
            #expect(!channel.wasEmptiedInThisTurn)
            #expect(try channel.receive() == .bytes)
            #expect(channel.wasEmptiedInThisTurn)
            _ = channel.take(1)
            await fixture.settle()
            #expect(!channel.wasEmptiedInThisTurn)
            #expect(channel.isQuiet(asksKernel: true))
            #expect(channel.wasEmptiedInThisTurn)
        }
    }

    // MARK: The end

    @Test func `whoever reads behind a reset is told of it too`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("x")
            #expect(try channel.receive() == .bytes)
            peer.reset()
            await fixture.settle()
            for _ in 0..<3 {
                #expect(throws: SystemError(code: ECONNRESET)) { try channel.receive() }
            }
        }
    }

    @Test func `the peer's end wakes who waits for it alone`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            await fixture.settle()
            let slot = ParkingSlot(on: fixture.loop)
            channel.slot = slot
            channel.closedReason = .downstreamClosed
            try peer.send("pipelined")
            await fixture.settle()
            #expect(!slot.has(.downstreamClosed))
            peer.shutdownWrite()
            #expect(await slot.park(for: .downstreamClosed) == .downstreamClosed)
        }
    }

    @Test func `a reset breaks the channel and the next attempt says why`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            #expect(try channel.receive() == .blocked)
            let slot = channel.waits(for: .ready)
            channel.closedReason = .downstreamClosed
            peer.reset()
            #expect(await slot.park(for: .downstreamClosed) == .downstreamClosed)
            #expect(channel.isBroken && channel.hasHungUp)
            #expect(throws: SystemError(code: 104)) { _ = try channel.receive() }
        }
    }

    @Test(arguments: [true, false])
    func `closing ends the connection as asked`(byReset: Bool) async throws {
        let peer = try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            _ = try channel.send(text: "partial")
            channel.close(reset: byReset)
            channel.close()
            #expect(!channel.isOpen)
            return peer
        }
        let (bytes, end) = try peer.receiveUntilEnd()
        #expect(end == (byReset ? .reset : .finished))
        if !byReset { #expect(bytes == Array("partial".utf8)) }
    }

    @Test func `finishing to send leaves the other direction open`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            _ = try channel.send(text: "question")
            channel.finishSending()
            #expect(try peer.receiveUntilEOF() == Array("question".utf8))
            try peer.send("answer")
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "answer")
        }
    }

    // MARK: Events

    @Test func `a channel closed within a batch gets no event of it`() async throws {
        try await LoopFixture.run { fixture in
            let (first, firstPeer) = try fixture.connectedPair()
            let (second, secondPeer) = try fixture.connectedPair()
            await fixture.settle()
            let pump = ClosingPump()
            pump.victims = [first, second]
            first.pump = pump
            second.pump = pump
            try firstPeer.send("x")
            try secondPeer.send("x")
            await fixture.settle()
            #expect(pump.calls == 1)
            #expect(!first.isOpen && !second.isOpen)
        }
    }

    @Test func `places of closed channels are used again and late events do not reach them`()
        async throws
    {
        try await LoopFixture.run { fixture in
            for _ in 0..<20 {
                let (channel, peer) = try fixture.connectedPair()
                try peer.send("for the old one")
                channel.close()
                let (next, _) = try fixture.connectedPair()
                let slot = next.waits(for: .ready)
                next.closedReason = []
                slot.forget(.ready)
                await fixture.settle()
                next.close()
            }
        }
    }

    // MARK: Connecting

    @Test func `keep-alive and the own address are there for the asking`() async throws {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let near = try PlainSocket.connect(to: listener.address)
            let address = near.address
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            channel.enableKeepAlive()
            #expect(channel.localAddress == address)
        }
    }
}

/// Closes several channels when the first of them has an event.
private final class ClosingPump: ChannelPump {
    var victims: [Channel] = []
    var calls = 0

    func channelIsReady(_ channel: Channel) {
        calls += 1
        for victim in victims { victim.close() }
    }
}
