// Decides whether a failed attempt is repeated, within its budget and after which delay.
package import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// The state that retries keep from one failed attempt to the next.
package struct RetryProgress {
    /// The number of attempts repeated after a failure.
    package internal(set) var retries = 0
    /// Statuses that led to another attempt.
    package internal(set) var statuses: [UInt16] = []
    /// The delay before the attempt under way.
    var delay = Duration.zero
    /// The origin asked for that delay, by Retry-After.
    var isAskedFor = false
    /// The exchange has waited for a missing network already.
    var hasWaitedForNetwork = false
    /// Hedges that lost, until the attempt beside which they ran is in the record.
    var losers: [AttemptRecord] = []
    /// The origin refused the compressed body.
    var goesPlain = false
    /// It may have done so by this status: the answer to the plain one says whether compression was
    /// the reason.
    var likelyRefusal: UInt16?

    package init() {}
}

/// An exchange ends after this many attempts, whatever rules and retriers decide.
private let attemptsMax = 50
private let retrierSaidSo = "a retrier said so"
private let noTimeIsLeft = "timeouts.total would be over before the next attempt"

extension AttemptJudge {
    private var retryPolicy: RetryPolicy { plan?.retry ?? .safe }

    /// Decides about a failed attempt, and closes it in the record.
    /// - Returns: How long to wait before the next one.
    /// - Throws: The error that ends the exchange.
    package func delay(after error: LupinError) async throws(LupinError) -> Duration {
        if let waited = try await waitForNetwork(after: error) {
            close(error, .retry, waited)
            client.retry.delay = .zero
            return .zero
        }
        let failure = attempt.failure(error)
        switch try await decide(on: failure) {
        case .retry(let reason):
            close(error, .retry, reason)
            return noteRetry()
        case .retryWithDelay(let delay, let reason):
            close(error, .retry, reason, delay)
            return noteRetry(delay)
        case .doNotRetry(let reason):
            close(error, .giveUp, reason)
            throw error.withRoutes.adding(retryPolicy.advice(after: failure))
        case .doNotRetryWithError(let other):
            let isLate = other as? LupinError == .totalTimeIsOver(attempt.origin)
            close(error, .giveUp, isLate ? noTimeIsLeft : retrierSaidSo)
            throw .said(byRetrier: other)
        }
    }

    /// Decides about a response: an embedding program's retrier first, then the policy.
    ///
    /// `validationFailure` is set when the response failed `validate`.
    func askRetriers(
        _ response: ParsedResponse,
        validationFailure: String? = nil
    ) async throws(LupinError) -> Verdict? {
        let isMinded = validationFailure != nil || retryPolicy.minds(response.status)
        guard isMinded || client.program != nil else { return nil }
        var failure = attempt.failure(nil)
        failure.response = response.head
        failure.validationFailure = validationFailure
        failure.retryAfter = RetryAfterField.delay(
            of: response.head.fields,
            now: client.wallNow
        )
        switch try await decide(on: failure) {
        case .retry(let reason):
            client.retry.statuses.append(response.status)
            return .again(.retry, .retry, reason: reason, delay: noteRetry())
        case .retryWithDelay(let delay, let reason):
            client.retry.statuses.append(response.status)
            let isAskedFor = delay == failure.retryAfter
            let noted = noteRetry(delay, isAskedFor: isAskedFor)
            return .again(.retry, .retry, reason: reason, delay: noted)
        case .doNotRetry(let reason): return isMinded ? .deliver(reason: reason) : nil
        case .doNotRetryWithError(let error):
            close(nil, .giveUp, retrierSaidSo, status: response.status)
            throw .said(byRetrier: error)
        }
    }

    func close(
        _ error: LupinError?,
        _ decision: AttemptRecord.Decision,
        _ reason: String,
        _ delay: Duration = .zero,
        status: UInt16 = 0
    ) {
        attempt.close(
            status: status,
            error: error,
            decision: decision,
            reason: reason,
            delay: delay
        )
    }

