// The log as an event monitor: writes lines for stages and attempts.
import LupinCore
import LupinIO
import LupinRecords

/// Writes a line for every attempt and, when enabled, for every stage.
///
/// There is one per worker, which writes to the worker's sink: so the lines of an exchange are in
/// order, and precede the line of the whole exchange.
struct StageLog: EventMonitor {
    private let sink: LoopLocal<RecordSink>
    /// False at level `attempt`.
    private let writesStages: Bool

    init(_ sink: LoopLocal<RecordSink>, writesStages: Bool) {
        self.sink = sink
        self.writesStages = writesStages
    }

    private func write(
        _ stage: StageRecord.Stage,
        _ exchange: ExchangeMoment,
        _ fill: (inout StageRecord) -> Void = { _ in }
    ) {
        guard writesStages else { return }
        var record = StageRecord(stage, of: exchange)
        fill(&record)
        sink.value.write(record)
    }

    func exchangeDidBegin(_ exchange: ExchangeMoment, from client: ClientSummary) {
        write(.accepted, exchange) {
            $0.method = exchange.method
            $0.url = exchange.url
            $0.client = client
        }
    }

    func exchange(_ exchange: ExchangeMoment, didMatch rules: [String]) {
        write(.matched, exchange) { $0.rules = rules }
    }

    func exchange(_ exchange: ExchangeMoment, didAdaptRequestTo url: String, by steps: [String]) {
        write(.adapted, exchange) {
            $0.target = url
            $0.steps = steps
        }
    }

    func exchange(
        _ exchange: ExchangeMoment,
        didFailToAdaptRequestWith failure: FailureSummary
    ) {
        write(.adapted, exchange) { $0.failure = failure }
    }

    func exchange(_ exchange: ExchangeMoment, isWaitingForToken token: String) {
        write(.tokenWait, exchange) { $0.token = token }
    }

    func exchange(_ exchange: ExchangeMoment, isConnectingTo target: String) {
        write(.connecting, exchange) { $0.target = target }
    }

    func exchange(_ exchange: ExchangeMoment, didSendRequestOn connection: ConnectionSummary) {
        write(.sent, exchange) {
            $0.peer = connection.peer
            $0.httpVersion = connection.version
            $0.isReused = connection.isReused
        }
    }

    func exchange(_ exchange: ExchangeMoment, didMakeProgress progress: ProgressSummary) {
        write(.progress, exchange) {
            $0.sentBytes = progress.sentBytes
            $0.receivedBytes = progress.receivedBytes
        }
    }

    func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16) {
        write(.response, exchange) { $0.status = status }
    }

    func exchange(_ exchange: ExchangeMoment, didFindInCache status: String) {
        write(.cached, exchange) { $0.cache = status }
    }

    func exchange(_ exchange: ExchangeMoment, didFinishAttempt attempt: AttemptSummary) {
        sink.value.write(attempt, of: exchange)
    }

    func exchangeIsRetrying(_ exchange: ExchangeMoment, after attempt: AttemptSummary) {
        guard writesStages else { return }
        sink.value.write(StageRecord(.retrying, attempt, of: exchange))
    }

    func exchange(_ exchange: ExchangeMoment, didFinish summary: ExchangeSummary) {
        guard writesStages else { return }
        sink.value.write(StageRecord(summary, of: exchange))
    }

    func tokenDidRefresh(_ token: TokenSummary) {
        if writesStages { sink.value.write(StageRecord(token)) }
    }

    /// Written at every level, even when the log is off: it is lupin's own error.
    func tokenDidFailToRefresh(_ token: TokenSummary) {
        sink.value.write(StageRecord(token), isFailure: true)
    }
}

/// The monitors of an exchange: the log, if its level is high enough, and always an embedding
/// program's monitors.
struct StageMonitors {
    /// There are monitors that receive every exchange, whatever the log level.
    let areAsked: Bool
    private let others: [any EventMonitor]
    private let withAttempts: [any EventMonitor]
    private let withStages: [any EventMonitor]

    init(_ sink: LoopLocal<RecordSink>, and others: [any EventMonitor]) {
        self.others = others
        areAsked = !others.isEmpty
        withAttempts = [StageLog(sink, writesStages: false)] + others
        withStages = [StageLog(sink, writesStages: true)] + others
    }

    /// The monitors to notify when the log has `level`.
    subscript(level: LogSettings.Level) -> [any EventMonitor] {
        switch level {
        case .exchange: others
        case .attempt: withAttempts
        case .event: withStages
        }
    }
}
