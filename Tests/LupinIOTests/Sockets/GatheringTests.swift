// What a fast sender's bytes wait for before they are spliced, and that none waits for ever.
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct GatheringTests {
    /// A time that stands still unless it is moved: whatever comes has come at once.
    private final class StillTime: Sendable {
        private let microseconds = Atomic<UInt64>(1_000_000)

        var clock: LoopClock {
            LoopClock(isVirtual: false) { [self] in microseconds.load(ordering: .relaxed) }
        }

        func move(by count: UInt64) { microseconds.add(count, ordering: .relaxed) }
    }

    /// Splices from `source` what there is, and throws it away.
    private func drain(
        _ source: Channel,
        _ fixture: isolated LoopFixture,
        wanted: Int = 1 << 20
    ) throws -> (count: Int, last: Channel.Received) {
        var count = 0
        while true {
            // A fresh pipe each time: nobody reads it.
            let pipe = try #require(fixture.loop.pipes.borrow())
            let received = try source.splice(into: pipe, wanted)
            count += pipe.held
            guard received == .bytes || received == .full else { return (count, received) }
        }
    }

    @Test func `few bytes wait for a millisecond, and no longer`() async throws {
        let time = StillTime()
        try await LoopFixture.run(time: time.clock) { fixture in
            let (source, sender) = try fixture.connectedPair()
            defer { source.close() }
            try await gather(source, sender, fixture)
            try sender.send("few")
            await fixture.settle()
            #expect(try drain(source, fixture) == (0, .blocked))
            let slot = source.waits(for: .ready)
            time.move(by: 1_000)
            #expect(await slot.park(for: .ready).meets(.ready))
            #expect(try drain(source, fixture).count == 3)
            for _ in 1..<32 {
                time.move(by: 1_000)
                #expect(await slot.park(for: .ready).meets(.ready))
                #expect(try drain(source, fixture) == (0, .blocked))
            }
            // So few for so long that the next come at once again.
            try sender.send("x")
            #expect(await slot.park(for: .ready).meets(.ready))
            #expect(try drain(source, fixture).count == 1)
        }
    }

    @Test func `many bytes wake at once, and so does the end`() async throws {
        let time = StillTime()
        try await LoopFixture.run(time: time.clock) { fixture in
            let (source, sender) = try fixture.connectedPair()
            defer { source.close() }
            try await gather(source, sender, fixture)
            let slot = source.waits(for: .ready)
            try sender.send([UInt8](repeating: 1, count: 300 << 10))
            #expect(await slot.park(for: .ready).meets(.ready))
            try sender.send("the end")
            sender.shutdownWrite()
            var last = Channel.Received.blocked
            while last != .end {
                last = try drain(source, fixture).last
                if last == .blocked { _ = await slot.park(for: .ready) }
            }
        }
    }

    @Test func `who reads in another way is told of every byte`() async throws {
        let time = StillTime()
        try await LoopFixture.run(time: time.clock) { fixture in
            let (source, sender) = try fixture.connectedPair()
            defer { source.close() }
            try await gather(source, sender, fixture)
            let slot = source.waits(for: .ready)
            #expect(try source.receive() == .blocked)
            try sender.send("x")
            #expect(await slot.park(for: .ready).meets(.ready))
            #expect(try source.receive() == .bytes)
        }
    }

    @Test func `the last bytes of a body wake when they are whole`() async throws {
        let time = StillTime()
        try await LoopFixture.run(time: time.clock) { fixture in
            let (source, sender) = try fixture.connectedPair()
            defer { source.close() }
            try await gather(source, sender, fixture, wanted: 100_000)
            let slot = source.waits(for: .ready)
            try sender.send([UInt8](repeating: 1, count: 100_000))
            #expect(await slot.park(for: .ready).meets(.ready))
            var rest = 100_000
            while rest > 0 {
                let count = try drain(source, fixture, wanted: rest).count
                rest -= count
                if count == 0 { _ = await slot.park(for: .ready) }
            }
            // What comes behind it is another message.
            try sender.send("next")
            #expect(await slot.park(for: .ready).meets(.ready))
            #expect(try source.receive() == .bytes)
        }
    }

    /// Sends so much at once that the channel gathers what comes next.
    private func gather(
        _ source: Channel,
        _ sender: PlainSocket,
        _ fixture: isolated LoopFixture,
        wanted: Int = 1 << 20
    ) async throws {
        let slot = source.waits(for: .ready)
        let sending = try HelperThread(name: "test-sender", capacity: 1)
        sending.submit { try? sender.send([UInt8](repeating: 7, count: 1 << 20)) }
        var count = 0
        while count < 1 << 20 {
            let (more, last) = try drain(source, fixture, wanted: wanted)
            count += more
            if count < 1 << 20, last == .blocked { _ = await slot.park(for: .ready) }
        }
        sending.join()
        // Only what is dry can gather.
        #expect(try drain(source, fixture, wanted: wanted) == (0, .blocked))
    }
}
