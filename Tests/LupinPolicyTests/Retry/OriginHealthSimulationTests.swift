// What budget and circuit make of a hundred clients of one host, simulated minute by minute.

import LupinPolicy
import LupinTestKit
import Testing

private let circuit = RetryPolicy.Circuit()

/// A hundred clients that ask ten times a second, under `standard`, waits left out.
private struct Simulation {
    var health = OriginHealth(now: 0)
    var numbers = SeededNumbers(seed: 7)
    var requests = 0
    var attempts = 0
    var delivered = 0
    var refusedByBudget = 0
    var refusedByCircuit = 0
    /// The largest number of attempts in a second.
    var peak = 0
    let policy = RetryPolicy.standard

    /// - Parameters:
    ///   - seconds: Which ones of the simulated time.
    ///   - failing: How likely an attempt fails.
    ///   - hasCircuit: Whether an open circuit stops retries.
    mutating func run(_ seconds: Range<Int>, failing: Double, hasCircuit: Bool = true) {
        for second in seconds {
            let before = attempts
            for i in 0..<1000 {
                let now = UInt64(second) * 1_000_000 + UInt64(i) * 1000
                exchange(now, failing, hasCircuit)
            }
            peak = max(peak, attempts - before)
        }
    }

    private mutating func exchange(_ now: UInt64, _ failing: Double, _ hasCircuit: Bool) {
        health.noteRequest(now)
        requests += 1
        for retry in 0...policy.limit {
            if retry > 0 {
                if hasCircuit, health.isOpen(circuit, now) {
                    refusedByCircuit += 1
                    return
                }
                guard let budget = policy.budget, health.admitRetry(budget, now) == .admitted
                else {
                    refusedByBudget += 1
                    return
                }
            }
            attempts += 1
            let isFailure = numbers.happens(failing)
            health.noteOutcome(isFailure: isFailure, isRetry: retry > 0, begun: now, now)
            if !isFailure {
                delivered += 1
                return
            }
        }
    }
}

struct OriginHealthSimulationTests {
    @Test func `a dead host gets hardly more than its requests`() {
        var simulation = Simulation()
        simulation.run(0..<60, failing: 1)
        // The first ten attempts fail, then one retry every ten seconds.
        #expect(simulation.attempts - simulation.requests <= 10 + 6)
        #expect(simulation.refusedByCircuit > 59000 && simulation.delivered == 0)
        #expect(simulation.health.isOpen(circuit, 60_000_000))
    }

    @Test func `the budget alone bounds what a dead host gets`() {
        var simulation = Simulation()
        simulation.run(0..<20, failing: 1, hasCircuit: false)
        // Ratio 0.2 of the requests, and a floor of 100 in each of two windows.
        #expect(simulation.attempts <= simulation.requests * 12 / 10 + 100 * 2)
        #expect(simulation.attempts > simulation.requests * 11 / 10)
        #expect(simulation.refusedByBudget > 15000)
        // What a window allows may go at once, and the windows of 11 slots follow each other.
        #expect(simulation.peak <= 1000 + 2200)
    }

    @Test func `a flaky host keeps its retries`() {
        var simulation = Simulation()
        simulation.run(0..<60, failing: 0.1)
        #expect(simulation.refusedByCircuit == 0 && simulation.refusedByBudget < 60)
        // One in a thousand fails three times.
        #expect(simulation.delivered > simulation.requests * 998 / 1000)
    }

    @Test func `after recovery the first success closes the circuit`() {
        var simulation = Simulation()
        simulation.run(0..<10, failing: 1)
        #expect(simulation.health.isOpen(circuit, 10_000_000))
        let attempts = simulation.attempts
        simulation.run(10..<11, failing: 0)
        #expect(
            !simulation.health.isOpen(circuit, 11_000_000) && simulation.health.failuresInRow == 0
        )
        #expect(simulation.attempts - attempts == 1000)
        let refused = simulation.refusedByCircuit
        simulation.run(11..<30, failing: 0.1)
        #expect(simulation.refusedByCircuit == refused)
    }
}
