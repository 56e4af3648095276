// Counts recent requests and retries, for windows of any length.

import LupinCore

/// Requests and retries of one host, counted in slots of four widths at once.
///
/// Rules may have budgets with different windows, from 1 s to 5 min, which all count the same
/// requests. So each event is counted in four rings of 16 slots, and a window is read from the
/// finest ring that covers it:
///
/// | Window | Slots |
/// |---|---|
/// | up to 3 s | 200 ms |
/// | up to 15 s | 1 s |
/// | up to 60 s | 4 s |
/// | up to 5 min | 20 s; a longer window counts as 5 min |
///
/// A sum covers the window and the rest of its oldest slot, never less: a burst of retries at a
/// slot boundary can't evade the limit.
struct RetryCounts: Sendable {
    private var rings = InlineArray<4, Ring> { Ring(width: RetryCounts.widths[$0]) }

    private static let widths: InlineArray<4, UInt64> = [200_000, 1_000_000, 4_000_000, 20_000_000]

    mutating func addRequest(_ now: UInt64) {
        for i in rings.indices { rings[i].add(requests: 1, retries: 0, now) }
    }

    mutating func addRetry(_ now: UInt64) {
        for i in rings.indices { rings[i].add(requests: 0, retries: 1, now) }
    }

    /// The counts in the last `window`.
    func sums(window: Duration, _ now: UInt64) -> (requests: Int, retries: Int) {
        let microseconds = UInt64(min(window.milliseconds, 300_000)) * 1000
        for i in rings.indices where microseconds <= rings[i].windowMax {
            return rings[i].sums(window: microseconds, now)
        }
        let coarsest = rings.count - 1
        return rings[coarsest].sums(window: rings[coarsest].windowMax, now)
    }
}

/// Slots of one width that are consecutive in time; the oldest one is reused.
private struct Ring: Sendable {
    private static let size = 16

    private let width: UInt64
    /// The number of the latest slot since time zero.
    private var latest: UInt64 = 0
    private var requests = InlineArray<16, UInt32>(repeating: 0)
    private var retries = InlineArray<16, UInt32>(repeating: 0)

    init(width: UInt64) { self.width = width }

    /// With this window every slot is read: 15 complete ones, and the current one.
    var windowMax: UInt64 { width * UInt64(Ring.size - 1) }

    mutating func add(requests more: UInt32, retries again: UInt32, _ now: UInt64) {
        let slot = now / width
        if slot > latest {
            // Slots in between were empty; after more than a round, each needs clearing only once.
            for step in 0..<min(slot - latest, UInt64(Ring.size)) {
                let index = Int((slot - step) % UInt64(Ring.size))
                requests[index] = 0
                retries[index] = 0
            }
            latest = slot
        }
        let index = Int(latest % UInt64(Ring.size))
        requests[index] = requests[index].addingSaturated(more)
        retries[index] = retries[index].addingSaturated(again)
    }

    /// The sums from the slot in which the window begins to the current one.
    func sums(window: UInt64, _ now: UInt64) -> (requests: Int, retries: Int) {
        let newest = now / width
        let oldest = (now > window ? now - window : 0) / width
        // There is nothing before the latest slot and its ring, and nothing yet after it.
        let start = max(oldest, latest - min(latest, UInt64(Ring.size - 1)))
        let end = min(newest, latest)
        var sums = (requests: 0, retries: 0)
        guard start <= end else { return sums }
        for slot in start...end {
            let index = Int(slot % UInt64(Ring.size))
            sums.requests += Int(requests[index])
            sums.retries += Int(retries[index])
        }
        return sums
    }
}

extension UInt32 {
    fileprivate func addingSaturated(_ other: UInt32) -> UInt32 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}
