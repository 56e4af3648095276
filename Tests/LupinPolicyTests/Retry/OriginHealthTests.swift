// Whether a sick host is spared and a flaky one keeps its retries.

import LupinPolicy
import LupinTestKit
import Testing

private let circuit = RetryPolicy.Circuit()

struct OriginHealthTests {
    @Test func `attempts that were under way together are one failure in the row`() {
        var health = OriginHealth(now: 0)
        // Twenty requests of the same moment, and a hiccup of 50 ms.
        for i in 0..<20 {
            health.noteFailure(begun: UInt64(i), 50_000 + UInt64(i))
        }
        #expect(health.failuresInRow == 1)
        #expect(!health.isOpen(circuit, 50_100))
        // Later ones count again, one after the other.
        for i in 1...9 {
            let begun = UInt64(i) * 100_000
            health.noteFailure(begun: begun, begun + 10)
        }
        #expect(health.failuresInRow == 10 && health.isOpen(circuit, 900_010))
    }

    @Test func `a circuit of a policy opens and closes when it says`() {
        var health = OriginHealth(now: 0)
        var eager = RetryPolicy.Circuit()
        (eager.failures, eager.open) = (2, .milliseconds(100))
        for i in 0..<2 { health.noteFailure(begun: UInt64(i), UInt64(i)) }
        #expect(health.isOpen(eager, 100_001) && !health.isOpen(eager, 100_002))
        #expect(!health.isOpen(circuit, 1))
    }

    private let second: UInt64 = 1_000_000

    private func budget(
        _ window: Duration = .seconds(10),
        ratio: Double = 0.2,
        floor: Int = 10
    ) -> RetryPolicy.Budget {
        var budget = RetryPolicy.Budget()
        budget.window = window
        budget.ratio = ratio
        budget.floor = floor
        return budget
    }

    @Test func `a failure that is none in the row keeps an open circuit open`() {
        var health = OriginHealth(now: 0)
        var circuit = RetryPolicy.Circuit()
        circuit.failures = 2
        for i: UInt64 in 1...2 { health.noteFailure(begun: i, i) }
        // Under way since before the last one that counted, and failed nine seconds later.
        health.noteFailure(begun: 1, 9_000_000)
        #expect(health.failuresInRow == 2)
        #expect(health.isOpen(circuit, 18_000_000))
        #expect(!health.isOpen(circuit, 20_000_000))
    }

    @Test func `it is small`() {
        #expect(MemoryLayout<OriginHealth>.size <= 1024)
    }

    // MARK: The budget

    @Test func `the floor is allowed without any request, and no more`() {
        var health = OriginHealth(now: 0)
        for _ in 0..<10 { #expect(health.admitRetry(budget(), second) == .admitted) }
        #expect(health.admitRetry(budget(), second) == .spent(retries: 10, allowed: 10))
        #expect(health.admitRetry(budget(), 11 * second) == .spent(retries: 10, allowed: 10))
        #expect(health.admitRetry(budget(), 12 * second) == .admitted)
    }

    @Test func `the ratio counts where it gives more than the floor`() {
        var health = OriginHealth(now: 0)
        for i in 0..<100 { health.noteRequest(UInt64(i) * 10000) }
        let answers = (0..<21).map { _ in health.admitRetry(budget(), second) }
        #expect(answers.filter { $0 == .admitted }.count == 20)
        #expect(answers.last == .spent(retries: 20, allowed: 20))
    }

    @Test func `rules with different budgets share what is counted`() {
        var health = OriginHealth(now: 0)
        for _ in 0..<3 { #expect(health.admitRetry(budget(floor: 3), second) == .admitted) }
        #expect(
            health.admitRetry(budget(.seconds(60), floor: 3), second)
                == .spent(retries: 3, allowed: 3)
        )
        #expect(health.admitRetry(budget(.seconds(60), floor: 4), second) == .admitted)
        #expect(health.admitRetry(budget(floor: 4), second) == .spent(retries: 4, allowed: 4))
    }

    @Test(arguments: [1, 2, 3, 4, 10, 15, 16, 30, 60, 61, 120, 300])
    func `a window forgets after its length, by a third later at most`(seconds: Int) {
        let window = budget(.seconds(seconds), ratio: 0, floor: 1)
        let length = UInt64(seconds) * second
        var numbers = SeededNumbers(seed: UInt64(seconds))
        for _ in 0..<50 {
            let start = UInt64.random(in: 0...(1000 * second), using: &numbers)
            var health = OriginHealth(now: start)
            #expect(health.admitRetry(window, start) == .admitted)
            var early = health
            #expect(
                early.admitRetry(window, start + length) == .spent(retries: 1, allowed: 1)
            )
            #expect(health.admitRetry(window, start + length * 4 / 3 + 1) == .admitted)
        }
    }

    @Test func `no number traps`() {
        for now in [UInt64.min, 1, .max] {
            for window in [Duration.zero, .nanoseconds(1), .seconds(1e18), .seconds(-5)] {
                for ratio in [0, -1, 5, .nan, .infinity] {
                    for floor in [Int.min, 0, 1, .max] {
                        var health = OriginHealth(now: .max - now)
                        health.noteRequest(now)
                        health.noteResponse(afterMicroseconds: now, now)
                        health.noteFailure(begun: now, now)
                        _ = health.admitRetry(budget(window, ratio: ratio, floor: floor), now)
                        _ = (
                            health.isOpen(circuit, now), health.percentile95(now),
                            health.isIdle(now: now)
                        )
                    }
                }
            }
        }
    }

    // MARK: The circuit

