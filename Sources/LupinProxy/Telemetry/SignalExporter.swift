// Sends the messages of one signal to the collector, one after the other, and again if need be.
import Logging
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinTLS
import LupinUpstream

/// A request to the collector.
struct ExportMessage: Sendable {
    let route: ExportRoute
    let body: [UInt8]
    /// Whether `body` is in gzip.
    let isCompressed: Bool
    /// When the answer must be there, in microseconds of the loop's clock.
    var deadline: UInt64
}

/// The answer of a collector; nil of each where there was none.
struct ExportAnswer: Sendable {
    var status: UInt16?
    var retryAfter: Duration?
    var body: [UInt8] = []
}

/// One signal's way to the collector; confined to the control loop.
///
/// It has one message at a time, so a collector that hangs holds one connection for each signal.
final class SignalExporter {
    let signal: TelemetrySignal
    private(set) var isBusy = false
    private let queue: TelemetryQueue
    private let worker: Worker
    private let logger: Logger
    private let random = RandomSource()
    private let slot: ParkingSlot
    /// The lane became free.
    private let whenFree: () -> Void
    /// No attempt may take longer than until then.
    private var limit = UInt64.max
    /// The failure that was told and still lasts.
    private var trouble = ""

    init(
        _ signal: TelemetrySignal,
        by worker: Worker,
        _ shared: Shared,
        on loop: EventLoop,
        whenFree: @escaping () -> Void
    ) {
        self.signal = signal
        self.worker = worker
        queue = shared.telemetry
        logger = shared.logger
        slot = ParkingSlot(on: loop)
        self.whenFree = whenFree
    }

    private var loop: EventLoop { slot.loop }

    /// Sends a message of so many items; only while the lane is free.
    func send(_ body: [UInt8], items: Int, to export: ExportSettings) {
        precondition(!isBusy, "a lane has one message at a time")
        guard let route = export.routes[signal] else { return }
        isBusy = true
        let compressed = route.compresses ? try? WholeBody.encoded(body, with: ["gzip"]) : nil
        let message = ExportMessage(
            route: route,
            body: compressed ?? body,
            isCompressed: compressed != nil,
            deadline: 0
        )
        let local = LoopLocal(self, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let lane = local.value
            await lane.deliver(message, items: UInt64(items))
            lane.isBusy = false
            lane.whenFree()
        }
    }

    /// Ends waits between attempts, and lets no attempt take longer than until `limit`.
    func hurry(until limit: UInt64) {
        self.limit = limit
        slot.wake(.cut)
    }

    func retire() { slot.retire() }

    private func deliver(_ message: ExportMessage, items: UInt64) async {
        var message = message
        var attempt = 1
        while true {
            message.deadline = min(loop.deadline(in: message.route.timeout), limit)
            let answer = await worker.post(message)
            let outcome = ExportOutcome(
                status: answer.status,
                wait: answer.retryAfter,
                body: answer.body,
                attempt: attempt,
                chance: random.next()
            )
            switch outcome {
            case .taken(let rejected):
                let lost = min(rejected, items)
                queue.note(sent: items - lost, lost: lost, of: signal)
                tell(lost == 0 ? "" : "the collector refuses some of them")
                return
            case .lost(let reason):
                queue.note(sent: 0, lost: items, of: signal)
                return tell(reason)
            case .again(let wait):
                attempt += 1
                if limit == .max {
                    _ = await slot.park(for: .cut, until: loop.deadline(in: wait))
                } else {
                    // Stopping: no collector gets another chance.
                    attempt = ExportOutcome.attemptsMax
                }
                guard loop.now < limit else {
                    queue.note(sent: 0, lost: items, of: signal)
                    return
                }
            }
        }
    }

    /// Warns of a failure when it begins, and says when it is over.
    private func tell(_ reason: String) {
        guard reason != trouble else { return }
        trouble = reason
        if reason.isEmpty {
            logger.notice("telemetry: \(signal.rawValue) reach the collector again")
        } else {
            logger.warning("telemetry: \(signal.rawValue) are lost: \(reason)")
        }
    }
}

extension Worker {
    /// Sends a message to the collector, as lupin sends requests of its own: no rule applies, and
    /// no record is written.
    func post(_ message: ExportMessage) async -> ExportAnswer {
        guard let resources = exportResources else { return ExportAnswer() }
        let slot = ParkingSlot(on: resources.loop)
        resources.exports[ObjectIdentifier(slot)] = slot
        defer {
            resources.exports[ObjectIdentifier(slot)] = nil
            slot.retire()
        }
        var fetch = Fetch(
            origin: message.route.url.origin,
            path: message.route.url.path,
            answerBytesMax: Self.exportAnswerBytesMax,
            deadline: message.deadline
        )
        fetch.keepsConnection = true
        fetch.method = .post
        fetch.contentType = "application/json"
        fetch.body = message.body
        fetch.fields = message.route.headers.map { ($0.name, $0.value) }
        if message.isCompressed { fetch.fields.append(("Content-Encoding", "gzip")) }
        let connector = OriginConnector(in: slot, resources, resources.snapshot.upstream)
        do throws(LupinError) {
            let answer = try await connector.fetch(fetch)
            var fields = FieldSection()
            if let value = answer.retryAfter { fields.add(name: "Retry-After", value: value) }
            return ExportAnswer(
                status: answer.status,
                retryAfter: RetryAfterField.delay(of: fields, now: resources.wallNow),
                body: (try? answer.plainBody(bytesMax: Self.exportAnswerBytesMax)) ?? []
            )
        } catch {
            return ExportAnswer()
        }
    }

    /// What a collector may answer: a few numbers and a sentence.
    private static let exportAnswerBytesMax = 64 << 10

    /// Ends requests to the collector that still run.
    func cutExports() {
        guard let resources = exportResources else { return }
        for slot in Array(resources.exports.values) { slot.wake(.cut) }
    }
}
