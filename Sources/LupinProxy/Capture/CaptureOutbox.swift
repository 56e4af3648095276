// Collects what the exchanges of a worker have for the capture, and hands it over in batches.
import LupinCore

/// The events of a worker's exchanges that were not handed over yet; confined to its loop.
final class CaptureOutbox {
    private let desk: CaptureDesk
    private var events: [CaptureEvent] = []
    private var bytes = 0
    /// Asks for a call of `flush` soon.
    var flushSoon: () -> Void = {}

    /// Bytes that are handed over at once.
    private static let batchBytes = 256 << 10

    init(_ desk: CaptureDesk) { self.desk = desk }

    func nextKey() -> UInt64 { desk.nextKey() }

    func add(_ event: CaptureEvent) {
        if events.isEmpty { flushSoon() }
        events.append(event)
        bytes += event.size
        if bytes >= Self.batchBytes { flush() }
    }

    /// Hands over what was collected.
    func flush() {
        if events.isEmpty { return }
        var events: [CaptureEvent] = []
        // The next batch is about as long.
        events.reserveCapacity(self.events.count)
        swap(&events, &self.events)
        desk.submit(events, bytes: bytes)
        bytes = 0
    }
}