    @Test func `ten failures in a row stop retries for ten seconds`() {
        var health = OriginHealth(now: 0)
        for i in 1...9 {
            let now = UInt64(i) * second
            health.noteFailure(begun: now, now)
        }
        #expect(!health.isOpen(circuit, 9 * second))
        health.noteFailure(begun: 10 * second, 10 * second)
        #expect(health.isOpen(circuit, 10 * second) && health.isOpen(circuit, 20 * second))
        #expect(!health.isOpen(circuit, 20 * second + 1))
        // The next request is retried, and if that fails, too, the circuit opens anew.
        health.noteFailure(isRetry: false, begun: 30 * second, 30 * second)
        #expect(!health.isOpen(circuit, 30 * second) && health.failuresInRow == 11)
        health.noteFailure(begun: 30 * second, 30 * second)
        #expect(health.isOpen(circuit, 30 * second) && health.isOpen(circuit, 40 * second))
        #expect(!health.isOpen(circuit, 40 * second + 1))
        health.noteOutcome(
            isFailure: false,
            isRetry: false,
            begun: 31 * second,
            31 * second
        )
        #expect(!health.isOpen(circuit, 31 * second) && health.failuresInRow == 0)
    }

    @Test func `first attempts alone open no circuit, one retry that fails does`() {
        var health = OriginHealth(now: 0)
        for i: UInt64 in 1...30 { health.noteFailure(isRetry: false, begun: i, i) }
        #expect(health.failuresInRow == 30 && !health.isOpen(circuit, 31))
        var dead = health
        dead.noteFailure(begun: 32, 32)
        #expect(dead.isOpen(circuit, 32))
        health.noteOutcome(isFailure: false, isRetry: true, begun: 32, 32)
        for i: UInt64 in 33...63 { health.noteFailure(isRetry: false, begun: i, i) }
        #expect(!health.isOpen(circuit, 64))
    }

    @Test func `first attempts that fail don't keep a circuit open`() {
        var health = OriginHealth(now: 0)
        for i: UInt64 in 1...10 { health.noteFailure(begun: i, i) }
        // One a second, and none of them is retried.
        for i: UInt64 in 1...10 {
            health.noteFailure(isRetry: false, begun: i * second, i * second)
            #expect(health.isOpen(circuit, i * second))
        }
        health.noteFailure(isRetry: false, begun: 11 * second, 11 * second)
        #expect(health.failuresInRow == 21 && !health.isOpen(circuit, 11 * second))
    }

    @Test func `a retry that failed long ago opens no circuit`() {
        var health = OriginHealth(now: 0)
        health.noteFailure(begun: 1, 1)
        for i: UInt64 in 1...20 {
            health.noteFailure(isRetry: false, begun: i * 60 * second, i * 60 * second)
            #expect(!health.isOpen(circuit, i * 60 * second))
        }
    }

    @Test func `nine failures and a success are no reason`() {
        var health = OriginHealth(now: 0)
        for i in 0..<1000 {
            health.noteOutcome(
                isFailure: i % 10 != 9,
                isRetry: true,
                begun: UInt64(i),
                UInt64(i)
            )
            if health.isOpen(circuit, UInt64(i)) { Issue.record("open after \(i)") }
        }
    }

    @Test func `a clock that goes back is taken for the latest moment`() {
        var health = OriginHealth(now: 100 * second)
        for _ in 0..<10 { health.noteFailure(begun: 50 * second, 50 * second) }
        #expect(health.isOpen(circuit, 50 * second) && health.isOpen(circuit, 110 * second))
        for _ in 0..<10 { #expect(health.admitRetry(budget(), 60 * second) == .admitted) }
        #expect(health.admitRetry(budget(), 60 * second) == .spent(retries: 10, allowed: 10))
    }

    @Test func `a host that nobody asks for is idle`() {
        var health = OriginHealth(now: second)
        #expect(!health.isIdle(now: second) && !health.isIdle(now: 321 * second))
        #expect(health.isIdle(now: 321 * second + 1))
        health.noteRequest(400 * second)
        #expect(!health.isIdle(now: 700 * second) && !health.isIdle(now: 0))
    }

    @Test func `its figures are those by which policies decide, and count nothing`() {
        var health = OriginHealth(now: 0)
        let window = Duration.seconds(10)
        for _ in 0..<3 { health.noteRequest(1_000_000) }
        _ = health.admitRetry(RetryPolicy.Budget(), 1_500_000)
        health.noteOutcome(isFailure: true, isRetry: false, begun: 1_000_000, 1_100_000)
        health.noteOutcome(isFailure: true, isRetry: true, begun: 1_500_000, 2_000_000)
        for _ in 0..<2 {
            let figures = health.figures(window: window, 3_000_000)
            #expect(figures.requests == 3 && figures.retries == 1)
            #expect(figures.failuresInRow == 2 && figures.hasFailedRetry)
            #expect(figures.sinceFailure == 1_000_000)
        }
        health.noteOutcome(isFailure: false, isRetry: false, begun: 3_000_000, 3_100_000)
        let figures = health.figures(window: window, 4_000_000)
        #expect(figures.failuresInRow == 0 && !figures.hasFailedRetry)
        #expect(figures.sinceFailure == nil)
        #expect(RetryPolicy.Budget().allowed(for: 1000) == 200)
        #expect(RetryPolicy.Budget().allowed(for: 3) == 100)
    }
}

extension OriginHealth {
    fileprivate mutating func noteFailure(isRetry: Bool = true, begun: UInt64, _ now: UInt64) {
        noteOutcome(isFailure: true, isRetry: isRetry, begun: begun, now)
    }
}
