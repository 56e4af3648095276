// Where a task stops: the only suspension point of connection code.

/// Why a parked task continues.
///
/// Several reasons may hold at once.
///
/// Everything is inlinable: every request makes several sets of reasons, and across modules each
/// would otherwise be a generic call (6 % of a forwarded request's user time).
@usableFromInline
package struct WakeReasons: OptionSet, Sendable {
    @usableFromInline package let rawValue: UInt16
    @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }

    @inlinable package static var downstreamReadable: Self { Self(rawValue: 1 << 0) }
    @inlinable package static var downstreamWritable: Self { Self(rawValue: 1 << 1) }
    /// The client sent FIN or RST.
    @inlinable package static var downstreamClosed: Self { Self(rawValue: 1 << 2) }
    @inlinable package static var upstreamReadable: Self { Self(rawValue: 1 << 3) }
    @inlinable package static var upstreamWritable: Self { Self(rawValue: 1 << 4) }
    /// A relay that runs while the task is parked has ended, with success or failure.
    @inlinable package static var relayEnded: Self { Self(rawValue: 1 << 5) }
    /// A helper thread or another task on this loop has an answer.
    @inlinable package static var answered: Self { Self(rawValue: 1 << 6) }
    @inlinable package static var timedOut: Self { Self(rawValue: 1 << 7) }
    /// The proxy is stopping: finish running work, accept nothing new.
    @inlinable package static var draining: Self { Self(rawValue: 1 << 8) }
    /// The drain time is over: stop at once.
    @inlinable package static var cut: Self { Self(rawValue: 1 << 9) }
    /// Another task was first to get what this one wants.
    @inlinable package static var outrun: Self { Self(rawValue: 1 << 11) }
    /// A channel that no other reason names (listeners, tests).
    @inlinable package static var ready: Self { Self(rawValue: 1 << 10) }

    /// The union of both sets; an array literal would go through a generic sequence.
    @inlinable package static func | (a: Self, b: Self) -> Self {
        Self(rawValue: a.rawValue | b.rawValue)
    }

    /// Whether the sets share a reason.
    @inlinable package func meets(_ other: Self) -> Bool { rawValue & other.rawValue != 0 }
}

/// One task's place to wait, confined to its loop; any number of channels may wake it.
///
/// Reasons that arrive while the task runs are kept and end the next `park` at once, so no wake-up
/// is lost between a failed attempt and the wait.
@safe
package final class ParkingSlot {
    package let loop: EventLoop
    private var continuation: UnsafeContinuation<Void, Never>?
    private var pending: WakeReasons = []
    private var awaited: WakeReasons = []

    // State of the timer wheel; see TimerWheel.
    private var due = UInt64.max
    var filedDeadline = UInt64.max
    var bucket = -1
    var bucketIndex = 0

    package init(on loop: EventLoop) { self.loop = loop }

    /// When the wait ends by itself; `.max` for never.
    package var deadline: UInt64 {
        get { due }
        set { due = newValue }
    }

    /// Parks the task until one of `reasons` or `deadline` (microseconds of the loop's clock).
    ///
    /// - Returns: The members of `reasons` that hold, with `.timedOut` when the deadline has
    ///   passed.
    package func park(
        for reasons: WakeReasons,
        until deadline: UInt64 = .max
    ) async -> WakeReasons {
        let wanted = reasons | .timedOut
        if !pending.meets(wanted) {
            awaited = wanted
            due = deadline
            if deadline != .max { loop.fileTimer(self) }
            // Safety: `wake` takes the continuation out before it resumes it, so it resumes once;
            // the loop outlives its tasks.
            await unsafe withUnsafeContinuation { unsafe suspend(with: $0, for: wanted) }
            awaited = []
            due = .max
        }
        let result = WakeReasons(rawValue: pending.rawValue & wanted.rawValue)
        pending = WakeReasons(rawValue: pending.rawValue & ~wanted.rawValue)
        return result
    }

    /// Yields to other work on the loop, then continues.
    package func giveWay() async {
        loop.later { [self] in wake(.answered) }
        _ = await park(for: .answered)
    }

    /// Adds reasons and resumes the task if it waits for one of them.
    @inline(__always)
    package func wake(_ reasons: WakeReasons) {
        pending = pending | reasons
        guard awaited.meets(reasons) else { return }
        awaited = []
        // Safety: taken out before it is resumed, see `park`.
        if let waiting = unsafe continuation {
            unsafe continuation = nil
            unsafe waiting.resume()
        }
    }

    private func suspend(
        with waiting: UnsafeContinuation<Void, Never>,
        for wanted: WakeReasons
    ) {
        // The runtime may have run other code between the first check and this one.
        guard !pending.meets(wanted) else { return unsafe waiting.resume() }
        unsafe continuation = waiting
    }

    /// Clears reasons that concern work already done.
    package func forget(_ reasons: WakeReasons) { pending.subtract(reasons) }

    /// Whether a reason is pending that no `park` has returned yet.
    package func has(_ reasons: WakeReasons) -> Bool { pending.meets(reasons) }

    /// Moves the deadline of a parked task, as relays do when bytes move; it costs one store.
    ///
    /// Does nothing for a running task, so that an old deadline can't end a later wait.
    @inline(__always)
    package func extend(to deadline: UInt64) {
        guard !awaited.isEmpty else { return }
        due = deadline
        if bucket < 0 || filedDeadline > deadline { loop.fileTimer(self) }
    }

    /// Removes the slot from the wheel; call it when the slot's owner ends.
    package func retire() {
        due = .max
        loop.removeTimer(self)
    }
}
