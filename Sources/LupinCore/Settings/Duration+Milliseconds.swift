// Durations in the unit of timers and records.

extension Duration {
    /// Whole milliseconds, rounded up, at least 0.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, part) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return max(0, seconds &* 1000 &+ whole + (part > 0 ? 1 : 0))
    }
}

extension Duration {
    /// Whole microseconds, at least 0 and at most 100 years, so that sums don't overflow.
    package var boundedMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        let secondsMax: Int64 = 100 * 366 * 86400
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let whole = UInt64(min(seconds, secondsMax))
        return whole * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }
}
