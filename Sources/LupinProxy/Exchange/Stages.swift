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
        if let stages, let last = attempts.last { stages.tellEnd(of: last) }
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
        stages?.tellEnd(of: record, isObserved: isObserved)
        isObserved = false
        stages = nil
    }

    private func beginStages() {
        begin(record)
        guard isObserved else { return }
        stages?.tell(attempt: attempts.count, matched: plan?.names ?? [])
    }

    /// Sets the monitors from now on; the first time, reports what has happened so far.
    private func begin(_ record: ExchangeRecord) {
        let level = record.isLogOff ? .exchange : logLevel
        let monitors = resources.monitors[level]
        guard !monitors.isEmpty else { return }
        let isNew = stages == nil
        let reporter =
            stages
            ?? StageReporter(
                monitors,
                ExchangeMoment(
                    id: record.id,
                    microseconds: record.startMicroseconds,
                    request: record.request ?? (hasRequest ? clientRequest ?? request : nil),
                    origin: record.origin,
                    redactor: resources.redactor
                ),
                resources
            )
        reporter.monitors = monitors
        stages = reporter
        isObserved = level == .event || resources.monitors.areAsked
        if isNew {
            // A rule of a later leg enabled them: earlier attempts are not reported.
            reporter.attempts = attempts.count
            if isObserved { reporter.tellBeginning(of: client) }
        }
        reporter.note(rules: record.rules.matched)
    }

    private func tell(_ stage: Stage) { stages?.tell(stage, behind: attempts.count) }

    private func tellProgress() {
        stages?.tellProgress(
            sent: takenBytes ?? 0,
            received: download.map { passedAtOnce &+ $0.bytes } ?? 0,
            attempt: download == nil ? attempts.count + 1 : attempts.count
        )
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
