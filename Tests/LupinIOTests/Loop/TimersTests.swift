// When the wheel hands out which slots: never early, at most a tick late, filed anew lazily.
import LupinIO
import Testing

struct TimersTests {
    private static let tick = TimerWheel.tickMicroseconds
    private static let round = tick * UInt64(TimerWheel.bucketCount)

    private let loop: EventLoop
    /// A start in the middle of a tick and of a round.
    private let start: UInt64 = 1_000_000_007

    init() throws {
        loop = try EventLoop(executor: LoopExecutor())
    }

    private func slot(due deadline: UInt64) -> ParkingSlot {
        let slot = ParkingSlot(on: loop)
        slot.deadline = deadline
        return slot
    }

    /// Steps like a loop does, and says when `slot` was handed out.
    private func whenDue(_ slot: ParkingSlot, in wheel: TimerWheel) -> (
        at: UInt64, waits: Int
    )? {
        var now = start
        for waits in 0..<100 {
            if wheel.advance(to: now).contains(where: { $0 === slot }) { return (now, waits) }
            let wait = wheel.millisecondsToNext(from: now)
            guard wait >= 0 else { return nil }
            now += UInt64(wait) * 1000
        }
        return nil
    }

    @Test(
        arguments: [
            0, 1, 999, 1000, 8191, 8192, 8193, 500_000, 15_999_999, 16_769_023, 16_769_024,
            16_777_215, 16_777_216, 16_785_408, 16_785_409, 60_000_000, 7_200_000_000,
        ] as [UInt64]
    )
    func `a slot is woken after its deadline and at most a tick and a millisecond late`(
        delay: UInt64
    ) throws {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: start + delay)
        wheel.file(slot)
        let due = try #require(whenDueLong(slot, delay: delay, in: wheel))
        #expect(due >= slot.deadline)
        #expect(due <= slot.deadline + Self.tick + 1000)
    }

    /// As `whenDue`, for as many rounds as `delay` has.
    private func whenDueLong(
        _ slot: ParkingSlot,
        delay: UInt64,
        in wheel: TimerWheel
    ) -> UInt64? {
        var now = start
        for _ in 0..<(delay / Self.round + 3) * 2 {
            if wheel.advance(to: now).contains(where: { $0 === slot }) { return now }
            let wait = wheel.millisecondsToNext(from: now)
            guard wait >= 0 else { return nil }
            now += UInt64(wait) * 1000
        }
        return nil
    }

    @Test func `an empty wheel has nothing to wait for`() {
        let wheel = TimerWheel(now: start)
        #expect(wheel.millisecondsToNext(from: start) == -1)
        let slot = slot(due: start + 1000)
        wheel.file(slot)
        #expect(wheel.millisecondsToNext(from: start) >= 1)
        wheel.remove(slot)
        #expect(wheel.millisecondsToNext(from: start) == -1)
        #expect(wheel.advance(to: start + Self.round).isEmpty)
    }

    @Test func `a deadline that moves out is filed anew only when the old one comes round`() throws
    {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: start + 100_000)
        wheel.file(slot)
        let firstWait = wheel.millisecondsToNext(from: start)
        slot.deadline = start + 3_000_000
        wheel.file(slot)
        #expect(wheel.millisecondsToNext(from: start) == firstWait)
        let (at, waits) = try #require(whenDue(slot, in: wheel))
        #expect(at >= slot.deadline && at <= slot.deadline + Self.tick + 1000)
        #expect(waits == 2)
    }

    @Test func `a deadline that moves in is filed anew at once`() throws {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: start + 3_000_000)
        wheel.file(slot)
        slot.deadline = start + 100_000
        wheel.file(slot)
        let (at, waits) = try #require(whenDue(slot, in: wheel))
        #expect(at <= slot.deadline + Self.tick + 1000)
        #expect(waits == 1)
        #expect(wheel.millisecondsToNext(from: at) == -1)
    }

    @Test func `a slot whose deadline was taken back is dropped silently`() {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: start + 50_000)
        wheel.file(slot)
        slot.deadline = .max
        #expect(wheel.advance(to: start + 200_000).isEmpty)
        #expect(wheel.millisecondsToNext(from: start + 200_000) == -1)
    }

    @Test func `a deadline of the past is due with the next tick`() {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: 5)
        wheel.file(slot)
        #expect(wheel.millisecondsToNext(from: start) <= 9)
        #expect(wheel.advance(to: start + Self.tick).count == 1)
    }

    @Test func `removing one of a bucket leaves the others`() {
        for removed in 0..<3 {
            let wheel = TimerWheel(now: start)
            let slots = (0..<3).map { _ in slot(due: start + 20_000) }
            for slot in slots { wheel.file(slot) }
            wheel.remove(slots[removed])
            wheel.remove(slots[removed])
            // Removing the one that was moved into the gap must find it there.
            wheel.remove(slots[2 - removed / 2 * 2])
            let due = wheel.advance(to: start + 40_000)
            let kept = slots.indices.filter { $0 != removed && $0 != 2 - removed / 2 * 2 }
            #expect(due.count == kept.count)
            #expect(kept.allSatisfy { i in due.contains { $0 === slots[i] } })
        }
    }

    @Test func `thousands of slots are each handed out once and in time`() {
        let wheel = TimerWheel(now: start)
        var random = SystemRandomNumberGenerator()
        let slots = (0..<5000).map { _ in
            slot(due: start + UInt64.random(in: 0..<40_000_000, using: &random))
        }
        for slot in slots { wheel.file(slot) }
        for slot in slots.prefix(500) { wheel.remove(slot) }
        var now = start
        var handedOut: Set<ObjectIdentifier> = []
        while case let wait = wheel.millisecondsToNext(from: now), wait >= 0 {
            now += UInt64(wait) * 1000
            for slot in wheel.advance(to: now) {
                guard slot.deadline <= now, now - slot.deadline <= Self.tick + 1000 else {
                    Issue.record("due \(slot.deadline), handed out at \(now)")
                    continue
                }
                #expect(handedOut.insert(ObjectIdentifier(slot)).inserted)
            }
        }
        #expect(handedOut == Set(slots.dropFirst(500).map(ObjectIdentifier.init)))
    }

    @Test(arguments: [1, 2, 5] as [UInt64])
    func `a loop that slept for whole rounds misses nobody`(rounds: UInt64) {
        let wheel = TimerWheel(now: start)
        let near = (1...50).map { slot(due: start + $0 * 300_000) }
        let far = slot(due: start + rounds * Self.round + 10 * Self.tick)
        for slot in near { wheel.file(slot) }
        wheel.file(far)
        #expect(wheel.advance(to: start + rounds * Self.round).count == near.count)
        #expect(wheel.advance(to: far.deadline + Self.tick).count == 1)
    }

    @Test func `time that stands still hands out nobody`() {
        let wheel = TimerWheel(now: start)
        let slot = slot(due: start)
        wheel.file(slot)
        #expect(wheel.advance(to: start).isEmpty)
        #expect(wheel.advance(to: start - 1000).isEmpty)
    }
}
