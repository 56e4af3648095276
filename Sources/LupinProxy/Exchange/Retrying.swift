// Decides whether a failed attempt is repeated, within its budget and after which delay.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// The state that retries keep from one failed attempt to the next.
struct RetryProgress {
    /// The number of attempts repeated after a failure.
    var retries = 0
    /// Statuses that led to another attempt.
    var statuses: [UInt16] = []
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
}

extension Exchange {
    /// An exchange ends after this many attempts, whatever rules and retriers decide.
    private static let attemptsMax = 50

    /// The retry policy of the rules.
    var retryPolicy: RetryPolicy { plan?.retry ?? .safe }

    /// Decides about a failed attempt, and closes it in the record.
    /// - Returns: How long to wait before the next one.
    /// - Throws: The error that ends the exchange.
    func evaluate(
        _ error: LupinError,
        of attempt: Attempt
    ) async throws(LupinError) -> Duration {
        noteOutcome(of: attempt, failure: error)
        if let waited = try await waitForNetwork(after: error) {
            attempt.close(error: error, decision: .retry, reason: waited)
            retry.delay = .zero
            return .zero
        }
        let failure = attempt.failure(error)
        switch try await decide(on: failure, of: attempt) {
        case .retry(let reason):
            attempt.close(error: error, decision: .retry, reason: reason)
            return noteRetry()
        case .retryWithDelay(let delay, let reason):
            attempt.close(error: error, decision: .retry, reason: reason, delay: delay)
            return noteRetry(delay)
        case .doNotRetry(let reason):
            attempt.close(error: error, decision: .giveUp, reason: reason)
            throw error.withRoutes.adding(retryPolicy.advice(after: failure))
        case .doNotRetryWithError(let other):
            let isLate = other as? LupinError == .totalTimeIsOver(attempt.origin)
            let reason = isLate ? Self.noTimeIsLeft : Self.retrierSaidSo
            attempt.close(error: error, decision: .giveUp, reason: reason)
            throw .said(byRetrier: other)
        }
    }

    /// Decides about a response: an embedding program's retrier first, then the policy.
    ///
    /// `validationFailure` is set when the response failed `validate`.
    func askRetriers(
        _ obtained: ObtainedResponse,
        _ attempt: Attempt,
        validationFailure: String? = nil
    ) async throws(LupinError) -> Verdict? {
        let response = obtained.response
        let isMinded = validationFailure != nil || retryPolicy.minds(response.status)
        guard isMinded || resources.shared.hasInterceptor else { return nil }
        var failure = attempt.failure(nil)
        failure.response = response.head
        failure.validationFailure = validationFailure
        failure.retryAfter = RetryAfterField.delay(
            of: response.head.fields,
            now: resources.wallNow
        )
        switch try await decide(on: failure, of: attempt) {
        case .retry(let reason):
            retry.statuses.append(response.status)
            return .again(.retry, .retry, reason: reason, delay: noteRetry())
        case .retryWithDelay(let delay, let reason):
            retry.statuses.append(response.status)
            let isAskedFor = delay == failure.retryAfter
            let noted = noteRetry(delay, isAskedFor: isAskedFor)
            return .again(.retry, .retry, reason: reason, delay: noted)
        case .doNotRetry(let reason): return isMinded ? .deliver(reason: reason) : nil
        case .doNotRetryWithError(let error):
            attempt.close(
                status: response.status,
                decision: .giveUp,
                reason: Self.retrierSaidSo
            )
            throw .said(byRetrier: error)
        }
    }

    private static let retrierSaidSo = "a retrier said so"
    private static let noTimeIsLeft = "timeouts.total would be over before the next attempt"

    private func noteRetry(_ delay: Duration = .zero, isAskedFor: Bool = false) -> Duration {
        retry.retries += 1
        retry.delay = delay
        retry.isAskedFor = isAskedFor
        return delay
    }

    /// The embedding program's retriers come first; if they don't object, the policy decides,
    /// within the host's budget.
    private func decide(
        on failure: FailedAttempt,
        of attempt: Attempt
    ) async throws(LupinError) -> RetryResult {
        guard attempts.count + 1 < Self.attemptsMax else {
            return .doNotRetry(reason: "\(Self.attemptsMax) attempts are enough")
        }
        let error = failure.error
        // A failure caused by lupin itself or by the client is not passed to retriers.
        let isForOthers = error.map { $0.retry != .never || !$0.isOurs } ?? true
        var asked = failure
        if let interceptor = resources.shared.interceptor, isForOthers, attempt.isReplayable,
            !failure.isCommitted
        {
            awaited = .program
            let result = await interceptor.retry(attempt.adapted.request, after: failure)
            awaited = nil
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
        asked.previousDelay = retry.delay
        asked.chance = resources.chance()
        return afford(retryPolicy.evaluate(asked), of: attempt, after: error)
    }

    /// Checks that there is time for a retry, and that the host's budget allows it.
    private func afford(
        _ result: RetryResult,
        of attempt: Attempt,
        after error: LupinError?
    ) -> RetryResult {
        var wait = Duration.zero
        switch result {
        case .retry: break
        case .retryWithDelay(let delay, _): wait = delay
        case .doNotRetry, .doNotRetryWithError: return result
        }
        let origin = attempt.origin
        if slot.loop.deadline(in: wait) >= totalDeadline {
            // The last response is better than none.
            guard error != nil else {
                return .doNotRetry(reason: Self.noTimeIsLeft)
            }
            return .doNotRetryWithError(LupinError.totalTimeIsOver(origin))
        }
        return refusal(ofRetryAt: origin).map { .doNotRetry(reason: $0) } ?? result
    }

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

    /// Notes the outcome of an attempt for the host's budget and circuit, whatever rules match.
    ///
    /// A tunnel is no request, and says nothing about those that the host gets.
    func noteOutcome(
        of attempt: Attempt,
        status: UInt16 = 0,
        failure: LupinError? = nil
    ) {
        guard snapshot.countsAttempts, request.method != .connect else { return }
        // The client's leaving says nothing about the host.
        if let failure, failure.isOurs { return }
        let now = self.now
        let isFailure = failure != nil || isHostFailure(status)
        let isRequest = attempt.facts.cause.isRequest
        let isRetry = attempt.facts.cause == .retry
        let elapsed = plan?.hedge != nil && failure == nil ? attempt.elapsed : nil
        attempt.health(now: now).use { health in
            if isRequest { health.noteRequest(now) }
            health.noteOutcome(
                isFailure: isFailure,
                isRetry: isRetry,
                begun: attempt.begun,
                now
            )
            if let elapsed { health.noteResponse(afterMicroseconds: elapsed, now) }
        }
    }

    private func isHostFailure(_ status: UInt16) -> Bool {
        plan?.isFailure(status) ?? RetryPolicy.defaultStatus.contains(status)
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

    /// Waits for a network if the machine has none: Alamofire's `OfflineRetrier`.
    /// - Returns: The result as text; nil when there is nothing to wait for, or when the network
    ///   did not come back.
    private func waitForNetwork(
        after error: LupinError
    ) async throws(LupinError) -> String? {
        guard let plan, plan.retry.offlineWait > .zero, plan.retry.limit > 0,
            !retry.hasWaitedForNetwork, error.isOffline
        else { return nil }
        retry.hasWaitedForNetwork = true
        let began = now
        let deadline = min(slot.loop.deadline(in: plan.retry.offlineWait), totalDeadline)
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
