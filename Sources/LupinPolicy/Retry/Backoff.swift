// Computes the wait before a retry.

import LupinCore

/// Exponential backoff, as in Alamofire's `RetryPolicy`, with a cap and with jitter.
package struct Backoff: Sendable, Equatable {
    /// How waits are randomised, so that clients that failed together do not retry together.
    package enum Jitter: String, Sendable, CaseIterable {
        /// A random share of the wait, from zero to the whole.
        case full
        /// A random wait from `scale` to three times the previous wait.
        case decorrelated
        /// The exact wait, as in Alamofire.
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
    ///   - retry: The number of earlier retries.
    ///   - previous: The wait before the last retry; zero for none.
    ///   - chance: A random number.
    /// - Returns: At most `max`.
    package func delay(retry: Int, previous: Duration, chance: UInt64) -> Duration {
        let cap = Double(max.boundedMicroseconds)
        // From 0 to 1, with the precision of a Double.
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
        // Zero also for NaN, which results from infinity times zero.
        return bounded > 0 ? .microseconds(Int64(bounded)) : .zero
    }

    /// Thirty years, far beyond any cap: the `Double` must fit an integer again.
    private static let microsecondsMax = 1e15

    /// `scale` × `base`ⁿ by repeated squaring, in few steps however large *n* is.
    private func exponential(_ retry: Int) -> Double {
        let cap = Double(max.boundedMicroseconds)
        var wait = Double(scale.boundedMicroseconds)
        var factor = base
        var left = Swift.max(retry, 0)
        // Once the cap is exceeded, further steps change nothing.
        while left > 0, wait < cap {
            if left & 1 == 1 { wait *= factor }
            factor *= factor
            left >>= 1
        }
        return wait
    }
}
