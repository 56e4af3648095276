// Durations in the unit of timers and records.

extension Duration {
    /// Whole milliseconds, rounded up, at least 0.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, part) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return max(0, seconds &* 1000 &+ whole + (part > 0 ? 1 : 0))
    }
}
