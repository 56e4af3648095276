// What a loop's clock and its life mean to those who use it.
import LupinIO
import LupinTestKit
import Testing

struct EventLoopTests {
    @Test(
        arguments: [
            (.zero, 0), (.microseconds(1), 1), (.nanoseconds(1999), 1),
            (.milliseconds(250), 250_000),
            (.seconds(7200), 7_200_000_000), (.seconds(-1), 0), (.milliseconds(-1), 0),
            (.seconds(Int64.max), .max), (.seconds(10_000_000_000_000), .max),
        ] as [(Duration, UInt64)]
    )
    func `a duration has so many microseconds`(duration: Duration, microseconds: UInt64) {
        #expect(duration.microseconds == microseconds)
    }

    @Test func `a deadline beyond all time is the last moment there is`() throws {
        let loop = try EventLoop(executor: LoopExecutor())
        #expect(loop.deadline(in: .seconds(Int64.max)) == .max)
        #expect(loop.deadline(in: .seconds(1)) == loop.now + 1_000_000)
    }

    @Test func `a loop reads a test's clock and no other`() async throws {
        let clock = VirtualClock()
        let fixture = try LoopFixture(clock: clock)
        defer { fixture.stop() }
        let begin = try await fixture.run { $0.loop.now }
        #expect(begin == clock.now)
        try clock.advance(by: .seconds(3600))
        let later = try await fixture.run { $0.loop.now }
        #expect(later == clock.now)
        #expect(later >= begin + 3_600_000_000 && later <= begin + 3_600_010_000)
    }

    @Test func `a clock moves several loops together`() async throws {
        let clock = VirtualClock()
        let fixtures = try (0..<3).map { _ in try LoopFixture(clock: clock) }
        defer { for fixture in fixtures { fixture.stop() } }
        let events = EventLog()
        for fixture in fixtures {
            _ = fixture.launch { fixture in
                let slot = ParkingSlot(on: fixture.loop)
                let deadline = fixture.loop.deadline(in: .seconds(60))
                events.note("parks")
                _ = await slot.park(for: .ready, until: deadline)
                events.note("wakes")
            }
        }
        #expect(events.wait(for: 3).count == 3)
        try clock.advance(by: .seconds(60))
        // No waiting: `advance` returns when all have run.
        #expect(events.all.count { $0 == "wakes" } == 3)
    }

    @Test func `a real clock's timer ends a wait`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let deadline = fixture.loop.deadline(in: .milliseconds(5))
            #expect(await slot.park(for: .ready, until: deadline) == .timedOut)
            #expect(fixture.loop.now >= deadline)
        }
    }

    @Test func `work before a wait runs once, when no task has anything to do`() async throws {
        let events = EventLog()
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        try await fixture.run { fixture in
            let loop = fixture.loop
            loop.beforeWait {
                events.note("first")
                loop.beforeWait { events.note("asked for in work") }
            }
            loop.beforeWait { events.note("second") }
            events.note("asked")
            // A task that is ready goes first.
            await Task.yield()
            events.note("resumed")
        }
        let words = ["asked", "resumed", "first", "second", "asked for in work"]
        #expect(events.wait(for: 5) == words)
        _ = try await fixture.run { $0.loop.now }
        #expect(events.all == words)
    }

    @Test func `a thread ends with its loop`() throws {
        for _ in 0..<20 {
            let thread = try LoopThread(name: "test-loop")
            let bell = Bell()
            thread.executor.mailbox.post { bell.ring() }
            #expect(bell.wait())
            thread.stop()
        }
    }
}
