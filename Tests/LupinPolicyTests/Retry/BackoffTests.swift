// Whether waits grow as Alamofire's do, stay below their cap, and are spread.

import LupinPolicy
import LupinTestKit
import Testing

struct BackoffTests {
    private func backoff(
        _ jitter: Backoff.Jitter,
        base: Double = 2,
        scale: Duration = .milliseconds(500),
        max: Duration = .seconds(10)
    ) -> Backoff {
        var backoff = Backoff()
        backoff.base = base
        backoff.scale = scale
        backoff.max = max
        backoff.jitter = jitter
        return backoff
    }

    private func waits(_ backoff: Backoff, _ count: Int) -> [Duration] {
        (0..<count).map { backoff.delay(retry: $0, previous: .zero, chance: .max) }
    }

    @Test func `without jitter the waits are Alamofire's`() {
        let milliseconds = [500, 1000, 2000, 4000, 8000, 10000, 10000]
        #expect(waits(backoff(.none), 7) == milliseconds.map { .milliseconds($0) })
        #expect(
            waits(backoff(.none, base: 3, max: .seconds(100)), 4)
                == [500, 1500, 4500, 13500].map { .milliseconds($0) }
        )
    }

    @Test func `a base of one waits always the same`() {
        let constant = backoff(.none, base: 1, scale: .seconds(10), max: .seconds(60))
        #expect(waits(constant, 5) == Array(repeating: .seconds(10), count: 5))
        #expect(constant.delay(retry: .max, previous: .zero, chance: 0) == .seconds(10))
    }

    @Test func `a scale above the cap is the cap`() {
        let capped = backoff(.none, scale: .seconds(30))
        #expect(waits(capped, 3) == Array(repeating: .seconds(10), count: 3))
    }

    @Test(arguments: [(0, 500), (1, 1000), (3, 4000), (6, 10000), (1000, 10000)])
    func `full jitter spreads evenly from nothing to the whole wait`(retry: Int, whole: Int64) {
        let spread = backoff(.full)
        var numbers = SeededNumbers(seed: UInt64(retry))
        var tenths = [Int](repeating: 0, count: 10)
        for _ in 0..<5000 {
            let wait = spread.delay(retry: retry, previous: .zero, chance: numbers.next())
            let share = wait / .milliseconds(whole)
            guard share >= 0, share <= 1 else {
                Issue.record("\(wait) of \(whole) ms")
                return
            }
            tenths[min(Int(share * 10), 9)] += 1
        }
        // 500 expected; 150 are seven standard deviations.
        #expect(tenths.allSatisfy { abs($0 - 500) < 150 }, "\(tenths)")
        #expect(spread.delay(retry: retry, previous: .zero, chance: 0) == .zero)
    }

    @Test func `decorrelated waits lie between the scale and three times the last one`() {
        let walk = backoff(.decorrelated)
        var numbers = SeededNumbers(seed: 3)
        #expect(walk.delay(retry: 0, previous: .zero, chance: .max) == .milliseconds(500))
        var previous = Duration.milliseconds(500)
        var largest = Duration.zero
        for retry in 1...2000 {
            let wait = walk.delay(retry: retry, previous: previous, chance: numbers.next())
            let highest = min(max(previous * 3, .milliseconds(500)), .seconds(10))
            if wait < .milliseconds(500) || wait > highest { Issue.record("\(wait)") }
            largest = max(largest, wait)
            previous = wait
        }
        #expect(largest > .seconds(9))
        #expect(walk.delay(retry: 1, previous: .seconds(2), chance: 0) == .milliseconds(500))
    }

    @Test(arguments: Backoff.Jitter.allCases)
    func `no number is too large`(jitter: Backoff.Jitter) {
        let huge = Duration(secondsComponent: .max, attosecondsComponent: 0)
        let tiny = Duration(secondsComponent: .min, attosecondsComponent: 0)
        for base in [0, 1, 1.000_001, 2, 1e300, .infinity, .nan, -1] {
            for scale in [Duration.zero, .nanoseconds(1), .milliseconds(500), huge, tiny] {
                for max in [Duration.zero, .seconds(10), huge, tiny] {
                    let backoff = backoff(jitter, base: base, scale: scale, max: max)
                    for retry in [Int.min, -1, 0, 1, 63, 64, 1_000_000, .max] {
                        for previous in [tiny, .zero, huge] {
                            let wait = backoff.delay(
                                retry: retry,
                                previous: previous,
                                chance: .max
                            )
                            if wait < .zero || wait > Swift.max(max, .zero) {
                                Issue.record("\(wait) with \(backoff)")
                            }
                        }
                    }
                }
            }
        }
    }
}
