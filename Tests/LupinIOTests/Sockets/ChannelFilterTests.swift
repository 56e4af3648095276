// What a channel does with a filter between its socket and its users.
import LupinIO
import LupinTestKit
import Synchronization
import Testing

/// Records of two bytes of length and so many bytes, each turned by a key; length 0 ends.
private final class Turning: ChannelFilter {
    private let key: UInt8
    private(set) var hasEnded = false
    /// How many bytes each sealed record held.
    private(set) var sealed: [Int] = []

    init(_ key: UInt8) { self.key = key }

    var holdsPlain: Bool { false }

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        while cipher.count >= 2, !hasEnded {
            let length = Int(cipher.bytes[0]) << 8 | Int(cipher.bytes[1])
            if length == 0xFFFF { throw FilterFailure() }
            if length == 0 {
                hasEnded = true
                return cipher.discard(2)
            }
            guard cipher.count >= 2 + length, plain.count + length <= InputBuffer.capacity else {
                return
            }
            plain.append { room in
                for i in 0..<length { room[i] = cipher.bytes[2 + i] ^ key }
                return length
            }
            cipher.discard(2 + length)
        }
    }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        sealed.append(plain.count)
        cipher.append(UInt8(truncatingIfNeeded: plain.count >> 8))
        cipher.append(UInt8(truncatingIfNeeded: plain.count))
        for i in plain.indices { cipher.append(plain[i] ^ key) }
    }

    func sealEnd(into cipher: inout [UInt8]) { cipher += [0, 0] }
}

/// What another thread received.
private final class Received: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    var value: [UInt8] { bytes.withLock { $0 } }
    func set(_ value: [UInt8]) { bytes.withLock { $0 = value } }
}

private func record(_ text: String, _ key: UInt8 = 0x20) -> [UInt8] {
    let bytes = Array(text.utf8)
    let length = [UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)]
    return length + bytes.map { $0 ^ key }
}

struct ChannelFilterTests {
    // MARK: Receiving

    @Test func `records are opened however they arrive`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            channel.insert(Turning(0x20))
            let slot = channel.waits(for: .ready)
            for byte in record("hello") + record(" world") {
                #expect(try channel.receive() == .blocked)
                try peer.send([byte])
                _ = await slot.park(for: .ready)
                if try channel.receive() == .bytes { #expect(channel.text.hasPrefix("hello")) }
            }
            #expect(channel.text == "hello world")
            // Bytes as users see them, not as they travel.
            #expect(channel.bytesReceived == 11)
        }
    }

    @Test func `what was received before the filter is taken for ciphertext`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            try peer.send(record("early"))
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            channel.insert(Turning(0x20))
            #expect(channel.input.isEmpty)
            #expect(channel.isReadableNow)
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "early")
        }
    }

    @Test func `an announced end is one, a bare FIN is a cut`() async throws {
        for isAnnounced in [true, false] {
            try await LoopFixture.run { fixture in
                let (channel, peer) = try fixture.connectedPair()
                defer { channel.close() }
                channel.insert(Turning(0x20))
                try peer.send(record("all") + (isAnnounced ? [0, 0] : []))
                peer.shutdownWrite()
                await fixture.settle()
                #expect(try channel.receive() == .bytes)
                if isAnnounced {
                    #expect(try channel.receive() == .end)
                } else {
                    #expect(throws: SystemError.self) { try channel.receive() }
                }
                #expect(channel.text == "all")
            }
        }
    }

    @Test func `a failure of the filter is one of the channel`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            channel.insert(Turning(0x20))
            try peer.send([0xFF, 0xFF])
            await fixture.settle()
            #expect(throws: SystemError.self) { try channel.receive() }
        }
    }

    // MARK: Sending

    @Test func `head, payload and suffix of a small message share a record`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            let filter = Turning(0x20)
            channel.insert(filter)
            channel.stage { $0 += Array("head ".utf8) }
            #expect(try channel.send(text: "payload", suffix: " end") == 7)
            #expect(filter.sealed == [16])
            #expect(try peer.receive(exactly: 18) == record("head payload end"))
            #expect(channel.bytesSent == 16)
            #expect(!channel.hasStaged)
        }
    }

    @Test func `a peer that does not read bounds what is sealed`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            channel.insert(Turning(0x20))
            let slot = channel.waits(for: .ready)
            let heard = Received()
            let bytes = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
            var taken = try channel.send(bytes: bytes)
            #expect(taken < bytes.count)
            #expect(try channel.send(bytes: bytes, from: taken) == 0)
            #expect(channel.hasStaged)
            let reader = TestThread { heard.set(try peer.receiveUntilEOF()) }
            while taken < bytes.count {
                let count = try channel.send(bytes: bytes, from: taken)
                taken += count
                if count == 0 { _ = await slot.park(for: .ready) }
            }
            channel.finishSending()
            while channel.hasStaged { _ = await slot.park(for: .ready) }
            try reader.join()
            let wire = heard.value
            var plain: [UInt8] = []
            var i = 0
            while i + 1 < wire.count {
                let length = Int(wire[i]) << 8 | Int(wire[i + 1])
                plain += wire[(i + 2)..<(i + 2 + length)].map { $0 ^ 0x20 }
                i += 2 + length
            }
            #expect(plain == bytes)
            #expect(wire.suffix(2) == [0, 0])
        }
    }

    @Test func `closing says so, aborting does not`() async throws {
        for isReset in [true, false] {
            try await LoopFixture.run { fixture in
                let (channel, peer) = try fixture.connectedPair()
                channel.insert(Turning(0x20))
                channel.close(reset: isReset)
                let (bytes, end) = try peer.receiveUntilEnd()
                #expect(bytes == (isReset ? [] : [0, 0]))
                #expect(end == (isReset ? .reset : .finished))
            }
        }
    }

    // MARK: One inside the other

    @Test func `a second filter goes inside the first`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            channel.insert(Turning(0x20))
            // Opened by the first before the second was there.
            let inner = record("in", 0x40)
            let outer = [0, UInt8(inner.count)] + inner.map { $0 ^ 0x20 }
            try peer.send(outer)
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            channel.insert(Turning(0x40))
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "in")
            try peer.send(outer)
            await fixture.settle()
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "inin")
            #expect(try channel.send(text: "in") == 2)
            #expect(try peer.receive(exactly: outer.count) == outer)
        }
    }
}
