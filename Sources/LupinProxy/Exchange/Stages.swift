// Reports the stages of an exchange to monitors; the engine reports each stage in one line.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// A stage of an exchange.
///
/// Converted to values for monitors only when there are any.
enum Stage {
    case adapted(AdaptedRequest)
    case failedToAdapt(LupinError)
    case tokenWait(String)
    case connecting(NextHop)
    case sent(any Upstream)
    case response(UInt16)
    /// With the value of `Cache-Status`.
    case cached(String)
}

extension Exchange {
    /// Reports a stage; costs one flag check when there are no monitors.
    @inline(__always)
    func note(_ stage: @autoclosure () -> Stage) {
        if isObserved { tell(stage()) }
    }

    /// Finds the monitors of the exchange, now that the rules are known.
    @inline(__always)
    func noteMatch() {
        if logLevel != .exchange || resources.monitors.areAsked { beginStages() }
    }

    /// Reports an attempt that is in the record, unless its body is still to come.
    @inline(__always)
    func noteAttemptEnd() {
        if stages != nil { tellAttemptEnd() }
    }

    /// Reports the progress of the bodies, if that is due.
    @inline(__always)
    func noteProgress() {
        if isObserved { tellProgress() }
    }

    /// Reports the end.
    @inline(__always)
    func noteEnd(of record: ExchangeRecord) {
        if logLevel != .exchange || resources.monitors.areAsked { tellEnd(of: record) }
    }

    private func tellEnd(of record: ExchangeRecord) {
        // The exchange may have ended before its rules were matched.
        if stages == nil { begin(record) }
        guard let stages else { return }
        let redactor = resources.redactor
        while stages.attempts < record.attempts.count {
            tell(record.attempts[stages.attempts], redactor)
        }
        if isObserved {
            let summary = ExchangeSummary(record, redactor)
            tell(attempt: record.attempts.count) { $0.exchange($1, didFinish: summary) }
        }
        isObserved = false
        self.stages = nil
    }

    // MARK: Beginning

    private func beginStages() {
        begin(record)
        guard isObserved else { return }
        let redactor = resources.redactor
        let rules = (plan?.names ?? []).map { redactor.cleaned($0) }
        tell(attempt: attempts.count) { $0.exchange($1, didMatch: rules) }
    }

    /// Sets the monitors from now on; the first time, reports what has happened so far.
    private func begin(_ record: ExchangeRecord) {
        let level = record.isLogOff ? .exchange : logLevel
        let monitors = resources.monitors[level]
        guard !monitors.isEmpty else { return }
        let isNew = stages == nil
        let redactor = resources.redactor
        let reporter =
            stages
            ?? StageReporter(
                monitors,
                ExchangeMoment(
                    id: record.id,
                    microseconds: record.startMicroseconds,
                    request: record.request ?? (hasRequest ? clientRequest ?? request : nil),
                    origin: record.origin,
                    redactor: redactor
                ),
                now: slot.loop.now
            )
        reporter.monitors = monitors
        stages = reporter
        isObserved = level == .event || resources.monitors.areAsked
        if isNew {
            // A rule of a later leg enabled them: earlier attempts are not reported.
            reporter.attempts = attempts.count
            if isObserved { tellBeginning(reporter) }
        }
        reporter.exchange.rules = record.rules.matched.map { redactor.cleaned($0) }
    }

    private func tellBeginning(_ reporter: StageReporter) {
        let redactor = resources.redactor
        let summary = ClientSummary(
            address: client.address.text,
            port: client.port,
            program: client.program.map { redactor.cleaned($0) },
            user: client.user.map { redactor.cleaned($0) }
        )
        reporter.tell { $0.exchangeDidBegin($1, from: summary) }
        resources.flushSoon()
    }

    // MARK: Reporting

    private func tell(_ stage: Stage) {
        let redactor = resources.redactor
        // The attempt under way is appended with its verdict, after its stages.
        let number = attempts.count + 1
        switch stage {
        case .adapted(let adapted):
            let origin = "\(adapted.origin.scheme.name)://\(adapted.origin.authority)"
            let target = redactor.cleaned(origin + adapted.head.pathText)
            let steps = adapted.request.steps.applied.map { redactor.cleaned($0) }
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
            stages?.restartProgress(now: slot.loop.now)
            tell(attempt: number) { $0.exchange($1, didReceiveResponseWith: status) }
        case .cached(let status):
            tell(attempt: attempts.count) { $0.exchange($1, didFindInCache: status) }
        }
    }

    private func tellProgress() {
        guard let stages else { return }
        let progress = ProgressSummary(
            sentBytes: takenBytes ?? 0,
            receivedBytes: download.map { passedAtOnce &+ $0.bytes } ?? 0
        )
        let bytes = progress.sentBytes &+ progress.receivedBytes
        guard stages.isProgressDue(bytes, now: slot.loop.now) else { return }
        let number = download == nil ? attempts.count + 1 : attempts.count
        tell(attempt: number) { $0.exchange($1, didMakeProgress: progress) }
    }

    private func tellAttemptEnd() {
        guard let attempt = attempts.last, attempt.decision != .deliver else { return }
        tell(attempt, resources.redactor)
    }

    private func tell(_ attempt: AttemptRecord, _ redactor: Redactor) {
        guard let stages else { return }
        stages.attempts += 1
        let summary = AttemptSummary(attempt, number: stages.attempts, redactor)
        tell(attempt: stages.attempts) { $0.exchange($1, didFinishAttempt: summary) }
        guard attempt.decision != .deliver, attempt.decision != .giveUp else { return }
        tell(attempt: stages.attempts) { $0.exchangeIsRetrying($1, after: summary) }
    }

    private func tell(
        attempt: Int,
        _ hook: (any EventMonitor, ExchangeMoment) -> Void
    ) {
        guard let stages else { return }
        stages.exchange.attempt = attempt
        stages.exchange.microseconds = resources.wallNow
        stages.tell(hook)
        resources.flushSoon()
    }
}

extension WorkerResources {
    /// Reports that a credential was fetched, or could not be: then `version` is nil.
    ///
    /// `isLogged` means that the log level of the requesting exchange is `event`.
    func tell(ofToken name: String, version: Int?, detail: String = "", isLogged: Bool) {
        guard !isClosed else { return }
        let redactor = redactor
        let token = TokenSummary(
            name: redactor.cleaned(name),
            version: version,
            detail: redactor.cleaned(detail),
            microseconds: wallNow
        )
        for monitor in monitors[isLogged || version == nil ? .event : .exchange] {
            if version == nil {
                monitor.tokenDidFailToRefresh(token)
            } else {
                monitor.tokenDidRefresh(token)
            }
        }
        flushSoon()
    }
}
