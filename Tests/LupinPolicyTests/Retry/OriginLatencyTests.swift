// Whether a host's slowest responses are known, of late and by a few bytes.

import LupinPolicy
import Testing

struct OriginLatencyTests {
    private let second: UInt64 = 1_000_000

    private func health(_ times: some Sequence<UInt64>, now: UInt64 = 1_000_000) -> OriginHealth {
        var health = OriginHealth(now: now)
        for time in times { health.noteResponse(afterMicroseconds: time, now) }
        return health
    }

    @Test func `fewer than twenty responses say nothing`() {
        #expect(health(repeatElement(5000, count: 19)).percentile95(second) == nil)
        #expect(health(repeatElement(5000, count: 20)).percentile95(second) != nil)
    }

    @Test func `any time from a millisecond to five minutes is known within a tenth`() throws {
        var time: UInt64 = 1024
        while time <= 300_000_000 {
            let known = try #require(
                health(repeatElement(time, count: 20)).percentile95(second)
            )
            let share = known / .microseconds(Int64(time))
            if abs(share - 1) > 0.0625 { Issue.record("\(known) for \(time)") }
            time += time / 37 + 1
        }
    }

    @Test(arguments: [0, 1, 1000, 1023, UInt64.max, 600_000_000])
    func `what lies outside counts as the nearest`(time: UInt64) throws {
        let known = try #require(health(repeatElement(time, count: 20)).percentile95(second))
        #expect(known < .milliseconds(1.2) || known > .seconds(300))
    }

    @Test func `five of a hundred may be slower`() throws {
        let quick = repeatElement(UInt64(10000), count: 95)
        let slow = repeatElement(UInt64(2_000_000), count: 5)
        let fine = try #require(health(Array(quick) + slow).percentile95(second))
        #expect(fine < .milliseconds(11))
        let late = try #require(health(Array(quick.dropLast()) + slow).percentile95(second))
        #expect(late > .milliseconds(1800))
    }

    @Test func `a quiet host is forgotten`() {
        let known = health(repeatElement(5000, count: 40), now: 7 * second)
        #expect(known.percentile95(36 * second) != nil)
        // Half the weight, then a quarter.
        #expect(known.percentile95(59 * second) != nil)
        #expect(known.percentile95(91 * second) == nil)
        #expect(known.percentile95(.max) == nil)
    }

    @Test func `a change shows within a few thousand responses or a minute`() throws {
        var busy = health(repeatElement(5000, count: 5000))
        for _ in 0..<150 { busy.noteResponse(afterMicroseconds: 900_000, second) }
        let worse = try #require(busy.percentile95(second))
        #expect(worse > .milliseconds(800))
        for _ in 0..<5000 { busy.noteResponse(afterMicroseconds: 5000, second) }
        let better = try #require(busy.percentile95(second))
        #expect(better < .milliseconds(6))

        var quiet = health(repeatElement(5000, count: 900))
        for i in 0..<60 {
            quiet.noteResponse(afterMicroseconds: 900_000, second * UInt64(2 + i))
        }
        let later = try #require(quiet.percentile95(61 * second))
        #expect(later > .milliseconds(800))
    }
}
