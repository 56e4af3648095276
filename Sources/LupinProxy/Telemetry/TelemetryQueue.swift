// Finished exchanges on their way from the workers to the exporter, and what became of them.
import LupinCore
import LupinPolicy
import LupinRecords
import Synchronization

/// The one owner of exchanges that wait for their export.
///
/// It never makes a worker wait: beyond `exchangesMax` exchanges are dropped and counted.
final class TelemetryQueue: Sendable {
    /// Exchanges that may wait for the exporter.
    static let exchangesMax = 2048
    /// When so many wait, the exporter is called before its time.
    private static let hurry = 512

    /// What became of the items of one signal.
    struct Counts: Sendable {
        var sent: UInt64 = 0
        /// Not taken by the collector.
        var lost: UInt64 = 0
    }

    private struct State {
        var waiting: [TracedExchange] = []
        var requests: [OwnRequest] = []
        var dropped: UInt64 = 0
        var counts: [TelemetrySignal: Counts] = [:]
        var call: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Hands over exchanges.
    func submit(_ exchanges: [TracedExchange]) {
        let call = state.withLock { state in
            let before = state.waiting.count
            let room = max(0, Self.exchangesMax - before)
            state.waiting += exchanges.prefix(room)
            state.dropped &+= UInt64(max(0, exchanges.count - room))
            return before < Self.hurry && state.waiting.count >= Self.hurry ? state.call : nil
        }
        call?()
    }

    /// Hands over a request of lupin's own; they are few, so it waits for no batch.
    func submit(_ request: OwnRequest) {
        state.withLock { state in
            if state.requests.count < Self.exchangesMax {
                state.requests.append(request)
            } else {
                state.dropped &+= 1
            }
        }
    }

    /// Takes the requests of lupin's own that wait.
    func takeRequests() -> [OwnRequest] {
        state.withLock { state in
            var taken: [OwnRequest] = []
            swap(&taken, &state.requests)
            return taken
        }
    }

    /// Sets what calls the exporter, from any thread; nil when it ends.
    func set(call: (@Sendable () -> Void)?) { state.withLock { $0.call = call } }

    /// Takes the first of those that wait.
    func take(atMost count: Int) -> [TracedExchange] {
        state.withLock { state in
            let taken = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(taken.count)
            return taken
        }
    }

    /// The number of exchanges that were dropped because the exporter was behind.
    var dropped: UInt64 { state.withLock { $0.dropped } }

    func counts(of signal: TelemetrySignal) -> Counts {
        state.withLock { $0.counts[signal] ?? Counts() }
    }

    func note(sent: UInt64, lost: UInt64, of signal: TelemetrySignal) {
        state.withLock { state in
            state.counts[signal, default: Counts()].sent &+= sent
            state.counts[signal, default: Counts()].lost &+= lost
        }
    }
}

/// One worker's exchanges that were not handed over yet; confined to its loop.
final class TelemetryBuffer {
    private let queue: TelemetryQueue
    private var waiting: [TracedExchange] = []
    /// Asks for a call of `flush` soon.
    var flushSoon: () -> Void = {}

    /// So many are handed over at once.
    private static let batch = 64

    init(_ queue: TelemetryQueue) { self.queue = queue }

    func add(_ record: ExchangeRecord, _ context: SpanContext?) {
        if waiting.isEmpty { flushSoon() }
        waiting.append(TracedExchange(record, context))
        if waiting.count >= Self.batch { flush() }
    }

    /// Hands over what was collected.
    func flush() {
        if waiting.isEmpty { return }
        var batch: [TracedExchange] = []
        swap(&batch, &waiting)
        queue.submit(batch)
    }
}
