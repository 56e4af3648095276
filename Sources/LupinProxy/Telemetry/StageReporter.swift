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
    private var progress: (bytes: UInt64, at: UInt64)?

    /// Progress is reported after this time, in microseconds, or after this many bytes.
    private static let progressInterval: UInt64 = 1_000_000
    private static let progressBytes: UInt64 = 1 << 20

    init(_ monitors: [any EventMonitor], _ exchange: ExchangeMoment) {
        self.monitors = monitors
        self.exchange = exchange
    }

    /// Calls `hook` for every monitor.
    func tell(_ hook: (any EventMonitor, ExchangeMoment) -> Void) {
        for monitor in monitors { hook(monitor, exchange) }
    }

    /// Whether progress of the bodies is due to be reported; called when bytes may have moved.
    func isProgressDue(_ bytes: UInt64, now: UInt64) -> Bool {
        guard var last = progress else {
            progress = (0, now)
            return isProgressDue(bytes, now: now)
        }
        // Another attempt starts its body from zero.
        if bytes < last.bytes { last.bytes = 0 }
        progress = last
        guard bytes > last.bytes else { return false }
        guard bytes &- last.bytes >= Self.progressBytes || now &- last.at >= Self.progressInterval
        else { return false }
        progress = (bytes, now)
        return true
    }
}
