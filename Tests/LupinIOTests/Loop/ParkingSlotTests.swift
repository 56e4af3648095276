// What a parked task wakes for, what it finds, and what it does not lose while it runs.
import LupinIO
import LupinTestKit
import Testing

struct ParkingSlotTests {
    @Test func `a reason that came while the task ran ends the next wait at once`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            slot.wake(.upstreamReadable)
            slot.wake(.downstreamClosed)
            #expect(await slot.park(for: .upstreamReadable) == .upstreamReadable)
            #expect(slot.has(.downstreamClosed))
            #expect(!slot.has(.upstreamReadable))
            #expect(await slot.park(for: [.downstreamClosed, .cut]) == .downstreamClosed)
            #expect(!slot.has(.downstreamClosed))
        }
    }

    @Test func `only an awaited reason resumes the task and the others are kept`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            var found: WakeReasons?
            let task = fixture.start { found = await slot.park(for: .answered) }
            await fixture.settle()
            slot.wake(.upstreamReadable)
            await fixture.settle()
            #expect(found == nil)
            slot.wake(.answered)
            try await task.value
            #expect(found == .answered)
            #expect(slot.has(.upstreamReadable))
        }
    }

    @Test func `several reasons of one batch come together and resume once`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            var found: WakeReasons = []
            let both: WakeReasons = [.relayEnded, .downstreamClosed]
            let task = fixture.start { found = await slot.park(for: both) }
            await fixture.settle()
            slot.wake(.relayEnded)
            slot.wake(.downstreamClosed)
            slot.wake(.relayEnded)
            try await task.value
            #expect(found == both)
            #expect(!slot.has(both))
        }
    }

    @Test func `a wake between a task's start and its first wait is not lost`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            // Such a task runs up to its first hop at once and goes on from the loop's queue.
            let task = Task.immediate(executorPreference: fixture.executor) {
                _ = fixture
                return await slot.park(for: .ready)
            }
            slot.wake(.ready)
            #expect(await task.value == .ready)
            let other = ParkingSlot(on: fixture.loop)
            let park = { await other.park(for: .answered) }
            let second = Task.immediate(executorPreference: fixture.executor) { await park() }
            other.wake(.answered)
            #expect(await second.value == .answered)
        }
    }

    @Test func `a forgotten reason does not end a wait`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            slot.wake([.ready, .answered])
            slot.forget(.ready)
            #expect(await slot.park(for: [.ready, .answered]) == .answered)
        }
    }

    @Test func `a wait ends when the time is up and not before`() async throws {
        let clock = VirtualClock()
        let fixture = try LoopFixture(clock: clock)
        defer { fixture.stop() }
        let events = EventLog()
        let waiting = fixture.launch { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            events.note("parks")
            let woken = await slot.park(
                for: .ready,
                until: fixture.loop.deadline(in: .seconds(30))
            )
            events.note(woken == .timedOut ? "timed out" : "woken")
        }
        #expect(events.wait(for: 1) == ["parks"])
        try clock.advance(by: .milliseconds(29_900))
        #expect(events.all == ["parks"])
        try clock.advance(by: .milliseconds(100))
        #expect(events.all == ["parks", "timed out"])
        try await waiting.value
    }

    @Test func `a deadline that a relay extends is the one that counts`() async throws {
        let clock = VirtualClock()
        let fixture = try LoopFixture(clock: clock)
        defer { fixture.stop() }
        try await fixture.run { fixture in
            let loop = fixture.loop
            let slot = ParkingSlot(on: loop)
            let end = loop.deadline(in: .seconds(20))
            let task = fixture.start {
                _ = await slot.park(for: .ready, until: fixture.loop.deadline(in: .seconds(1)))
                return fixture.loop.now
            }
            await fixture.settle()
            slot.extend(to: end)
            for _ in 0..<25 {
                try clock.advance(by: .seconds(1))
                await fixture.settle()
            }
            #expect(try await task.value >= end)
        }
    }

    @Test func `extending the deadline of a task that runs does not end its next wait`()
        async throws
    {
        let clock = VirtualClock()
        let fixture = try LoopFixture(clock: clock)
        defer { fixture.stop() }
        try await fixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            slot.extend(to: fixture.loop.deadline(in: .seconds(1)))
            for _ in 0..<3 {
                try clock.advance(by: .seconds(1))
                await fixture.settle()
            }
            #expect(!slot.has(.timedOut))
        }
    }

    @Test func `a wait that an event ended leaves no deadline behind`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let loop = fixture.loop
            let slot = ParkingSlot(on: loop)
            let task = fixture.start {
                await slot.park(for: .ready, until: loop.deadline(in: .seconds(1)))
            }
            await fixture.settle()
            slot.wake(.ready)
            #expect(try await task.value == .ready)
            for _ in 0..<3 {
                try clock.advance(by: .seconds(1))
                await fixture.settle()
            }
            #expect(!slot.has(.timedOut))
        }
    }
}