    private func noteRetry(_ delay: Duration = .zero, isAskedFor: Bool = false) -> Duration {
        client.retry.retries += 1
        client.retry.delay = delay
        client.retry.isAskedFor = isAskedFor
        return delay
    }

    /// The embedding program's retriers come first; if they don't object, the policy decides,
    /// within the host's budget.
    private func decide(on failure: FailedAttempt) async throws(LupinError) -> RetryResult {
        guard client.attemptsCount + 1 < attemptsMax else {
            return .doNotRetry(reason: "\(attemptsMax) attempts are enough")
        }
        let error = failure.error
        // A failure caused by lupin itself or by the client is not passed to retriers.
        let isForOthers = error.map { $0.retry != .never || !$0.isOurs } ?? true
        var asked = failure
        if let program = client.program, isForOthers, attempt.isReplayable, !failure.isCommitted {
            client.awaited = .program
            let result = await program.retry(attempt.adapted.request, after: failure)
            client.awaited = nil
            // Meanwhile the client may have sent more of its body than is kept.
            if !attempt.isReplayable { (asked.isReplayable, asked.hasSentBytes) = (false, true) }
            switch result {
            case .doNotRetry: break
            case .doNotRetryWithError: return result
            case .retry, .retryWithDelay:
                guard attempt.isReplayable else {
                    return .doNotRetry(reason: "the body was not kept")
                }
                return result
            }
        }
        asked.previousDelay = client.retry.delay
        asked.chance = client.chance()
        return afford(retryPolicy.evaluate(asked), after: error)
    }

    /// Checks that there is time for a retry, and that the host's budget allows it.
    private func afford(_ result: RetryResult, after error: LupinError?) -> RetryResult {
        var wait = Duration.zero
        switch result {
        case .retry: break
        case .retryWithDelay(let delay, _): wait = delay
        case .doNotRetry, .doNotRetryWithError: return result
        }
        let origin = attempt.origin
        if client.deadline(in: wait) >= client.totalDeadline {
            // The last response is better than none.
            guard error != nil else {
                return .doNotRetry(reason: noTimeIsLeft)
            }
            return .doNotRetryWithError(LupinError.totalTimeIsOver(origin))
        }
        return client.refusal(ofRetryAt: origin).map { .doNotRetry(reason: $0) } ?? result
    }

    /// Waits for a network if the machine has none: Alamofire's `OfflineRetrier`.
    /// - Returns: The result as text; nil when there is nothing to wait for, or when the network
    ///   did not come back.
    private func waitForNetwork(after error: LupinError) async throws(LupinError) -> String? {
        guard let plan, plan.retry.offlineWait > .zero, plan.retry.limit > 0,
            !client.retry.hasWaitedForNetwork, error.isOffline
        else { return nil }
        client.retry.hasWaitedForNetwork = true
        return try await client.waitForNetwork(atMost: plan.retry.offlineWait)
    }
}

extension Exchange {
    /// The retry policy of the rules.
    var retryPolicy: RetryPolicy { plan?.retry ?? .safe }

    /// Why the host gets no further attempt; nil when it does, and then the attempt is counted.
    func refusal(ofRetryAt origin: Origin) -> String? {
        guard let policy = plan?.retry, policy.budget != nil || policy.circuit != nil else {
            return nil
        }
        let now = self.now
        return resources.shared.health.record(of: origin, now: now).use { health in
            if let circuit = policy.circuit, health.isOpen(circuit, now) {
                let count = circuit.failures
                return "the last \(count) attempts at \(origin.authority) failed"
            }
            guard let budget = policy.budget else { return nil }
            guard case .spent(let retries, let allowed) = health.admitRetry(budget, now) else {
                return nil
            }
            let window = UnitText.duration(budget.window.milliseconds)
            let spent = "\(retries) of \(allowed) in \(window)"
            return "the retry budget of \(origin.authority) is spent: \(spent)"
        }
    }

