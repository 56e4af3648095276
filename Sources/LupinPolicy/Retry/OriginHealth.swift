// The recent state of one host: its retry budget, circuit breaker and latency.

/// The health of one host, derived from the requests to it.
///
/// It has a fixed size and allocates nothing. All times are microseconds of a monotonic clock; an
/// earlier time counts as the latest one known.
package struct OriginHealth: Sendable {
    /// After this idle time, in microseconds, the stored data has no effect any more: the longest
    /// window of a budget, or time of a circuit, plus its last slot.
    package static let idleAfter: UInt64 = 320_000_000

    private var counts = RetryCounts()
    private var latencies = LatencyHistogram()
    /// The time of the last failure that was counted as consecutive.
    private var lastCounted: UInt64 = 0
    /// The last failure of a retry, which opens a circuit or keeps it open.
    private var lastFailure: UInt64 = 0
    private var lastUse: UInt64
    /// Failures since the last success.
    package private(set) var failuresInRow: UInt32 = 0
    /// A retry is among them.
    private var hasFailedRetry = false

    /// Makes the health of an unknown host.
    package init(now: UInt64) { lastUse = now }

    /// Whether the host was idle for so long that the value may be dropped.
    package func isIdle(now: UInt64) -> Bool {
        now.elapsed(since: lastUse) > OriginHealth.idleAfter
    }

    private mutating func use(_ now: UInt64) -> UInt64 {
        lastUse = max(lastUse, now)
        return lastUse
    }
}

// MARK: The budget

/// Whether a budget permits a retry.
package enum BudgetAnswer: Sendable, Equatable {
    /// The retry is permitted, and is counted.
    case admitted
    /// The retry is denied; with the retries made in the window, and the number allowed.
    case spent(retries: Int, allowed: Int)
}

extension OriginHealth {
    /// Counts a client's request to the host; retries don't count as requests.
    package mutating func noteRequest(_ now: UInt64) { counts.addRequest(use(now)) }

    /// Requests a retry or a hedge, and counts it if it is permitted.
    ///
    /// A window permits `floor` retries, or `ratio` times its requests, whichever is more. The
    /// window in effect is never shorter than the given one, and longer by at most a third (see
    /// `RetryCounts`).
    package mutating func admitRetry(
        _ budget: RetryPolicy.Budget,
        _ now: UInt64
    ) -> BudgetAnswer {
        let now = use(now)
        let (requests, retries) = counts.sums(window: budget.window, now)
        let allowed = budget.allowed(for: requests)
        guard retries < allowed else { return .spent(retries: retries, allowed: allowed) }
        counts.addRetry(now)
        return .admitted
    }
}

extension RetryPolicy.Budget {
    /// The number of retries beside so many requests of a window.
    package func allowed(for requests: Int) -> Int {
        // The rules file permits only 0 to 1; any other value must become a valid one.
        let ratio = ratio > 0 ? min(ratio, 1) : 0
        return max(floor, Int(Double(requests) * ratio), 0)
    }
}

// MARK: The circuit

extension OriginHealth {
    /// Reports that an attempt that began at `begun` has ended; the caller defines failure.
    ///
    /// Concurrent attempts fail together: a failure is counted as consecutive only if its attempt
    /// began after the last counted failure, so a short disruption under load is one failure.
    ///
    /// One success resets all failures. Requests are sent even if the circuit is open, so they
    /// serve as probes, and no half-open state is needed. Their own failures don't keep it open:
    /// while it is open there is no retry that might, so it closes when its time is over.
    package mutating func noteOutcome(
        isFailure: Bool,
        isRetry: Bool,
        begun: UInt64,
        _ now: UInt64
    ) {
        // After the clock went back, all that is known is that `now` is later than all before.
        let isClockBack = now < lastUse
        let now = use(now)
        guard isFailure else {
            failuresInRow = 0
            hasFailedRetry = false
            return
        }
        if isRetry { (hasFailedRetry, lastFailure) = (true, now) }
        if failuresInRow > 0, begun < lastCounted, !isClockBack { return }
        failuresInRow = failuresInRow == .max ? .max : failuresInRow + 1
        lastCounted = now
    }

    /// Whether retries are pointless now: only failures, many of them, and lately one of a retry.
    ///
    /// A burst of requests that fail once each says nothing about what comes a moment later. After
    /// the circuit's time the next failures are retried again, and the first retry that fails opens
    /// it anew: a dead host gets few of them, and one that is back loses no request.
    package func isOpen(_ circuit: RetryPolicy.Circuit, _ now: UInt64) -> Bool {
        hasFailedRetry && failuresInRow >= UInt32(clamping: circuit.failures)
            && now.elapsed(since: lastFailure) <= circuit.openMicroseconds
    }
}

// MARK: What people are told

extension OriginHealth {
    /// The numbers by which policies decide.
    package struct Figures: Sendable, Equatable {
        /// Failures since the last success.
        package var failuresInRow: Int
        /// A retry is among them.
        package var hasFailedRetry: Bool
        /// Microseconds since the last failure; nil where none came after the last success.
        package var sinceFailure: UInt64?
        /// Those of the window.
        package var requests: Int
        package var retries: Int
    }

    /// The numbers of now, with the counts in the last `window`; nothing is counted by that.
    package func figures(window: Duration, _ now: UInt64) -> Figures {
        let (requests, retries) = counts.sums(window: window, max(now, lastUse))
        return Figures(
            failuresInRow: Int(failuresInRow),
            hasFailedRetry: hasFailedRetry,
            sinceFailure: failuresInRow > 0 ? now.elapsed(since: lastFailure) : nil,
            requests: requests,
            retries: retries
        )
    }
}

// MARK: Latency

extension OriginHealth {
    /// Counts the time from an attempt's begin to its response's head.
    package mutating func noteResponse(afterMicroseconds time: UInt64, _ now: UInt64) {
        latencies.add(time, use(now))
    }

    /// The recent 95th percentile of these times; nil with fewer than 20 of them.
    package func percentile95(_ now: UInt64) -> Duration? {
        latencies.percentile(95, max(now, lastUse)).map { .microseconds(Int64($0)) }
    }
}

extension UInt64 {
    /// The difference, or zero if the other time is later.
    fileprivate func elapsed(since other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
