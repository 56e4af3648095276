// The time for an event loop: the kernel's monotonic clock, or a test's.

/// A source of monotonic microseconds.
package struct LoopClock: Sendable {
    /// Microseconds since some fixed moment; never goes back.
    package let now: @Sendable () -> UInt64
    /// Whether only a test advances the time: the loop then waits for events without a timeout.
    package let isVirtual: Bool

    package init(isVirtual: Bool, now: @escaping @Sendable () -> UInt64) {
        self.isVirtual = isVirtual
        self.now = now
    }

    package static let system = LoopClock(isVirtual: false) {
        SystemCall.monotonicMicroseconds()
    }
}
