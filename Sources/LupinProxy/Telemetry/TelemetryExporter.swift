// Sends finished exchanges and figures to a collector, in batches, from the control loop.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords

/// The exporter of the whole proxy; confined to the control loop.
///
/// What it can't send in time waits in bounded queues, and is dropped and counted beyond them; no
/// exchange ever waits for it.
final class TelemetryExporter {
    /// Exchanges wait this long for others at most.
    private static let sendTime = Duration.seconds(1)
    /// Spans, or log records, of one message.
    private static let itemsPerMessage = 512
    /// Spans, or log records, that wait for the collector; beyond them exchanges stay at the desk.
    private static let itemsMax = 4096
    /// Exchanges that are encoded in one turn of the loop.
    private static let exchangesPerTurn = 64
    /// What may be spent on the last messages when lupin stops.
    private static let farewell = Duration.seconds(2)

    private let loop: EventLoop
    private let shared: Shared
    private let workers: [Worker]
    /// Where the task that exports waits; `ending` is that of the task that stops it.
    private let slot: ParkingSlot
    private let ending: ParkingSlot
    private let resource: TelemetryResource
    private let began = SystemCall.wallMicroseconds()
    private var exporters: [TelemetrySignal: SignalExporter] = [:]
    private var plan: TelemetryPlan?
    private var spans: [TelemetrySpan] = []
    private var logs: [TelemetryLog] = []
    private var redaction: (snapshot: Int, secrets: Int, spans: ExchangeSpans)?
    private var nextMetrics = UInt64.max
    private var isStopping = false
    private var hasEnded = false

    init(
        _ shared: Shared,
        _ workers: [Worker],
        on loop: EventLoop,
        version: String,
        environment: [String: String]
    ) {
        self.loop = loop
        self.shared = shared
        self.workers = workers
        slot = ParkingSlot(on: loop)
        ending = ParkingSlot(on: loop)
        resource = TelemetryResource(
            environment: environment,
            version: version,
            instance: shared.pseudonym
        )
        for (i, signal) in TelemetrySignal.allCases.enumerated() {
            exporters[signal] = SignalExporter(
                signal,
                by: workers[i % workers.count],
                shared,
                on: loop,
                whenFree: { [weak slot] in slot?.wake(.answered) }
            )
        }
    }

    /// Begins to export, if the snapshot says so; call it again for another snapshot.
    func adopt(_ snapshot: Snapshot) {
        let former = plan
        plan = snapshot.telemetry
        for field in plan?.export.headers ?? [] { shared.secrets.add(field.value) }
        for problem in snapshot.telemetryProblems {
            shared.logger.warning("telemetry: \(problem)")
        }
        if plan?.export.metrics != former?.export.metrics {
            nextMetrics = plan?.export.metrics.map { loop.deadline(in: $0) } ?? .max
        }
        slot.wake(.answered)
    }

    /// Runs until `finish`.
    func start() {
        let local = LoopLocal(self, of: loop.executor)
        let executor = loop.executor
        shared.telemetry.set(call: { executor.mailbox.post { local.value.slot.wake(.answered) } })
        Task.immediate(executorPreference: loop.executor) { await local.value.run() }
    }

    private func run() async {
        while !isStopping {
            if let plan { await work(plan.export) }
            if isStopping { break }
            let due = plan == nil ? UInt64.max : min(loop.deadline(in: Self.sendTime), nextMetrics)
            _ = await slot.park(for: .answered | .cut, until: due)
        }
        hasEnded = true
        ending.wake(.answered)
    }

    /// Sends what is left, within `farewell`; no exchange is under way any more.
    func finish() async {
        isStopping = true
        slot.wake(.cut)
        let limit = loop.deadline(in: Self.farewell)
        for exporter in exporters.values { exporter.hurry(until: limit) }
        while !hasEnded { _ = await ending.park(for: .answered) }
        if let plan {
            nextMetrics = plan.export.metrics == nil ? .max : 0
            repeat {
                await work(plan.export)
                guard hasWork, loop.now < limit else { break }
                _ = await slot.park(for: .answered, until: limit)
            } while true
        }
        while exporters.values.contains(where: \.isBusy) {
            if loop.now >= limit { for worker in workers { await worker.cutExports() } }
            let next = loop.now < limit ? limit : loop.deadline(in: .milliseconds(20))
            _ = await slot.park(for: .answered, until: next)
        }
        let left = spans.count + logs.count
        if left > 0 { shared.logger.warning("telemetry: \(left) items are lost at the end") }
        shared.telemetry.set(call: nil)
        for exporter in exporters.values { exporter.retire() }
        slot.retire()
        ending.retire()
    }

    /// Whether something waits for a lane.
    private var hasWork: Bool {
        !spans.isEmpty || !logs.isEmpty || exporters.values.contains(where: \.isBusy)
    }

    // MARK: Messages

    private func work(_ export: ExportSettings) async {
        await collect(export)
        send(export)
        guard loop.now >= nextMetrics, let exporter = exporters[.metrics] else { return }
        nextMetrics = export.metrics.map { loop.deadline(in: $0) } ?? .max
        // Figures that find the lane busy are left out: the next ones say it all.
        guard !exporter.isBusy else { return }
        let metrics = await ProxyMetrics(shared, workers).all
        guard !exporter.isBusy else { return }
        let now = SystemCall.wallMicroseconds()
        let body = OTLPText.metrics(metrics, since: began, at: now, resource)
        exporter.send(body, items: metrics.count, to: export)
    }

    /// Makes spans and log records of exchanges that wait, as long as there is room for them.
    private func collect(_ export: ExportSettings) async {
        while spans.count < Self.itemsMax, logs.count < Self.itemsMax {
            let requests = shared.telemetry.takeRequests()
            if export.traces != nil, !requests.isEmpty {
                let maker = currentSpans
                spans += requests.map { maker.span(of: $0) }
            }
            let exchanges = shared.telemetry.take(atMost: Self.exchangesPerTurn)
            if exchanges.isEmpty { return }
            let maker = currentSpans
            for exchange in exchanges {
                if export.traces != nil { spans += maker.spans(of: exchange) }
                if export.logs, exchange.record.isDue { logs.append(maker.log(of: exchange)) }
            }
            send(export)
            // Other work of the control loop comes in between.
            await slot.giveWay()
        }
    }

    private func send(_ export: ExportSettings) {
        if !spans.isEmpty, let exporter = exporters[.traces], !exporter.isBusy {
            let batch = Array(spans.prefix(Self.itemsPerMessage))
            spans.removeFirst(batch.count)
            exporter.send(OTLPText.traces(batch, resource), items: batch.count, to: export)
        }
        if !logs.isEmpty, let exporter = exporters[.logs], !exporter.isBusy {
            let batch = Array(logs.prefix(Self.itemsPerMessage))
            logs.removeFirst(batch.count)
            let now = SystemCall.wallMicroseconds()
            let body = OTLPText.logs(batch, observed: now, resource)
            exporter.send(body, items: batch.count, to: export)
        }
    }

    /// The maker of spans, with all secrets that are known now.
    private var currentSpans: ExchangeSpans {
        let known = (shared.snapshot.number, shared.secrets.current)
        if let redaction, redaction.snapshot == known.0, redaction.secrets == known.1 {
            return redaction.spans
        }
        let spans = ExchangeSpans(shared.redactor)
        redaction = (known.0, known.1, spans)
        return spans
    }
}
