// How latencies are counted: exactly where they are short, to 1.6 per cent where they are long.

/// Counts of latencies in microseconds, 64 steps for every power of two.
struct Histogram {
    private static let steps = 64
    private static let stepBits = 6
    /// 2^32 µs is more than an hour; longer ones are counted as that.
    private static let valueMax: UInt64 = (1 << 32) - 1

    private(set) var count = 0
    private var counts = [Int](repeating: 0, count: (33 - stepBits) * steps)

    mutating func add(_ microseconds: UInt64) {
        counts[Self.index(of: min(microseconds, Self.valueMax))] += 1
        count += 1
    }

    /// The latency that a share of `quantile` (0...1) of all requests did not exceed.
    func value(at quantile: Double) -> Double {
        guard count > 0 else { return 0 }
        let rank = min(count - 1, Int(quantile * Double(count)))
        var seen = 0
        for (i, here) in counts.enumerated() {
            seen += here
            if seen > rank { return Double(Self.lowestValue(in: i)) }
        }
        return 0
    }

    /// Values below 128 have a place each; above, the six bits behind the first one decide.
    private static func index(of value: UInt64) -> Int {
        let bits = UInt64.bitWidth - value.leadingZeroBitCount
        let shift = max(0, bits - stepBits - 1)
        return shift * steps + Int(value >> UInt64(shift))
    }

    private static func lowestValue(in index: Int) -> UInt64 {
        let shift = max(0, index / steps - 1)
        return UInt64(index - shift * steps) << UInt64(shift)
    }
}
