// How many bytes a rate lets go: exactly as many, however they are asked for.

import LupinPolicy
import Testing

struct TokenBucketTests {
    /// A generator with a seed, so that a failure comes again.
    private struct Numbers {
        var state: UInt64

        mutating func next(below bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 11) % max(bound, 1)
        }
    }

    private static let rates = [1, 3, 7, 999, 65536, 1_000_003, 5 << 20, 1 << 30, 1 << 40]

    // MARK: Exactness

    @Test(arguments: rates)
    func `after the burst exactly the rate goes, without drift`(rate: Int) {
        var bucket = TokenBucket(bytesPerSecond: rate, burst: rate, now: 5)
        #expect(bucket.take(upTo: .max, now: 5) == rate)
        #expect(bucket.take(upTo: .max, now: 5) == 0)
        // Steps that no rate divides; after them the seconds are whole.
        var now: UInt64 = 5
        var taken = 0
        for step: UInt64 in [1, 2, 3, 333_333, 7, 666_654] {
            now += step
            taken += bucket.take(upTo: .max, now: now)
        }
        for _ in 0..<99 {
            now += 1_000_000
            taken += bucket.take(upTo: .max, now: now)
        }
        #expect(now == 5 + 100 * 1_000_000)
        #expect(taken == 100 * rate)
    }

    @Test(arguments: rates, [true, false])
    func `in no window go more bytes than rate and burst allow`(rate: Int, isGreedy: Bool) {
        var numbers = Numbers(state: UInt64(rate))
        // With a burst of a microsecond the greedy one takes all that there ever is.
        let smallest = isGreedy ? max(1, rate / 1_000_000) : nil
        var bucket = TokenBucket(bytesPerSecond: rate, burst: smallest, now: 0)
        let burst = bucket.burst
        var now: UInt64 = 0
        var taken: [(time: UInt64, bytes: Int)] = []
        for _ in 0..<150 {
            let isLong = numbers.next(below: 4) == 0
            now += isGreedy ? 1 : numbers.next(below: isLong ? 3_000_000 : 3000)
            let wanted = isGreedy ? Int.max : Int(numbers.next(below: UInt64(burst) * 2))
            let granted = bucket.take(upTo: wanted, now: now)
            #expect(granted <= wanted)
            let unused = isGreedy ? 0 : Int(numbers.next(below: UInt64(granted) + 1))
            bucket.giveBack(unused)
            taken.append((now, granted - unused))
        }
        for start in taken.indices {
            var bytes = 0
            for end in start..<taken.count {
                bytes += taken[end].bytes
                let time = Double(taken[end].time - taken[start].time) / 1e6
                // Half a byte is for the Double, not for the bucket.
                #expect(Double(bytes) <= Double(rate) * time * (1 + 1e-12) + Double(burst) + 0.5)
            }
        }
    }

    // MARK: Waiting

    @Test(arguments: rates)
    func `the next moment is the first at which a quantum may go`(rate: Int) {
        var bucket = TokenBucket(bytesPerSecond: rate, now: 0)
        #expect(bucket.nextAvailable(9) == 9)
        _ = bucket.take(upTo: .max, now: 10)
        let quantum = bucket.quantum
        #expect((1...(64 << 10)).contains(quantum))
        let moment = bucket.nextAvailable(10)
        #expect(moment > 10)
        var early = bucket
        #expect(early.take(upTo: quantum, now: moment - 1) < quantum)
        #expect(bucket.take(upTo: quantum, now: moment) == quantum)
    }

    @Test func `a slow rate lets bytes go one by one`() {
        var bucket = TokenBucket(bytesPerSecond: 1, burst: 1, now: 0)
        #expect(bucket.take(upTo: 10, now: 0) == 1)
        #expect(bucket.nextAvailable(0) == 1_000_000)
        #expect(bucket.take(upTo: 10, now: 999_999) == 0)
        #expect(bucket.nextAvailable(999_999) == 1_000_000)
        #expect(bucket.take(upTo: 10, now: 1_000_000) == 1)
    }

    // MARK: Edges

    @Test func `the burst is a tenth of a second and at least one buffer`() {
        #expect(TokenBucket(bytesPerSecond: 1, now: 0).burst == 65536)
        #expect(TokenBucket(bytesPerSecond: 10 << 20, now: 0).burst == 1 << 20)
        #expect(TokenBucket(bytesPerSecond: 9, burst: 0, now: 0).burst == 1)
        #expect(TokenBucket(bytesPerSecond: 9, burst: .max, now: 0).burst == TokenBucket.rateMax)
        #expect(TokenBucket(bytesPerSecond: .max, now: 0).bytesPerSecond == TokenBucket.rateMax)
        #expect(TokenBucket(bytesPerSecond: .min, now: 0).bytesPerSecond == 1)
    }

    @Test(arguments: rates)
    func `no time is too long, and none goes back`(rate: Int) {
        var bucket = TokenBucket(bytesPerSecond: rate, now: 1000)
        let burst = bucket.burst
        #expect(bucket.take(upTo: .max, now: 1000) == burst)
        #expect(bucket.take(upTo: .max, now: 0) == 0)
        let moment = bucket.nextAvailable(0)
        #expect(bucket.take(upTo: .max, now: 1000) == 0)
        #expect(bucket.nextAvailable(1000) == moment)
        #expect(bucket.take(upTo: .max, now: .max) == burst)
        #expect(bucket.nextAvailable(.max) == .max)
        #expect(bucket.take(upTo: -5, now: .max) == 0)
    }

    @Test func `what is given back may go later, and never makes more than the burst`() {
        var bucket = TokenBucket(bytesPerSecond: 100, burst: 10, now: 0)
        #expect(bucket.take(upTo: 8, now: 0) == 8)
        bucket.giveBack(5)
        #expect(bucket.take(upTo: 100, now: 0) == 7)
        bucket.giveBack(.max)
        bucket.giveBack(-3)
        #expect(bucket.take(upTo: 100, now: 0) == 10)
    }

    // MARK: Settings

    @Test func `throttles merge leaf by leaf, and none lifts one`() {
        var settings = ThrottleSettings()
        #expect(settings.isEmpty)
        settings.merge(ThrottleOverrides(down: .some(5)))
        settings.merge(ThrottleOverrides(up: .some(7)))
        #expect(settings == ThrottleSettings(up: 7, down: 5))
        settings.merge(ThrottleOverrides(down: .some(nil)))
        settings.merge(ThrottleOverrides())
        #expect(settings == ThrottleSettings(up: 7))
        settings.merge(.none)
        #expect(settings.isEmpty)
        var overrides = ThrottleOverrides(up: .some(1))
        overrides.merge(ThrottleOverrides(down: .some(nil)))
        #expect(overrides == ThrottleOverrides(up: .some(1), down: .some(nil)))
        #expect(ThrottleOverrides().isEmpty && !ThrottleOverrides.none.isEmpty)
    }
}
