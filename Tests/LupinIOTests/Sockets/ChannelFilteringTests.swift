// How much a filtered channel holds, and how it goes on when a peer reads slowly or floods it.
import LupinIO
import LupinTestKit
import Testing

/// Passes bytes on as they are and remembers the most ciphertext that it was given to append to.
private final class Weighing: ChannelFilter {
    private(set) var heaviest = 0
    let hasEnded = false
    let holdsPlain = false

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        cipher.discard(cipher.count)
    }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        cipher += [UInt8](repeating: 7, count: plain.count)
        heaviest = max(heaviest, cipher.count)
    }

    func sealEnd(into cipher: inout [UInt8]) {}
}

/// Gives nothing to read, and answers each byte with one where it answers at all.
private final class Barren: ChannelFilter {
    private let answers: Bool
    let hasEnded = false
    let holdsPlain = false

    init(answers: Bool) { self.answers = answers }

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        if answers { for i in cipher.bytes.indices { answer.append(cipher.bytes[i]) } }
        cipher.discard(cipher.count)
    }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {}
    func sealEnd(into cipher: inout [UInt8]) {}
}

/// A byte of 0 ends; every other one is passed on.
private final class Ending: ChannelFilter {
    private(set) var hasEnded = false
    let holdsPlain = false

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        while !cipher.isEmpty, !hasEnded {
            let byte = cipher.bytes[0]
            cipher.discard(1)
            if byte == 0 {
                hasEnded = true
            } else {
                // The inner one's end travels as 1.
                plain.append { room in
                    room[0] = byte == 1 ? 0 : byte
                    return 1
                }
            }
        }
    }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        for i in plain.indices { cipher.append(plain[i]) }
    }

    func sealEnd(into cipher: inout [UInt8]) { cipher.append(0) }
}

struct ChannelFilteringTests {
    @Test func `a slow reader that never quite catches up costs no more memory`() async throws {
        try await LoopFixture.run { fixture in
            let (near, far) = try PlainSocket.localPair(sendBuffer: 4096)
            let channel = try fixture.channel(over: near)
            defer { channel.close(reset: true) }
            let filter = Weighing()
            channel.insert(filter)
            let chunk = [UInt8](repeating: 7, count: 16 << 10)
            for _ in 0..<400 {
                _ = try channel.send(bytes: chunk)
                #expect(channel.hasStaged)
                _ = try far.receiveSome()
                await fixture.settle()
            }
            #expect(filter.heaviest <= 256 << 10)
        }
    }

    @Test func `what waits sealed leaves by itself when there is room`() async throws {
        try await LoopFixture.run { fixture in
            let (near, far) = try PlainSocket.localPair(sendBuffer: 4096)
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            channel.insert(Weighing())
            let bytes = [UInt8](repeating: 7, count: 16 << 10)
            #expect(try channel.send(bytes: bytes) == bytes.count)
            #expect(channel.hasStaged)
            var received = 0
            while received < bytes.count {
                received += try far.receiveSome().count
                await fixture.settle()
            }
            #expect(!channel.hasStaged)
        }
    }

    @Test func `a peer that has itself answered and reads nothing is cut off`() async throws {
        try await LoopFixture.run { fixture in
            let (near, far) = try PlainSocket.localPair(sendBuffer: 4096)
            let channel = try fixture.channel(over: near)
            defer { channel.close(reset: true) }
            channel.insert(Barren(answers: true))
            var failure: SystemError?
            for _ in 0..<32 where failure == nil {
                _ = far.fill(16 << 10)
                await fixture.settle()
                do throws(SystemError) {
                    _ = try channel.receive()
                } catch {
                    failure = error
                }
            }
            #expect(failure != nil)
        }
    }

    @Test func `a flood that says nothing is cut off`() async throws {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let near = try PlainSocket.connect(to: listener.address, receiveBuffer: 1 << 20)
            let channel = try fixture.channel(over: near)
            defer { channel.close(reset: true) }
            channel.insert(Barren(answers: false))
            let peer = try listener.accept()
            defer { peer.close() }
            _ = peer.fill(1 << 20)
            await fixture.settle()
            #expect(throws: SystemError.self) { try channel.receive() }
        }
    }

    @Test func `the end of the outer filter is not that of the inner one`() async throws {
        for isWhole in [true, false] {
            try await LoopFixture.run { fixture in
                let (channel, peer) = try fixture.connectedPair()
                defer { channel.close(reset: true) }
                channel.insert(Ending())
                channel.insert(Ending())
                try peer.send(Array("all".utf8) + (isWhole ? [1, 0] : [0]))
                await fixture.settle()
                #expect(try channel.receive() == .bytes)
                #expect(channel.text == "all")
                if isWhole {
                    #expect(try channel.receive() == .end)
                } else {
                    #expect(throws: SystemError.self) { try channel.receive() }
                }
            }
        }
    }
}
