// How long to wait before an attempt is made again.

/// Exponential waits, as Alamofire's `RetryPolicy` has them, with a cap and with jitter.
package struct Backoff: Sendable, Equatable {
    /// How a wait is spread, so that clients that failed together do not come back together.
    package enum Jitter: String, Sendable, CaseIterable {
        /// Anything from nothing to the whole wait.
        case full
        /// From `scale` to three times the wait before.
        case decorrelated
        /// The wait itself: Alamofire exactly.
        case none
    }

    /// At least 1: the wait for retry *n*, from 0, is `scale` × `base`ⁿ.
    package var base = 2.0
    package var scale = Duration.milliseconds(500)
    package var max = Duration.seconds(10)
    package var jitter = Jitter.full

    package init() {}

    /// The wait before a retry.
    /// - Parameters:
    ///   - retry: How many were made before it.
    ///   - previous: The wait before the last of them; zero for none.
    ///   - chance: Any random number.
    /// - Returns: At most `max`.
    package func delay(retry: Int, previous: Duration, chance: UInt64) -> Duration {
        let cap = Double(max.boundedMicroseconds)
        // From 0 to 1, as fine as a Double is.
        let share = Double(chance >> 11) / Double(1 << 53)
        let wait: Double
        switch jitter {
        case .none: wait = exponential(retry)
        case .full: wait = Swift.min(exponential(retry), cap) * share
        case .decorrelated:
            let lowest = Double(scale.boundedMicroseconds)
            let highest = Swift.max(lowest, Double(previous.boundedMicroseconds) * 3)
            wait = lowest + (highest - lowest) * share
        }
        let bounded = Swift.min(wait, cap, Backoff.microsecondsMax)
        // Zero for what is no number too: infinitely often nothing.
        return bounded > 0 ? .microseconds(Int64(bounded)) : .zero
    }

    /// Thirty years, far beyond any cap: what a `Double` holds must fit a whole number again.
    private static let microsecondsMax = 1e15

    /// `scale` × `base`ⁿ by squaring, in a few steps however large *n* is.
    private func exponential(_ retry: Int) -> Double {
        let cap = Double(max.boundedMicroseconds)
        var wait = Double(scale.boundedMicroseconds)
        var factor = base
        var left = Swift.max(retry, 0)
        // Beyond the cap nothing changes.
        while left > 0, wait < cap {
            if left & 1 == 1 { wait *= factor }
            factor *= factor
            left >>= 1
        }
        return wait
    }
}
