// How an exchange comes to its response: attempt after attempt, until one is delivered.
import LupinCore
import LupinIO
import LupinWire

/// A final response that is the exchange's, and where its body comes from.
struct ObtainedResponse {
    let response: ParsedResponse
    /// What was held back is in memory; all else still comes from upstream.
    let body: any BodySource
}

/// What becomes of a response.
enum Verdict {
    case deliver(reason: String)
    /// The same request again.
    case again(AttemptRecord.Cause, AttemptRecord.Decision, reason: String, delay: Duration)
    /// Another request, which a redirect asks for.
    case follow(Leg, reason: String)
}

extension Exchange {
    /// Sends the request, again where that helps, until there is a response for the client.
    ///
    /// Every attempt begins with a fresh copy of the client's request and runs all adapters.
    /// - Returns: nil where a rule answers, once a redirect was followed.
    ///
    /// `fixed` is what is sent as it is: a CONNECT to a parent proxy.
    func obtainResponse(
        to client: KnownTarget,
        as fixed: AdaptedRequest? = nil
    ) async throws(LupinError) -> ObtainedResponse? {
        var target = client
        var cause = AttemptRecord.Cause.first
        var delay = Duration.zero
        var replay: BodyReplay?
        while true {
            let began = slot.loop.now
            if delay > .zero { try await pause(delay) }
            let adapted: AdaptedRequest
            if let fixed {
                adapted = fixed
            } else if let plain = try unadapted(for: target) {
                adapted = plain
            } else {
                adapted = try await adapt(for: target)
                if resources.keepsHistory { sentHead = adapted.head }
                if let wait = plan?.delay { try await pause(wait) }
            }
            try checkBehindParent(
                adapted.origin,
                adapted.hop,
                isHostFromFile: adapted.isHostFromFile
            )
            note(.adapted(adapted))
            let attempt = Attempt(adapted, of: self, because: cause, replay: replay)
            attempt.facts.noteWait(slot.loop.now &- began)
            let response: ParsedResponse
            do throws(LupinError) {
                response = try await attempt.run()
            } catch {
                delay = try await evaluate(error, of: attempt)
                cause = .retry
                replay = attempt.replay
                dropUpstream()
                upload = nil
                continue
            }
            guard let upstream else { throw .stopping }
            var obtained = ObtainedResponse(response: response, body: upstream.responseBody)
            if answersParent(response, attempt) {
                let reason = "the parent proxy asks for Digest"
                attempt.close(status: response.status, decision: .refresh, reason: reason)
                (cause, delay, replay) = (.auth, .zero, attempt.replay)
                try await letGo(of: obtained)
                continue
            }
            guard hasJudges, response.status != 101 else {
                attempt.close(status: response.status, decision: .deliver, reason: "")
                return obtained
            }
            switch try await verdict(on: &obtained, of: attempt) {
            case .deliver(let reason):
                attempt.close(status: response.status, decision: .deliver, reason: reason)
                return obtained
            case .again(let next, let decision, let reason, let wait):
                attempt.close(
                    status: response.status,
                    decision: decision,
                    reason: reason,
                    delay: wait
                )
                cause = next
                delay = wait
                replay = attempt.replay
                try await letGo(of: obtained)
            case .follow(let leg, let reason):
                attempt.close(status: response.status, decision: .follow, reason: reason)
                cause = .redirect
                delay = .zero
                replay = leg.dropsBody ? nil : attempt.replay
                try await letGo(of: obtained)
                target = try await begin(leg)
                if plan?.respond != nil { return nil }
            }
        }
    }

    /// Asks who decides about a failed attempt, and closes it in the record.
    /// - Returns: How long to wait before the next one.
    /// - Throws: What ends the exchange.
    private func evaluate(
        _ error: LupinError,
        of attempt: Attempt
    ) async throws(LupinError) -> Duration {
        let failure = attempt.failure(error, retries: retries)
        var result = RetryResult.doNotRetry(reason: "")
        let isForOthers = error.retry != .never || !error.isOurs
        if let interceptor = resources.shared.interceptor, isForOthers, !failure.isCommitted {
            result = await interceptor.retry(attempt.adapted.request, after: failure)
            if failure.hasSentBytes, !failure.isReplayable {
                result = .doNotRetry(reason: "the body was not kept")
            }
        }
        if case .doNotRetry = result { result = RetryPolicy.safe.evaluate(failure) }
        switch result {
        case .retry(let reason):
            attempt.close(error: error, decision: .retry, reason: reason)
            retries += 1
            return .zero
        case .retryWithDelay(let delay, let reason):
            attempt.close(error: error, decision: .retry, reason: reason)
            retries += 1
            return delay
        case .doNotRetry(let reason):
            attempt.close(error: error, decision: .giveUp, reason: reason)
            throw error
        case .doNotRetryWithError(let other):
            attempt.close(error: error, decision: .giveUp, reason: "a retrier said so")
            throw .said(byRetrier: other)
        }
    }

