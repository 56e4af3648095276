// What leaves a channel: staged bytes, payload and suffix, each once and in order.
import LupinIO
import LupinTestKit
import Testing

struct ChannelSendingTests {
    private static let staged = "HEAD:"
    private static let suffix: StaticString = "\r\n--end--\r\n"
    /// A send buffer that takes a few thousand bytes, at the same place each time.
    private static let sendBuffer: Int32 = 4608

    @Test func `staged bytes, payload and suffix leave in one call`() async throws {
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            channel.stage { $0 += Array("a".utf8) }
            channel.stage { $0 += Array("b".utf8) }
            #expect(channel.hasStaged)
            #expect(try channel.send(text: "c", suffix: "d") == 1)
            #expect(!channel.hasStaged)
            #expect(channel.bytesSent == 4)
            #expect(try peer.receive(exactly: 4) == Array("abcd".utf8))
        }
    }

    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func `a send that the kernel cuts anywhere goes on where it was cut`(
        hasHead: Bool,
        hasSuffix: Bool
    ) async throws {
        try await LoopFixture.run { fixture in
            let room = try roomOfFreshSocket()
            let head = hasHead ? Self.staged : ""
            let suffix = hasSuffix ? Self.suffix : nil
            // The cut lies at `room`: in the payload, at its end, and at each place of the suffix.
            let parts = head.utf8.count + (suffix?.utf8CodeUnitCount ?? 0)
            for excess in 0...(parts + 3) {
                let payload = (0..<max(0, room - parts + excess)).map {
                    UInt8(truncatingIfNeeded: $0 % 251)
                }
                try await expectDelivery(of: head, payload, suffix, fixture)
            }
        }
    }

    @Test func `a cut within the staged bytes goes on where it was cut`() async throws {
        try await LoopFixture.run { fixture in
            let room = try roomOfFreshSocket()
            for excess in 0...4 {
                let head = String(repeating: "h", count: room - 2 + excess)
                try await expectDelivery(of: head, [1, 2, 3], Self.suffix, fixture)
                try await expectDelivery(of: head, [], Self.suffix, fixture)
            }
        }
    }

    @Test func `a suffix without payload is kept while the socket is full`() async throws {
        try await LoopFixture.run { fixture in
            let (near, peer) = try PlainSocket.localPair(sendBuffer: Self.sendBuffer)
            let filled = near.fill()
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            // First the kernel says that there is no room, then the channel knows.
            #expect(try channel.send(bytes: [], suffix: "first") == 0)
            #expect(try channel.send(bytes: [], suffix: "second") == 0)
            #expect(channel.hasStaged)
            let slot = channel.waits(for: .ready)
            #expect(try peer.receive(exactly: filled).count == filled)
            while try !channel.flush() { _ = await slot.park(for: .ready) }
            #expect(try peer.receive(exactly: 11) == Array("firstsecond".utf8))
        }
    }

    @Test func `a megabyte arrives whole at a peer that reads as it likes`() async throws {
        let payload = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
        let listener = try PlainListener()
        let near = try PlainSocket.connect(to: listener.address)
        let peer = try listener.accept()
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let sending = fixture.launch { fixture in
            let channel = try fixture.channel(over: near)
            defer { channel.close() }
            let slot = channel.waits(for: .ready)
            var sent = 0
            while sent < payload.count {
                sent += try channel.send(bytes: payload, from: sent)
                if sent < payload.count { _ = await slot.park(for: .ready) }
            }
            #expect(channel.bytesSent == UInt64(payload.count))
        }
        #expect(try peer.receiveUntilEOF() == payload)
        try await sending.value
    }

    @Test func `sending to a peer that is gone is an error and no signal`() async throws {
        SystemCall.ignoreBrokenPipes()
        try await LoopFixture.run { fixture in
            let (channel, peer) = try fixture.connectedPair()
            defer { channel.close() }
            peer.reset()
            await fixture.settle()
            #expect(throws: SystemError.self) {
                _ = try channel.send(text: "x")
                _ = try channel.send(text: "x")
            }
        }
    }

    // MARK: Ways

    /// How many bytes a socket with the small buffer takes before it blocks.
    private func roomOfFreshSocket() throws -> Int {
        let (near, far) = try PlainSocket.localPair(sendBuffer: Self.sendBuffer)
        defer { far.close() }
        return near.fill()
    }

    private func expectDelivery(
        of head: String,
        _ payload: [UInt8],
        _ suffix: StaticString?,
        _ fixture: isolated LoopFixture
    ) async throws {
        let (near, peer) = try PlainSocket.localPair(sendBuffer: Self.sendBuffer)
        let channel = try fixture.channel(over: near)
        defer { channel.close() }
        let slot = channel.waits(for: .ready)
        if !head.isEmpty { channel.stage { $0 += Array(head.utf8) } }
        var sent = try channel.send(bytes: payload, suffix: suffix)
        var received: [UInt8] = []
        while sent < payload.count || channel.hasStaged {
            received += try peer.receiveSome()
            _ = await slot.park(for: .ready)
            if sent < payload.count {
                sent += try channel.send(bytes: payload, from: sent, suffix: suffix)
            } else {
                _ = try channel.flush()
            }
        }
        channel.close()
        received += try peer.receiveUntilEOF()
        let expected = Array(head.utf8) + payload + Array((suffix?.description ?? "").utf8)
        #expect(received == expected, "\(payload.count) bytes of payload")
    }
}
