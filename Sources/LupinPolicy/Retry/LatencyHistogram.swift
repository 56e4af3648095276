// Recent response times, in a few hundred bytes.

/// A histogram of times from 1 ms to 5 min, in steps of an eighth of an octave.
///
/// So no time is off by more than one part in sixteen. Older samples have less weight: all weights
/// are halved after 1000 samples and after 30 s, whichever comes first. A busy host is rated by its
/// last thousand responses, a quiet one by those of the last minute.
struct LatencyHistogram: Sendable {
    /// With fewer samples a percentile has no meaning.
    private static let samplesMin: UInt32 = 20
    /// 1.024 ms; shorter times count as this.
    private static let lowestOctave = 10
    private static let steps = 8
    private static let bucketCount = 152
    /// The weight of one sample, so that it lasts for some halvings.
    private static let weight: UInt32 = 16
    private static let samplesPerHalving: UInt16 = 1000
    private static let halfLife: UInt64 = 30_000_000

    /// The total weight is that of 2000 samples at most, so no sum overflows.
    private var buckets = InlineArray<152, UInt16>(repeating: 0)
    private var samples: UInt16 = 0
    private var lastHalving: UInt64 = 0

    mutating func add(_ microseconds: UInt64, _ now: UInt64) {
        let due = halvings(now)
        if due > 0 { halve(due, now) }
        if samples >= LatencyHistogram.samplesPerHalving { halve(1, now) }
        let bucket = LatencyHistogram.bucket(microseconds)
        buckets[bucket] += UInt16(LatencyHistogram.weight)
        samples += 1
    }

    /// The time that `percent` of 100 responses did not exceed, in microseconds.
    func percentile(_ percent: UInt32, _ now: UInt64) -> UInt64? {
        let age = UInt16(min(halvings(now), 15))
        var total: UInt32 = 0
        for i in buckets.indices { total += UInt32(buckets[i] >> age) }
        guard total >= LatencyHistogram.samplesMin * LatencyHistogram.weight else { return nil }
        // Weights are at most 32000 × 2, so a hundred times their sum doesn't overflow.
        let wanted = (total * min(percent, 100) + 99) / 100
        var seen: UInt32 = 0
        for i in buckets.indices {
            seen += UInt32(buckets[i] >> age)
            if seen >= wanted { return LatencyHistogram.middle(i) }
        }
        return nil
    }

    /// Half-lives since the last halving.
    private func halvings(_ now: UInt64) -> UInt64 {
        now > lastHalving ? (now - lastHalving) / LatencyHistogram.halfLife : 0
    }

    private mutating func halve(_ times: UInt64, _ now: UInt64) {
        let shift = UInt16(min(times, 15))
        for i in buckets.indices { buckets[i] >>= shift }
        samples = 0
        lastHalving = max(lastHalving, now)
    }

    /// The step of a time: its octave, and the three bits after its highest bit.
    private static func bucket(_ microseconds: UInt64) -> Int {
        let time = max(microseconds, 1 << UInt64(lowestOctave))
        let octave = 63 - time.leadingZeroBitCount
        let step = Int(time >> UInt64(octave - 3)) & (steps - 1)
        return min((octave - lowestOctave) * steps + step, bucketCount - 1)
    }

    /// The middle of a step.
    private static func middle(_ bucket: Int) -> UInt64 {
        let octave = UInt64(bucket / steps + lowestOctave)
        let step = UInt64(bucket % steps)
        return (UInt64(2 * steps) + 2 * step + 1) << (octave - 4)
    }
}