    /// Waits with nothing in hand but the replay.
    func pause(_ time: Duration) async throws(LupinError) {
        let deadline = min(slot.loop.deadline(in: time), totalDeadline)
        while slot.loop.now < deadline {
            let woken = await slot.park(for: interruptions, until: deadline)
            if woken.meets(.cut) { throw .stopping }
            if woken.meets(interruptions) { throw .clientGone }
        }
        if slot.loop.now >= totalDeadline { throw .totalTimeIsOver(record.origin) }
    }

    /// What becomes of a response, once all that is waited for has come.
    private func verdict(
        on obtained: inout ObtainedResponse,
        of attempt: Attempt
    ) async throws(LupinError) -> Verdict {
        let status = obtained.response.status
        let count = attempts.count
        let verdict: Verdict
        do throws(LupinError) {
            verdict = try await judge(&obtained, of: attempt)
        } catch {
            if attempts.count == count {
                attempt.close(status: status, error: error, decision: .giveUp, reason: "")
            }
            throw error
        }
        // Meanwhile the client may have sent more of its body than is kept.
        guard !attempt.isReplayable else { return verdict }
        switch verdict {
        case .follow(let leg, _) where leg.dropsBody: return verdict
        case .deliver: return verdict
        case .again, .follow: return .deliver(reason: "the body was not kept")
        }
    }

    /// Decides on a final response, in Alamofire's order: credentials first, then redirects, then
    /// validation, then whoever else is asked.
    private func judge(
        _ obtained: inout ObtainedResponse,
        of attempt: Attempt
    ) async throws(LupinError) -> Verdict {
        // A CONNECT to a parent proxy is nobody's to repeat.
        if request.method == .connect { return .deliver(reason: "") }
        keepCookies(of: obtained.response.head, to: attempt.adapted.request)
        if let verdict = try await askForCredentials(&obtained, attempt) { return verdict }
        if let verdict = try await sendPlain(&obtained, attempt) { return verdict }
        if let verdict = try await redirect(&obtained, attempt) { return verdict }
        if let verdict = try await validate(&obtained, attempt) { return verdict }
        if let verdict = try await askRetrier(&obtained, attempt) { return verdict }
        return .deliver(reason: "")
    }

    /// Whether anybody has a say about responses.
    private var hasJudges: Bool {
        plan != nil || resources.shared.interceptor != nil
    }

    /// A response that refuses the credentials is held back while others are fetched.
    private func askForCredentials(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        guard let authentication else { return nil }
        authentication.noteAuthenticationInfo(of: obtained.response.head)
        guard authentication.minds(obtained.response.status) else { return nil }
        obtained = try await hold(obtained).0
        let outcome = try await authentication.retry(
            after: obtained.response.head,
            isReplayable: attempt.isReplayable
        )
        guard let outcome else { return nil }
        guard outcome.decision == .refresh else { return .deliver(reason: outcome.reason) }
        return .again(.auth, .refresh, reason: outcome.reason, delay: .zero)
    }

    /// An embedding program may want another attempt for the sake of a status.
    private func askRetrier(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        let response = obtained.response
        guard let interceptor = resources.shared.interceptor, attempt.isReplayable else {
            return nil
        }
        var failure = attempt.failure(nil, retries: retries)
        failure.response = response.head
        switch await interceptor.retry(attempt.adapted.request, after: failure) {
        case .retry(let reason):
            retries += 1
            return .again(.retry, .retry, reason: reason, delay: .zero)
        case .retryWithDelay(let delay, let reason):
            retries += 1
            return .again(.retry, .retry, reason: reason, delay: delay)
        case .doNotRetry: return nil
        case .doNotRetryWithError(let error):
            attempt.close(
                status: response.status,
                decision: .giveUp,
                reason: "a retrier said so"
            )
            throw .said(byRetrier: error)
        }
    }
}

extension LupinError {
    /// Whether lupin itself, or the client's leaving, ended the attempt.
    fileprivate var isOurs: Bool { side == .lupin || side == .downstream }

    /// What a retrier wants the exchange to fail with.
    fileprivate static func said(byRetrier error: any Error) -> LupinError {
        error as? LupinError
            ?? LupinError(.proxyInternalError, detail: "A retrier failed: \(error)", status: 502)
    }

    static func totalTimeIsOver(_ origin: Origin?) -> LupinError {
        LupinError(
            .httpResponseTimeout,
            host: origin?.host.text,
            detail: "timeouts.total is over."
        )
    }
}
