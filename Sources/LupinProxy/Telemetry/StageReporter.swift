// Who is told of one exchange, and what has been said already.
import LupinCore

/// What monitors were told of an exchange so far; it exists only where somebody wants to know.
final class StageReporter {
    var monitors: [any EventMonitor]
    /// The exchange as monitors see it.
    var exchange: ExchangeMoment
    /// Attempts whose end was told.
    var attempts = 0
    /// What was last said of the bodies, and when, in microseconds of the loop's clock.
    private var progress: (bytes: UInt64, at: UInt64)?

    /// A body is long if it takes longer than this, in microseconds, or has more bytes.
    private static let progressInterval: UInt64 = 1_000_000
    private static let progressBytes: UInt64 = 1 << 20

    init(_ monitors: [any EventMonitor], _ exchange: ExchangeMoment) {
        self.monitors = monitors
        self.exchange = exchange
    }

    /// Tells everybody.
    func tell(_ hook: (any EventMonitor, ExchangeMoment) -> Void) {
        for monitor in monitors { hook(monitor, exchange) }
    }

    /// Whether monitors are told how far the bodies have come; asked when bytes may have moved.
    func isProgressDue(_ bytes: UInt64, now: UInt64) -> Bool {
        guard var last = progress else {
            progress = (0, now)
            return isProgressDue(bytes, now: now)
        }
        // Another attempt begins its body anew.
        if bytes < last.bytes { last.bytes = 0 }
        progress = last
        guard bytes > last.bytes else { return false }
        guard bytes &- last.bytes >= Self.progressBytes || now &- last.at >= Self.progressInterval
        else { return false }
        progress = (bytes, now)
        return true
    }
}
