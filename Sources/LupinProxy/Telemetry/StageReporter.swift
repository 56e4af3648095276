// The monitors of one exchange, and what has been reported to them.
import LupinCore
import LupinPolicy
import LupinUpstream

/// What monitors have been sent about an exchange; exists only when there are monitors.
final class StageReporter {
    var monitors: [any EventMonitor]
    /// The exchange as monitors see it.
    var exchange: ExchangeMoment
    /// The number of attempts whose end was reported.
    var attempts = 0
    /// The last reported progress, and its time in microseconds of the loop's clock.
    private var progress: (bytes: UInt64, at: UInt64)
    private let resources: WorkerResources

    /// Progress is reported after this time, in microseconds, or after this many bytes.
    private static let progressInterval: UInt64 = 1_000_000
    private static let progressBytes: UInt64 = 1 << 20

    init(
        _ monitors: [any EventMonitor],
        _ exchange: ExchangeMoment,
        _ resources: WorkerResources
    ) {
        self.monitors = monitors
        self.exchange = exchange
        self.resources = resources
        progress = (0, resources.now)
    }

    /// Notes the rules as monitors see them.
    func note(rules names: [String]) { exchange.rules = cleaned(names) }

    private func cleaned(_ texts: [String]) -> [String] {
        let redactor = resources.redactor
        return texts.map { redactor.cleaned($0) }
    }

    /// Calls `hook` for every monitor.
    private func tell(attempt: Int, _ hook: (any EventMonitor, ExchangeMoment) -> Void) {
        exchange.attempt = attempt
        exchange.microseconds = resources.wallNow
        for monitor in monitors { hook(monitor, exchange) }
        resources.flushSoon()
    }

    // MARK: Stages

    func tellBeginning(of client: Client) {
        let redactor = resources.redactor
        let summary = ClientSummary(
            address: client.address.text,
            port: client.port,
            program: client.program.map { redactor.cleaned($0) },
            user: client.user.map { redactor.cleaned($0) }
        )
        for monitor in monitors { monitor.exchangeDidBegin(exchange, from: summary) }
        resources.flushSoon()
    }

    func tell(attempt: Int, matched names: [String]) {
        let rules = cleaned(names)
        tell(attempt: attempt) { $0.exchange($1, didMatch: rules) }
    }

    /// Reports a stage; so many attempts have ended before.
    func tell(_ stage: Stage, behind attempts: Int) {
        let redactor = resources.redactor
        // The attempt under way is appended with its verdict, after its stages.
        let number = attempts + 1
        switch stage {
        case .adapted(let adapted):
            let origin = "\(adapted.origin.scheme.name)://\(adapted.origin.authority)"
            let target = redactor.cleaned(origin + adapted.head.pathText)
            let steps = cleaned(adapted.request.steps.applied)
            tell(attempt: number) { $0.exchange($1, didAdaptRequestTo: target, by: steps) }
        case .failedToAdapt(let error):
            let failure = FailureSummary(error, redactor)
            tell(attempt: number) { $0.exchange($1, didFailToAdaptRequestWith: failure) }
        case .tokenWait(let name):
            let name = redactor.cleaned(name)
            tell(attempt: number) { $0.exchange($1, isWaitingForToken: name) }
        case .connecting(let hop):
            let target = redactor.cleaned(hop.text)
            tell(attempt: number) { $0.exchange($1, isConnectingTo: target) }
        case .sent(let upstream):
            let connection = ConnectionSummary(
                peer: upstream.peer.map { "\($0)" } ?? "",
                version: upstream.version.text,
                isReused: upstream.isReused
            )
            tell(attempt: number) { $0.exchange($1, didSendRequestOn: connection) }
        case .response(let status):
            // The next progress by time counts from here.
            progress.at = resources.now
            tell(attempt: number) { $0.exchange($1, didReceiveResponseWith: status) }
        case .cached(let status):
            tell(attempt: attempts) { $0.exchange($1, didFindInCache: status) }
        }
    }

    func tellProgress(sent: UInt64, received: UInt64, attempt: Int) {
        let progress = ProgressSummary(sentBytes: sent, receivedBytes: received)
        guard isProgressDue(sent &+ received, now: resources.now) else { return }
        tell(attempt: attempt) { $0.exchange($1, didMakeProgress: progress) }
    }

    /// Reports an attempt that is in the record, unless its body is still to come.
    func tellEnd(of attempt: AttemptRecord) {
        if attempt.decision != .deliver { report(attempt) }
    }

    private func report(_ attempt: AttemptRecord) {
        attempts += 1
        let number = attempts
        let summary = AttemptSummary(attempt, number: number, resources.redactor)
        tell(attempt: number) { $0.exchange($1, didFinishAttempt: summary) }
        guard attempt.decision != .deliver, attempt.decision != .giveUp else { return }
        tell(attempt: number) { $0.exchangeIsRetrying($1, after: summary) }
    }

    /// Reports what is left, and the end.
    func tellEnd(of record: ExchangeRecord, isObserved: Bool) {
        while attempts < record.attempts.count { report(record.attempts[attempts]) }
        guard isObserved else { return }
        let summary = ExchangeSummary(record, resources.redactor)
        tell(attempt: record.attempts.count) { $0.exchange($1, didFinish: summary) }
    }

    /// Whether progress of the bodies is due to be reported; called when bytes may have moved.
    private func isProgressDue(_ bytes: UInt64, now: UInt64) -> Bool {
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
