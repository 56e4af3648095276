// What goes from socket to socket through a pipe, and which EAGAIN is which.
import LupinIO
import LupinTestKit
import Testing

struct SpliceTests {
    /// Bytes from `source` to `sink` until the end, as a tunnel moves them.
    private func relay(
        from source: Channel,
        to sink: Channel,
        through pipe: SplicePipe,
        by slot: ParkingSlot
    ) async throws {
        while true {
            let received = try source.splice(into: pipe, 1 << 20)
            let isEmpty = try sink.splice(from: pipe)
            if !isEmpty {
                _ = await slot.park(for: .upstreamWritable)
            } else if received == .end {
                return sink.finishSending()
            } else if received == .blocked {
                _ = await slot.park(for: .downstreamReadable)
            }
        }
    }

    @Test(arguments: [0, 1, 65_536, 65_537, 1_000_000])
    func `what comes in goes out, and the end after it`(count: Int) async throws {
        let sent = (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 9) }
        let (source, client) = try Self.socketPair()
        let (sink, origin) = try Self.socketPair()
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let relaying = fixture.launch { fixture in
            let near = try fixture.channel(over: source)
            let far = try fixture.channel(over: sink)
            defer {
                near.close()
                far.close()
            }
            let slot = ParkingSlot(on: fixture.loop)
            (near.slot, near.readableReason) = (slot, .downstreamReadable)
            (far.slot, far.writableReason) = (slot, .upstreamWritable)
            let pipe = try #require(fixture.loop.pipes.borrow())
            try await relay(from: near, to: far, through: pipe, by: slot)
            #expect(pipe.held == 0)
            #expect(near.bytesReceived == UInt64(count))
            #expect(far.bytesSent == UInt64(count))
            fixture.loop.pipes.giveBack(pipe)
        }
        let sending = try HelperThread(name: "test-client", capacity: 1)
        sending.submit {
            try? client.send(sent)
            client.shutdownWrite()
        }
        #expect(try origin.receiveUntilEOF() == sent)
        sending.join()
        try await relaying.value
    }

    @Test func `a full pipe is not taken for an empty socket`() async throws {
        try await LoopFixture.run { fixture in
            let (source, client) = try fixture.connectedPair()
            let (sink, origin) = try fixture.connectedPair()
            defer {
                source.close()
                sink.close()
            }
            let pipe = try #require(fixture.loop.pipes.borrow())
            // Many small segments fill a pipe's places long before its 64 KiB.
            for _ in 0..<64 { try client.send("x") }
            await fixture.settle()
            var sawFull = false
            while try source.splice(into: pipe, 1 << 20) == .bytes {}
            sawFull = try source.splice(into: pipe, 1 << 20) == .full
            #expect(sawFull)
            // No event says so again: what is left must be had without one.
            var rounds = 0
            while try sink.splice(from: pipe), try source.splice(into: pipe, 1 << 20) == .bytes {
                rounds += 1
            }
            #expect(source.bytesReceived == 64)
            #expect(try origin.receive(exactly: 64).count == 64)
            #expect(try source.splice(into: pipe, 1 << 20) == .blocked)
        }
    }

    @Test(arguments: [32, 64, 256])
    func `a pipe that holds all it may asks for no more`(directionKiB: Int) async throws {
        try await LoopFixture.run { fixture in
            fixture.loop.pipes.limit(directionBytes: directionKiB << 10)
            let (source, client) = try fixture.connectedPair()
            defer { source.close() }
            let pipe = try #require(fixture.loop.pipes.borrow())
            try client.send([UInt8](repeating: 7, count: 200_000))
            await fixture.settle()
            while try source.splice(into: pipe, 1 << 20) == .bytes {}
            #expect(try source.splice(into: pipe, 1 << 20) == .full)
            #expect(pipe.held > 0 && pipe.held <= (directionKiB - 16) << 10)
        }
    }

    @Test func `no more is taken than was asked for`() async throws {
        try await LoopFixture.run { fixture in
            let (source, client) = try fixture.connectedPair()
            defer { source.close() }
            let pipe = try #require(fixture.loop.pipes.borrow())
            try client.send("bodynext")
            #expect(try source.splice(into: pipe, 4) == .bytes)
            #expect(pipe.held == 4)
            #expect(try source.receive() == .bytes)
            #expect(source.text == "next")
        }
    }

    @Test func `a pipe with bytes in it is not lent again`() async throws {
        try await LoopFixture.run { fixture in
            let (source, client) = try fixture.connectedPair()
            defer { source.close() }
            let pipes = fixture.loop.pipes
            let used = try #require(pipes.borrow())
            try client.send("left")
            #expect(try source.splice(into: used, 4) == .bytes)
            pipes.giveBack(used)
            let next = try #require(pipes.borrow())
            #expect(next !== used && next.held == 0)
            pipes.giveBack(next)
            #expect(pipes.borrow() === next)
        }
    }

    @Test func `a sink that is gone is an error`() async throws {
        SystemCall.ignoreBrokenPipes()
        try await LoopFixture.run { fixture in
            let (source, client) = try fixture.connectedPair()
            let (sink, origin) = try fixture.connectedPair()
            defer {
                source.close()
                sink.close()
            }
            origin.reset()
            await fixture.settle()
            let pipe = try #require(fixture.loop.pipes.borrow())
            try client.send("for nobody")
            #expect(try source.splice(into: pipe, 100) == .bytes)
            #expect(throws: SystemError.self) { _ = try sink.splice(from: pipe) }
        }
    }

    private static func socketPair() throws -> (PlainSocket, PlainSocket) {
        let listener = try PlainListener()
        let near = try PlainSocket.connect(to: listener.address)
        return (near, try listener.accept())
    }
}