    /// Parks until one of the reasons, the deadline, or the end of the exchange.
    ///
    /// Meanwhile the log says that the exchange waits for `phase`.
    /// - Throws: The error that ended the exchange.
    func park(
        _ phase: LiveExchange.Wait,
        for reasons: WakeReasons,
        until deadline: UInt64
    ) async throws(LupinError) {
        awaited = phase
        defer { awaited = nil }
        let woken = await slot.park(for: reasons | interruptions, until: deadline)
        if woken.meets(.cut) { throw .stopping }
        if woken.meets(interruptions) { throw .clientGone }
    }

    /// Waits while only the replay is held.
    func pause(_ time: Duration, _ phase: LiveExchange.Wait) async throws(LupinError) {
        let deadline = min(slot.loop.deadline(in: time), totalDeadline)
        while now < deadline { try await park(phase, for: [], until: deadline) }
        if now >= totalDeadline { throw .totalTimeIsOver(record.origin) }
    }

    func waitForNetwork(atMost time: Duration) async throws(LupinError) -> String? {
        let began = now
        let deadline = min(slot.loop.deadline(in: time), totalDeadline)
        let waiters = resources.networkWaiters
        waiters.add(slot)
        defer { waiters.remove(slot) }
        while now < deadline {
            try await park(.network, for: .answered, until: deadline)
            guard NetworkRoutes.hasDefault() else { continue }
            let waited = UnitText.duration(Int64((now &- began) / 1000))
            return "the network is back after \(waited)"
        }
        return nil
    }
}

extension Attempt {
    /// Notes the outcome for the host's budget and circuit, whatever rules match.
    ///
    /// A tunnel is no request, and says nothing about those that the host gets.
    func noteOutcome(status: UInt16 = 0, failure: LupinError? = nil) {
        guard exchange.snapshot.countsAttempts, exchange.request.method != .connect else { return }
        // The client's leaving says nothing about the host.
        if let failure, failure.isOurs { return }
        let (now, plan) = (exchange.now, exchange.plan)
        let isFailure =
            failure != nil
            || (plan?.isFailure(status) ?? RetryPolicy.defaultStatus.contains(status))
        let isRequest = facts.cause.isRequest
        let isRetry = facts.cause == .retry
        let elapsed = plan?.hedge != nil && failure == nil ? elapsed : nil
        let begun = begun
        health(now: now).use { health in
            if isRequest { health.noteRequest(now) }
            health.noteOutcome(isFailure: isFailure, isRetry: isRetry, begun: begun, now)
            if let elapsed { health.noteResponse(afterMicroseconds: elapsed, now) }
        }
    }
}

extension AttemptRecord.Cause {
    /// Whether the attempt counts as a request of its own, and not as a retry.
    ///
    /// A hedge that won replaces the attempt beside which it began, and fetching the rest of a body
    /// is a normal request.
    fileprivate var isRequest: Bool {
        switch self {
        case .first, .redirect, .hedge, .resume, .revalidate, .collapseLeader: true
        case .retry, .auth: false
        }
    }
}

extension LupinError {
    /// Whether the attempt failed because the machine has no default route.
    fileprivate var isOffline: Bool {
        (kind == .destinationIPUnroutable || kind == .dnsError || kind == .dnsTimeout)
            && !NetworkRoutes.hasDefault()
    }

    /// The same error, with a note if the machine has no network.
    fileprivate var withRoutes: LupinError {
        adding(isOffline ? "This machine has no default route." : nil)
    }

    /// The error that a retrier chose for the exchange.
    fileprivate static func said(byRetrier error: any Error) -> LupinError {
        error as? LupinError
            ?? LupinError(.proxyInternalError, detail: "A retrier failed: \(error)", status: 502)
    }
}
