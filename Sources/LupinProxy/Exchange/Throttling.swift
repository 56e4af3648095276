// Limits the bodies of an exchange to the rate that a rule allows.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import Synchronization

/// The buckets of `throttle:`, one per rule and direction: all exchanges of the rule share its
/// rate, on all workers.
final class ThrottleBuckets: Sendable {
    /// The direction of bytes.
    enum Direction: Hashable { case up, down }

    private struct Key: Hashable {
        let rule: String
        let direction: Direction
    }

    private let buckets = Mutex<[Key: TokenBucket]>([:])

    /// Takes up to `wanted` bytes; 0 when none may go before `next`.
    fileprivate func take(
        _ rule: String,
        _ direction: Direction,
        rate: Int,
        upTo wanted: Int,
        now: UInt64
    ) -> (granted: Int, next: UInt64) {
        buckets.withLock { buckets in
            let key = Key(rule: rule, direction: direction)
            var bucket = buckets[key] ?? TokenBucket(bytesPerSecond: rate, now: now)
            // A reload may have changed the rate.
            if bucket.bytesPerSecond != min(max(rate, 1), TokenBucket.rateMax) {
                bucket = TokenBucket(bytesPerSecond: rate, now: now)
            }
            // Too few bytes for a system call are left to accumulate.
            let isWorthwhile = bucket.nextAvailable(now) <= now
            let granted = isWorthwhile ? bucket.take(upTo: wanted, now: now) : 0
            buckets[key] = bucket
            return (granted, bucket.nextAvailable(now))
        }
    }

    fileprivate func giveBack(_ rule: String, _ direction: Direction, _ count: Int) {
        buckets.withLock { $0[Key(rule: rule, direction: direction)]?.giveBack(count) }
    }
}

/// A sink that takes no more than its share of a rate.
final class ThrottledSink: BodySink {
    /// When more may go, in microseconds of the loop's clock; nil when nothing waits for that.
    private(set) var opensAt: UInt64?

    private let sink: any BodySink
    private let buckets: ThrottleBuckets
    private let rule: String
    private let direction: ThrottleBuckets.Direction
    private let rate: Int
    private let loop: EventLoop

    init(
        _ sink: any BodySink,
        _ buckets: ThrottleBuckets,
        rule: String,
        _ direction: ThrottleBuckets.Direction,
        rate: Int,
        on loop: EventLoop
    ) {
        self.sink = sink
        self.buckets = buckets
        self.rule = rule
        self.direction = direction
        self.rate = rate
        self.loop = loop
    }

    /// Clears the time that has come; the next `push` sets it again.
    func wait() { opensAt = nil }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        if payload.isEmpty { return try sink.push(payload, isLast: isLast) }
        let (granted, next) = buckets.take(
            rule,
            direction,
            rate: rate,
            upTo: payload.count,
            now: loop.now
        )
        opensAt = granted < payload.count ? max(next, loop.now &+ 1) : nil
        guard granted > 0 else {
            // The head precedes the body, and is not throttled.
            _ = try sink.flush()
            return 0
        }
        let isWhole = granted == payload.count
        let taken = try sink.push(payload.extracting(0..<granted), isLast: isLast && isWhole)
        if taken < granted {
            buckets.giveBack(rule, direction, granted - taken)
            // The connection itself is full: an event will announce when it is not.
            opensAt = nil
        }
        return taken
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        opensAt = nil
        return try sink.finish(trailers: trailers)
    }

    func flush() throws(LupinError) -> Bool { try sink.flush() }
}

extension Exchange {
    /// The sink, or one in front of it that limits the rate.
    func throttled(
        _ sink: any BodySink,
        _ direction: ThrottleBuckets.Direction
    ) -> any BodySink {
        guard let plan, let rule = plan.throttleRule, !plan.throttle.isEmpty else { return sink }
        let rate = direction == .up ? plan.throttle.up : plan.throttle.down
        guard let rate else { return sink }
        let throttled = ThrottledSink(
            sink,
            resources.shared.throttles,
            rule: rule,
            direction,
            rate: rate,
            on: slot.loop
        )
        if direction == .up { throttledUpload = throttled } else { throttledDownload = throttled }
        return throttled
    }

    /// When a throttled body may go on, in microseconds of the loop's clock; `.max` when none
    /// waits.
    var throttleDeadline: UInt64 {
        var deadline = UInt64.max
        if let upload, !upload.isOver { deadline = throttledUpload?.opensAt ?? .max }
        if let download, !download.isOver {
            deadline = min(deadline, throttledDownload?.opensAt ?? .max)
        }
        return deadline
    }

    /// Shortens the task's wait to the time when a throttled body may go on.
    ///
    /// The throttled bytes may have come while the task was parked, and no event will follow: the
    /// buffer is full.
    func wakeForThrottle() {
        guard throttledUpload != nil || throttledDownload != nil else { return }
        let deadline = throttleDeadline
        if deadline < slot.deadline { slot.extend(to: deadline) }
    }

    /// Moves throttled bytes once their time has come.
    func pumpThrottled() {
        guard throttleDeadline <= slot.loop.now else { return }
        throttledUpload?.wait()
        throttledDownload?.wait()
        pumpBodies()
    }
}
