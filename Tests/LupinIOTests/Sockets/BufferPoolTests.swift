// That received bytes stay what they were, however they are consumed and moved.
import LupinIO
import LupinTestKit
import Testing

struct BufferPoolTests {
    @Test func `discarding takes bytes from the front`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("abcdef")
            #expect(try channel.receive() == .bytes)
            channel.input.discard(2)
            #expect(channel.text == "cdef")
            channel.input.discard(0)
            #expect(channel.input.count == 4)
            channel.input.discard(4)
            #expect(channel.input.count == 0)
            #expect(channel.received.isEmpty)
        }
    }

    @Test(arguments: [
        (0, 2, "cdefgh"), (0, 8, ""), (2, 3, "abfgh"), (2, 6, "ab"), (7, 1, "abcdefg"),
        (3, 0, "abcdefgh"), (8, 0, "abcdefgh"),
    ])
    func `bytes in the middle are cut out and the rest moves up`(
        offset: Int,
        count: Int,
        left: String
    ) async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("..abcdefgh")
            #expect(try channel.receive() == .bytes)
            channel.input.discard(2)
            channel.input.discard(count, at: offset)
            #expect(channel.text == left)
            // What comes later stands behind it.
            try peer.send("!")
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == left + "!")
        }
    }

    @Test func `decoders may change the bytes in place`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send("-abc")
            #expect(try channel.receive() == .bytes)
            channel.input.discard(1)
            change(channel.input)
            #expect(channel.text == "xbc")
        }
    }

    private func change(_ input: InputBuffer) {
        var bytes = input.mutableBytes
        bytes[0] = 0x78
    }

    @Test(arguments: [1, 999, 4096, 16_383])
    func `a buffer that is consumed in pieces gives the bytes in order`(
        piece: Int
    ) async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let sent = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 % 253) }
            try peer.send(sent)
            peer.shutdownWrite()
            let slot = channel.waits(for: .ready)
            var received: [UInt8] = []
            reading: while true {
                switch try channel.receive() {
                case .bytes: received += channel.take(piece)
                case .blocked: _ = await slot.park(for: .ready)
                // Room for a part only: the rest of the block has to move to the front.
                case .full: received += channel.take(InputBuffer.capacity - piece)
                case .end: break reading
                }
            }
            received += channel.take(channel.input.count)
            #expect(received == sent)
        }
    }

    @Test func `a block lent to one channel is clean for the next`() async throws {
        try await LoopFixture.run { fixture in
            for text in ["a long first text", "short", "and another"] {
                let (channel, peer) = try fixture.connectedPair()
                try peer.send(text)
                #expect(try channel.receive() == .bytes)
                #expect(channel.text == text)
                channel.close()
                #expect(channel.input.count == 0)
            }
        }
    }
}
