// The monitors of one exchange, and what has been reported to them.
import LupinCore

/// What monitors have been sent about an exchange; exists only when there are monitors.
final class StageReporter {
    var monitors: [any EventMonitor]
    /// The exchange as monitors see it.
    var exchange: ExchangeMoment
    /// The number of attempts whose end was reported.
    var attempts = 0
    /// The last reported progress, and its time in microseconds of the loop's clock.
    private var progress: (bytes: UInt64, at: UInt64)

    /// Progress is reported after this time, in microseconds, or after this many bytes.
    private static let progressInterval: UInt64 = 1_000_000
    private static let progressBytes: UInt64 = 1 << 20

    init(_ monitors: [any EventMonitor], _ exchange: ExchangeMoment, now: UInt64) {
        self.monitors = monitors
        self.exchange = exchange
        progress = (0, now)
    }

    /// Calls `hook` for every monitor.
    func tell(_ hook: (any EventMonitor, ExchangeMoment) -> Void) {
        for monitor in monitors { hook(monitor, exchange) }
    }

    /// Has the next progress by time counted from now: a response begins.
    func restartProgress(now: UInt64) { progress.at = now }

    /// Whether progress of the bodies is due to be reported; called when bytes may have moved.
    func isProgressDue(_ bytes: UInt64, now: UInt64) -> Bool {
        // Another attempt starts its body from zero.
        if bytes < progress.bytes { progress.bytes = 0 }
        guard bytes > progress.bytes else { return false }
        guard
            bytes &- progress.bytes >= Self.progressBytes
                || now &- progress.at >= Self.progressInterval
        else { return false }
        progress = (bytes, now)
        return true
    }
}
