// How many bytes may go now where a rule limits the rate, and when more of them may.

/// `throttle:` of all matching rules together: bytes per second, nil where nothing is limited.
package struct ThrottleSettings: Sendable, Equatable {
    /// Towards the origin.
    package var up: Int?
    /// Towards the client.
    package var down: Int?

    package init(up: Int? = nil, down: Int? = nil) {
        self.up = up
        self.down = down
    }

    /// Whether nothing is limited.
    package var isEmpty: Bool { up == nil && down == nil }

    /// Lays what a later rule says over it, leaf by leaf.
    package mutating func merge(_ overrides: ThrottleOverrides) {
        if let up = overrides.up { self.up = up }
        if let down = overrides.down { self.down = down }
    }
}

/// `throttle:` under a rule; merged leaf by leaf, nil keeps what was there, `.some(nil)` is `none`.
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

    /// Lays what a later rule says over it, leaf by leaf.
    package mutating func merge(_ later: ThrottleOverrides) {
        if let up = later.up { self.up = .some(up) }
        if let down = later.down { self.down = .some(down) }
    }
}

/// A bucket that fills at a rate and is full at first: in any time `t` no more than
/// rate × `t` + burst bytes are taken.
///
/// It counts in millionths of a byte, what a rate of 1 B/s gives in a microsecond, so nothing is
/// rounded and nothing drifts.
package struct TokenBucket: Sendable, Equatable {
    /// Millionths in a byte, and microseconds in a second.
    private static let scale: UInt64 = 1_000_000
    /// 1 TiB/s: with more than this the numbers might not fit, and no machine has it.
    package static let rateMax = 1 << 40
    /// The smallest burst that is chosen: one buffer.
    private static let burstMin = 64 << 10

    /// Millionths of a byte in a microsecond, which is bytes in a second.
    private let rate: UInt64
    private let capacity: UInt64
    private var level: UInt64
    /// Microseconds; when `level` was right.
    private var time: UInt64

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: From 1 to `rateMax`; what lies outside is moved to the nearer end.
    ///   - burst: Bytes that may go at once, at least 1 and at most `rateMax`; without it what the
    ///     rate gives in 100 ms, but at least 64 KiB.
    ///   - now: Microseconds, like every other time here.
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

    /// Bytes that may go at once after a silence.
    package var burst: Int { Int(capacity / TokenBucket.scale) }

    /// What is worth waiting for: the bytes of 50 ms, at most one buffer.
    ///
    /// Without it a fast transfer would go on byte by byte.
    package var quantum: Int {
        min(max(Int(rate) / 20, 1), TokenBucket.burstMin, burst)
    }

    /// Takes up to `wanted` bytes and returns how many may go now, 0 where none may.
    package mutating func take(upTo wanted: Int, now: UInt64) -> Int {
        level = level(at: now)
        // A clock that goes back must not fill the same time twice.
        time = max(time, now)
        let granted = min(UInt64(max(wanted, 0)), level / TokenBucket.scale)
        level -= granted * TokenBucket.scale
        return Int(granted)
    }

    /// Puts back bytes that were taken and did not go.
    package mutating func giveBack(_ count: Int) {
        let room = (capacity - level) / TokenBucket.scale
        level += min(UInt64(max(count, 0)), room) * TokenBucket.scale
    }

    /// The first moment, `now` or later, at which `quantum` bytes may go.
    package func nextAvailable(_ now: UInt64) -> UInt64 {
        let needed = UInt64(quantum) * TokenBucket.scale
        let present = level(at: now)
        guard present < needed else { return now }
        let wait = (needed - present + rate - 1) / rate
        // From the bucket's own time: with a clock that has gone back, filling begins only there.
        let (moment, overflows) = max(now, time).addingReportingOverflow(wait)
        return overflows ? UInt64.max : moment
    }

    private func level(at now: UInt64) -> UInt64 {
        guard now > time else { return level }
        let missing = capacity - level
        // So many microseconds fill it for certain; fewer can't overflow the product.
        let elapsed = now - time
        return elapsed > missing / rate ? capacity : level + elapsed * rate
    }
}
