// Bytes in pages of their own: that they are what was filled in, and arrive as they were.
import LupinIO
import LupinTestKit
import Testing

struct MappedBytesTests {
    private static let head = Array("HEAD:".utf8)

    /// Bytes of which each differs from its neighbours.
    private static func pattern(_ count: Int, _ seed: Int = 0) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8 ^ seed) }
    }

    private static func mapped(_ bytes: [UInt8]) throws -> MappedBytes {
        try #require(MappedBytes(count: bytes.count) { $0.append(bytes.span) })
    }

    private static func copy(of bytes: MappedBytes) -> [UInt8] {
        let span = bytes.span
        return span.indices.map { span[$0] }
    }

    @Test func `what is filled in lies there in its order, and zeros behind it`() throws {
        let bytes = try #require(
            MappedBytes(count: 10_000) { room in
                room.append([UInt8]().span)
                room.append(Self.pattern(4000).span)
                room.append(Self.pattern(4999, 7).span)
            }
        )
        let zeros = [UInt8](repeating: 0, count: 1001)
        #expect(Self.copy(of: bytes) == Self.pattern(4000) + Self.pattern(4999, 7) + zeros)
    }

    @Test func `where there is no memory there are no bytes`() {
        #expect(MappedBytes(count: 1 << 60) { _ in } == nil)
    }

    /// Short ones, and such as begin and end anywhere in a page.
    @Test(arguments: [
        0..<0, 0..<1, 5..<MappedBytes.countMin, 0..<MappedBytes.countMin, 4095..<100_000,
        1..<262_145, 8192..<1_000_000,
    ])
    func `staged bytes and a range behind them arrive whole at a slow reader`(
        range: Range<Int>
    ) async throws {
        let all = Self.pattern(1_000_000)
        let listener = try PlainListener()
        let near = try PlainSocket.connect(to: listener.address)
        let peer = try listener.accept()
        near.narrow()
        peer.narrow()
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let sending = fixture.launch { fixture in
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            let slot = channel.waits(for: .ready)
            let bytes = try Self.mapped(all)
            channel.stage { $0 += Self.head }
            var rest = range
            while true {
                rest = (rest.lowerBound + (try channel.send(bytes, rest)))..<rest.upperBound
                if rest.isEmpty, try channel.flush() { break }
                _ = await slot.park(for: .ready)
            }
            #expect(channel.bytesSent == UInt64(Self.head.count + range.count))
        }
        #expect(try peer.receiveUntilEOF() == Self.head + all[range])
        try await sending.value
    }

    @Test func `what is staged waits for room, and the bytes for it`() async throws {
        try await LoopFixture.run { fixture in
            let (near, peer) = try PlainSocket.localPair(sendBuffer: 4608)
            let filled = near.fill()
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            let bytes = try Self.mapped(Self.pattern(40_000))
            channel.stage { $0 += Self.head }
            // First the kernel says that there is no room, then the channel knows.
            for _ in 0..<2 { #expect(try channel.send(bytes, 0..<40_000) == 0) }
            #expect(channel.hasStaged)
            let slot = channel.waits(for: .ready)
            #expect(try peer.receive(exactly: filled).count == filled)
            while try !channel.flush() { _ = await slot.park(for: .ready) }
            #expect(try peer.receive(exactly: Self.head.count) == Self.head)
        }
    }

    @Test func `bytes that are under way stay as they were when they are gone here`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let sent = try channel.send(try Self.mapped(Self.pattern(100_000)), 0..<100_000)
            #expect(sent >= MappedBytes.countMin)
            // Whoever gets memory now writes into it.
            let others = try (1...40).map { try Self.mapped(Self.pattern(100_000, $0)) }
            let arrays = (1...40).map { Self.pattern(100_000, $0) }
            #expect(try peer.receive(exactly: sent) == Array(Self.pattern(100_000)[..<sent]))
            #expect(others.count == arrays.count)
        }
    }

    @Test func `a pipe in which something is left serves nobody else`() async throws {
        try await LoopFixture.run { fixture in
            let (near, reader) = try PlainSocket.localPair(sendBuffer: 4608)
            defer { reader.close() }
            let full = try fixture.channel(over: near)
            defer { full.close() }
            let others = try Self.mapped(Self.pattern(40_000, 7))
            while try full.send(others, 0..<40_000) == 40_000 {}
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let all = Self.pattern(40_000)
            #expect(try channel.send(try Self.mapped(all), 0..<40_000) == 40_000)
            #expect(try peer.receive(exactly: 40_000) == all)
        }
    }

    @Test func `a peer that is gone is an error`() async throws {
        SystemCall.ignoreBrokenPipes()
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let bytes = try Self.mapped(Self.pattern(40_000))
            peer.reset()
            await fixture.settle()
            #expect(throws: SystemError.self) {
                for _ in 0..<2 { _ = try channel.send(bytes, 0..<40_000) }
            }
        }
    }
}
