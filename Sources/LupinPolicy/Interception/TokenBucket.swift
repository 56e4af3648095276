// Limits rates: how many bytes may be sent now, and when more may be sent.

/// `throttle:` of all matching rules together: bytes per second; nil without a limit.
package struct ThrottleSettings: Sendable, Equatable {
    /// The limit towards the origin.
    package var up: Int?
    /// The limit towards the client.
    package var down: Int?

    package init(up: Int? = nil, down: Int? = nil) {
        self.up = up
        self.down = down
    }

    /// Whether there is no limit.
    package var isEmpty: Bool { up == nil && down == nil }

    /// Applies the overrides of a later rule, leaf by leaf.
    package mutating func merge(_ overrides: ThrottleOverrides) {
        if let up = overrides.up { self.up = up }
        if let down = overrides.down { self.down = down }
    }
}

/// `throttle:` of a rule; merged leaf by leaf, nil keeps the earlier value, `.some(nil)` is `none`.
package struct ThrottleOverrides: Sendable, Equatable {
    package var up: Int??
    package var down: Int??

    package init(up: Int?? = nil, down: Int?? = nil) {
        self.up = up
        self.down = down
    }

    /// `throttle: none`: no limit in either direction.
    package static let none = ThrottleOverrides(up: .some(nil), down: .some(nil))

    /// Whether everything is inherited.
    package var isEmpty: Bool { up == nil && down == nil }

    /// Applies the overrides of a later rule, leaf by leaf.
    package mutating func merge(_ later: ThrottleOverrides) {
        if let up = later.up { self.up = .some(up) }
        if let down = later.down { self.down = .some(down) }
    }
}

/// A token bucket that is initially full: within any time `t` at most rate × `t` + burst bytes are
/// taken.
///
/// It counts in millionths of a byte, the amount of 1 B/s in a microsecond, so there are no
/// rounding errors.
package struct TokenBucket: Sendable, Equatable {
    /// Millionths in a byte, and microseconds in a second.
    private static let scale: UInt64 = 1_000_000
    /// 1 TiB/s, faster than any machine: the numbers might overflow with more.
    package static let rateMax = 1 << 40
    /// The minimum of the default burst: one buffer.
    private static let burstMin = 64 << 10

    /// Millionths of a byte per microsecond, which equals bytes per second.
    private let rate: UInt64
    private let capacity: UInt64
    private var level: UInt64
    /// The time of `level`, in microseconds.
    private var time: UInt64

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: From 1 to `rateMax`; other values are clamped.
    ///   - burst: Bytes that may be sent at once, at least 1 and at most `rateMax`; by default the
    ///     amount of 100 ms, but at least 64 KiB.
    ///   - now: In microseconds, like all times here.
    package init(bytesPerSecond: Int, burst: Int? = nil, now: UInt64) {
        let bounded = min(max(bytesPerSecond, 1), TokenBucket.rateMax)
        let size = burst ?? max(TokenBucket.burstMin, bounded / 10)
        rate = UInt64(bounded)
        capacity = UInt64(min(max(size, 1), TokenBucket.rateMax)) * TokenBucket.scale
        level = capacity
        time = now
    }

    /// Bytes per second.
    package var bytesPerSecond: Int { Int(rate) }

    /// Bytes that may be sent at once after a pause.
    package var burst: Int { Int(capacity / TokenBucket.scale) }

    /// The amount worth waiting for: the bytes of 50 ms, at most one buffer.
    ///
    /// Without it a fast transfer would continue byte by byte.
    package var quantum: Int {
        min(max(Int(rate) / 20, 1), TokenBucket.burstMin, burst)
    }

    /// Takes up to `wanted` bytes; returns how many may be sent now, possibly 0.
    package mutating func take(upTo wanted: Int, now: UInt64) -> Int {
        level = level(at: now)
        // A clock that goes backwards must not fill the bucket twice for the same time.
        time = max(time, now)
        let granted = min(UInt64(max(wanted, 0)), level / TokenBucket.scale)
        level -= granted * TokenBucket.scale
        return Int(granted)
    }

    /// Returns bytes that were taken but not sent.
    package mutating func giveBack(_ count: Int) {
        let room = (capacity - level) / TokenBucket.scale
        level += min(UInt64(max(count, 0)), room) * TokenBucket.scale
    }

    /// The first moment, not before `now`, at which `quantum` bytes may be sent.
    package func nextAvailable(_ now: UInt64) -> UInt64 {
        let needed = UInt64(quantum) * TokenBucket.scale
        let present = level(at: now)
        guard present < needed else { return now }
        let wait = (needed - present + rate - 1) / rate
        // Counted from the bucket's own time: after the clock went backwards, filling resumes
        // there.
        let (moment, overflows) = max(now, time).addingReportingOverflow(wait)
        return overflows ? UInt64.max : moment
    }

    private func level(at now: UInt64) -> UInt64 {
        guard now > time else { return level }
        let missing = capacity - level
        // More microseconds than this fill the bucket; fewer can't overflow the product.
        let elapsed = now - time
        return elapsed > missing / rate ? capacity : level + elapsed * rate
    }
}
