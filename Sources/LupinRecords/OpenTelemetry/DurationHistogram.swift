// Counts durations in fixed buckets, for Prometheus and OpenTelemetry.

/// A histogram of durations, cumulative since the start.
package struct DurationHistogram: Sendable, Equatable {
    /// The upper bounds in microseconds: those that OpenTelemetry advises for HTTP durations, and
    /// one above and one below for what a cache and a slow build server do.
    package static let bounds: [Int64] = [
        1000, 5000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000,
        1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000, 30_000_000,
    ]

    /// By bound, and one more for longer durations; not cumulative.
    private var buckets = InlineArray<17, UInt64>(repeating: 0)
    package private(set) var count: UInt64 = 0
    package private(set) var sumMicroseconds: UInt64 = 0

    package init() {}

    /// Counts one duration.
    package mutating func note(_ microseconds: Int64) {
        let time = max(0, microseconds)
        // Nearly all are short, so that looking from the front takes few steps.
        var i = 0
        while i < Self.bounds.count, time > Self.bounds[i] { i += 1 }
        buckets[i] &+= 1
        count &+= 1
        sumMicroseconds &+= UInt64(time)
    }

    package mutating func add(_ other: DurationHistogram) {
        for i in buckets.indices { buckets[i] &+= other.buckets[i] }
        count &+= other.count
        sumMicroseconds &+= other.sumMicroseconds
    }

    /// The counts of the buckets; the last one is of what is longer than the last bound.
    package var bucketCounts: [UInt64] { buckets.indices.map { buckets[$0] } }

    /// A number of microseconds in seconds, without an exponent and without needless zeros.
    package static func secondsText(_ microseconds: UInt64) -> String {
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if rest == 0 { return "\(seconds)" }
        var digits = String(rest + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits)"
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.count == b.count && a.sumMicroseconds == b.sumMicroseconds
            && a.bucketCounts == b.bucketCounts
    }
}
