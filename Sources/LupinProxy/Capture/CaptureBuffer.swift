// Collects what a worker's exchanges have for the capture, and hands it over in batches.

/// What a worker has not handed over to the capture yet; confined to its loop.
final class CaptureBuffer {
    private let queue: CaptureQueue
    private var parts: [CapturePart] = []
    /// Exchanges with something new; some have ended since.
    private var listed: [ExchangeCapture] = []
    private var bytes = 0
    /// Asks for a call of `flush` soon.
    var flushSoon: () -> Void = {}

    /// Bytes of one batch, which is one transaction and writes some pages of its own.
    private static let batchBytes = 1 << 20

    init(_ queue: CaptureQueue) { self.queue = queue }

    func nextKey() -> UInt64 { queue.nextKey() }

    /// Whether a new exchange can be kept; if not, it is counted as lost.
    func takesExchange() -> Bool {
        if queue.takesExchanges(of: bytes) { return true }
        queue.noteLost(1)
        return false
    }

    /// Whether `more` bytes of a body can be kept.
    func takesBody(of more: Int) -> Bool { queue.takesBodies(of: bytes + more) }

    /// Notes an exchange that has something new.
    func list(_ capture: ExchangeCapture) {
        if isEmpty { flushSoon() }
        listed.append(capture)
    }

    /// Counts bytes that an exchange copied.
    func count(_ bytes: Int) {
        self.bytes += bytes
        if self.bytes >= Self.batchBytes { flush() }
    }

    /// Adds a part that takes `bytes` more than was counted.
    func add(_ part: CapturePart, bytes: Int) {
        if isEmpty { flushSoon() }
        parts.append(part)
        count(bytes)
    }

    private var isEmpty: Bool { parts.isEmpty && listed.isEmpty }

    /// Hands over what was collected.
    func flush() {
        for capture in listed { if let part = capture.takePart() { parts.append(part) } }
        listed.removeAll(keepingCapacity: true)
        if parts.isEmpty { return }
        var parts: [CapturePart] = []
        // The next batch is about as long.
        parts.reserveCapacity(self.parts.count)
        swap(&parts, &self.parts)
        queue.submit(parts, bytes: bytes)
        bytes = 0
    }
}
