// Finds the parked tasks that are due: a hashed wheel of parking slots, re-filed lazily.

/// Buckets of 8 ms that cover 16 s in a cycle.
///
/// Extending a deadline is one store in the slot: it stays in its bucket and is re-filed only when
/// that bucket comes up. So an operation with a timeout costs nothing here.
package final class TimerWheel {
    package static let tickMicroseconds: UInt64 = 8192
    package static let bucketCount = 2048

    private var buckets = [[ParkingSlot]](repeating: [], count: bucketCount)
    /// One bit per bucket that holds something.
    private var occupied = InlineArray<32, UInt64>(repeating: 0)
    private var tick: UInt64

    package init(now: UInt64) { tick = now / Self.tickMicroseconds }

    /// Makes sure that the wheel checks `slot` no later than its deadline.
    @inline(__always)
    package func file(_ slot: ParkingSlot) {
        if slot.bucket >= 0, slot.filedDeadline <= slot.deadline { return }
        refile(slot)
    }

    package func remove(_ slot: ParkingSlot) {
        guard slot.bucket >= 0 else { return }
        let bucket = slot.bucket
        let isEmpty = change { buckets in
            let last = buckets[bucket].count - 1
            if slot.bucketIndex != last {
                buckets[bucket].swapAt(slot.bucketIndex, last)
                buckets[bucket][slot.bucketIndex].bucketIndex = slot.bucketIndex
            }
            _ = buckets[bucket].removeLast()
            return last == 0
        }
        if isEmpty { occupied[bucket / 64] &= ~(1 << UInt64(bucket % 64)) }
        slot.bucket = -1
    }

    /// Removes all slots; they keep their deadlines.
    package func removeAll() {
        for slots in buckets { for slot in slots { remove(slot) } }
    }

    /// Removes the slots that are due at `now`, and returns them.
    package func advance(to now: UInt64) -> [ParkingSlot] {
        let target = now / Self.tickMicroseconds
        guard target > tick else { return [] }
        var due: [ParkingSlot] = []
        let steps = min(target - tick, UInt64(Self.bucketCount))
        let first = target - steps + 1
        tick = target
        for step in first...target {
            let bucket = Int(step % UInt64(Self.bucketCount))
            let slots = buckets[bucket]
            for slot in slots {
                remove(slot)
                if slot.deadline <= now {
                    due.append(slot)
                } else if slot.deadline != .max {
                    refile(slot)
                }
            }
        }
        return due
    }

    /// Milliseconds until the next bucket that holds something, -1 when none does.
    package func millisecondsToNext(from now: UInt64) -> Int32 {
        let start = Int((tick + 1) % UInt64(Self.bucketCount))
        for i in 0...(Self.bucketCount / 64) {
            let word = (start / 64 + i) % (Self.bucketCount / 64)
            var bits = occupied[word]
            if i == 0 { bits &= ~0 << UInt64(start % 64) }
            guard bits != 0 else { continue }
            let bucket = word * 64 + bits.trailingZeroBitCount
            let distance = (bucket - start + Self.bucketCount) % Self.bucketCount + 1
            let due = (tick + UInt64(distance)) * Self.tickMicroseconds
            return due > now ? Int32((due - now) / 1000) + 1 : 0
        }
        return -1
    }

    /// Moves the buckets out and back, which saves exclusivity checks at run time.
    @inline(__always)
    private func change<Result>(_ change: (inout [[ParkingSlot]]) -> Result) -> Result {
        var buckets: [[ParkingSlot]] = []
        swap(&buckets, &self.buckets)
        let result = change(&buckets)
        swap(&buckets, &self.buckets)
        return result
    }

    private func refile(_ slot: ParkingSlot) {
        remove(slot)
        guard slot.deadline != .max else { return }
        let due = max(slot.deadline / Self.tickMicroseconds + 1, tick + 1)
        let step = min(due, tick + UInt64(Self.bucketCount) - 1)
        let bucket = Int(step % UInt64(Self.bucketCount))
        slot.filedDeadline = step * Self.tickMicroseconds
        slot.bucket = bucket
        change { buckets in
            slot.bucketIndex = buckets[bucket].count
            buckets[bucket].append(slot)
        }
        occupied[bucket / 64] |= 1 << UInt64(bucket % 64)
    }
}
