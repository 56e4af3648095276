// What is known lately of one host: whether retries make sense there, and how quick it is.

/// The health of one host, as far as the requests to it tell.
///
/// It has a fixed size and allocates nothing. All moments are microseconds of a clock that never
/// goes back; one that does is taken for the latest moment known.
package struct OriginHealth: Sendable {
    /// After so long a silence nothing that is kept says anything any more, microseconds: the
    /// longest window of a budget, or time of a circuit, and its last slot.
    package static let idleAfter: UInt64 = 320_000_000

    private var counts = RetryCounts()
    private var latencies = LatencyHistogram()
    /// The last failure that counted as another in the row.
    private var lastCounted: UInt64 = 0
    /// The last one of all, which keeps the circuit open.
    private var lastFailure: UInt64 = 0
    private var lastUse: UInt64
    /// Failures since the last success.
    package private(set) var failuresInRow: UInt32 = 0

    /// A host of which nothing is known.
    package init(now: UInt64) { lastUse = now }

    /// Whether nothing has happened for so long that the value may be dropped.
    package func isIdle(now: UInt64) -> Bool {
        now.elapsed(since: lastUse) > OriginHealth.idleAfter
    }

    private mutating func use(_ now: UInt64) -> UInt64 {
        lastUse = max(lastUse, now)
        return lastUse
    }
}

// MARK: The budget

/// Whether a budget has something left for a retry.
package enum BudgetAnswer: Sendable, Equatable {
    /// It may be made, and is counted.
    case admitted
    /// It may not: so many were made in the window, and no more than so many are allowed.
    case spent(retries: Int, allowed: Int)
}

extension OriginHealth {
    /// A request of a client goes to the host; its retries are not requests.
    package mutating func noteRequest(_ now: UInt64) { counts.addRequest(use(now)) }

    /// Asks for a retry or a hedge, and counts it where it is allowed.
    ///
    /// Allowed are so many in a window as `floor` says, or as `ratio` says of the requests in it,
    /// whichever is more. What counts as the window is never shorter than the one that is asked
    /// for, and longer by at most a third (see `RetryCounts`).
    package mutating func admitRetry(
        _ budget: RetryPolicy.Budget,
        _ now: UInt64
    ) -> BudgetAnswer {
        let now = use(now)
        let (requests, retries) = counts.sums(window: budget.window, now)
        // The file has nothing but 0 to 1; whatever else it is must be a number.
        let ratio = budget.ratio > 0 ? min(budget.ratio, 1) : 0
        let allowed = max(budget.floor, Int(Double(requests) * ratio), 0)
        guard retries < allowed else { return .spent(retries: retries, allowed: allowed) }
        counts.addRetry(now)
        return .admitted
    }
}

// MARK: The circuit

extension OriginHealth {
    /// An attempt that began at `begun` has ended; what counts as a failure is the caller's to say.
    ///
    /// Attempts that are under way together fail together: only one that began after the last
    /// counted failure is another in the row, so a short hiccup under load is one failure. Any
    /// failure keeps an open circuit open.
    ///
    /// One success is enough to forget all failures: requests themselves go on whatever is known
    /// of the host, so they are the probes, and no state between open and closed is needed.
    package mutating func noteOutcome(isFailure: Bool, begun: UInt64, _ now: UInt64) {
        // Of a clock that went back nothing can be told but that it is later than all before.
        let isClockBack = now < lastUse
        let now = use(now)
        guard isFailure else {
            failuresInRow = 0
            return
        }
        lastFailure = now
        if failuresInRow > 0, begun < lastCounted, !isClockBack { return }
        failuresInRow = failuresInRow == .max ? .max : failuresInRow + 1
        lastCounted = now
    }

    /// Whether retries are of no use now: nothing but failures, many of them, the last one lately.
    package func isOpen(_ circuit: RetryPolicy.Circuit, _ now: UInt64) -> Bool {
        failuresInRow >= UInt32(clamping: circuit.failures)
            && now.elapsed(since: lastFailure) <= circuit.openMicroseconds
    }
}

// MARK: Latency

extension OriginHealth {
    /// A response's head came so long after its attempt began.
    package mutating func noteResponse(afterMicroseconds time: UInt64, _ now: UInt64) {
        latencies.add(time, use(now))
    }

    /// The time in which 95 of 100 heads came lately; nil with fewer than 20 of them.
    package func percentile95(_ now: UInt64) -> Duration? {
        latencies.percentile(95, max(now, lastUse)).map { .microseconds(Int64($0)) }
    }
}

extension UInt64 {
    /// Nothing where the other moment is the later one.
    fileprivate func elapsed(since other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
