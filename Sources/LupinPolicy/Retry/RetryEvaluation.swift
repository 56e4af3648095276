// Decides whether a failed attempt is retried, with the reason as text.

package import LupinCore

extension RetryPolicy: RequestRetrier {
    package func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult { evaluate(attempt) }

    /// Decides; the first reason that applies counts.
    package func evaluate(_ attempt: FailedAttempt) -> RetryResult {
        if attempt.isCommitted {
            return .doNotRetry(reason: "the client has part of a response")
        }
        let ground: Ground
        switch self.ground(of: attempt) {
        case .success(let found): ground = found
        case .failure(let refusal): return .doNotRetry(reason: refusal.reason)
        }
        guard attempt.retries < limit else {
            return .doNotRetry(reason: "limit of \(limit) reached")
        }
        if attempt.hasSentBytes {
            guard ground.isUnprocessed || mayRepeat(attempt) else {
                return .doNotRetry(reason: "\(attempt.method.token) may have been processed")
            }
            guard attempt.isReplayable else {
                return .doNotRetry(reason: "the body was not kept")
            }
        }
        let reason = attempt.hasSentBytes ? ground.reason : "\(ground.reason), nothing was sent"
        var delay = Swift.max(ground.delay, wait(after: attempt))
        if attempt.isCalmAsked { delay = Swift.max(delay, Self.calmDelay) }
        return delay > .zero
            ? .retryWithDelay(delay, reason: reason) : .retry(reason: reason)
    }

    /// The least wait after ENHANCE_YOUR_CALM (RFC 9113 §7), with which the origin reports
    /// overload.
    package static let calmDelay = Duration.seconds(1)

    /// Whether a request may be resent after bytes of it were sent (RFC 9110 §9.2.2).
    package func mayRepeat(_ attempt: FailedAttempt) -> Bool {
        mayRepeat(attempt.method, hasIdempotencyKey: attempt.hasIdempotencyKey)
    }

    /// Whether a request may be resent after bytes of it were sent (RFC 9110 §9.2.2).
    package func mayRepeat(_ method: Method, hasIdempotencyKey: Bool) -> Bool {
        if methods.contains(method) { return true }
        switch nonIdempotent {
        case .never: return false
        case .withIdempotencyKey: return hasIdempotencyKey && (method == .post || method == .patch)
        case .always: return true
        }
    }

    /// What to do about the error of an attempt after which there is none; nil where its kind says.
    ///
    /// Who sends a request again must know whether it may have been processed already.
    package func advice(after attempt: FailedAttempt) -> String? {
        guard let error = attempt.error, error.side == .upstream else { return nil }
        let isBroken: Bool
        switch error.kind {
        case .connectionTerminated, .httpResponseIncomplete: isBroken = true
        case .connectionReadTimeout, .connectionWriteTimeout, .httpResponseTimeout: isBroken = false
        default: return nil
        }
        let isHarmless = attempt.method.isIdempotent || !attempt.hasSentBytes
        guard isHarmless || error.retry.isUnprocessed else {
            return "The \(attempt.method.token) may have been processed, so look before you send "
                + "it again; for what may be sent twice there is `non_idempotent` of `retry`."
        }
        return isBroken ? "Try again." : nil
    }

    /// What `safe.mayRepeat` says of a request, without a look into a set.
    ///
    /// `safe` repeats only these requests, so this decides whether a body has to be kept.
    package static func safeMayRepeat(_ method: Method) -> Bool { method.isIdempotent }

    /// Whether a response with that status may cause another attempt.
    package func minds(_ status: UInt16) -> Bool {
        guard status >= 400, limit > 0 else { return false }
        return self.status.contains(status) || Self.specialStatus.contains(status)
            || (status == 429 && retryAfter.isHonoured)
    }

    /// Whether failures after bytes of the request were sent are retried.
    package var repairsWhatWasSent: Bool {
        limit > 0 && (!status.isEmpty || errors.contains(.reset) || errors.contains(.timeout))
    }

    /// These report that the request was not processed, and justify one more attempt whatever
    /// `status` contains.
    private static let specialStatus: [UInt16] = [408, 421, 425]

    /// A reason for a retry.
    private struct Ground {
        var reason: String
        /// Whether the origin did not process the request.
        var isUnprocessed = false
        /// The least wait.
        var delay = Duration.zero
    }

    /// A reason against it.
    private struct Refusal: Error { let reason: String }

    private func ground(of attempt: FailedAttempt) -> Result<Ground, Refusal> {
        if let error = attempt.error { return ground(of: error, attempt) }
        return ground(ofStatus: attempt)
    }

    private func ground(
        of error: LupinError,
        _ attempt: FailedAttempt
    ) -> Result<Ground, Refusal> {
        guard errors.contains(error.retry) else {
            return .failure(Refusal(reason: "\(error.kind.token) is not retried"))
        }
        // An immediate retry would be refused again.
        if attempt.isEveryAddressRefused, backoff == nil {
            return .failure(Refusal(reason: "every address refused the connection"))
        }
        return .success(
            Ground(reason: error.retry.rawValue, isUnprocessed: error.retry.isUnprocessed)
        )
    }

    /// The reason to retry a response that is unwanted, because of its status or because it fails
    /// `validate`.
    private func ground(ofStatus attempt: FailedAttempt) -> Result<Ground, Refusal> {
        let status = attempt.response?.status ?? 0
        if let ground = ground(ofSpecial: status, attempt) { return ground }
        let after = retryAfter.isHonoured ? attempt.retryAfter : nil
        let isWanted = self.status.contains(status) || (status == 429 && after != nil)
        guard isWanted || attempt.validationFailure != nil else {
            return .failure(Refusal(reason: "status \(status) is delivered"))
        }
        let reason = attempt.validationFailure ?? "status \(status)"
        guard let after else { return .success(Ground(reason: reason)) }
        guard after <= retryAfter.max else {
            let asked = UnitText.duration(after.milliseconds)
            let max = UnitText.duration(retryAfter.max.milliseconds)
            let refusal = "\(reason), and Retry-After of \(asked) is more than \(max)"
            return .failure(Refusal(reason: refusal))
        }
        let comma = attempt.validationFailure == nil ? "" : ","
        return .success(Ground(reason: "\(reason)\(comma) with Retry-After", delay: after))
    }

    private func ground(
        ofSpecial status: UInt16,
        _ attempt: FailedAttempt
    ) -> Result<Ground, Refusal>? {
        guard Self.specialStatus.contains(status), !attempt.answeredStatuses.contains(status) else {
            return nil
        }
        switch status {
        case 421:
            // RFC 9110 §15.5.20: over another connection, with any method.
            let reason = "status 421, on another connection"
            return .success(Ground(reason: reason, isUnprocessed: true))
        case 425 where attempt.hasEarlyData:
            // RFC 8470 §5.2: the client that sent the request as early data must decide.
            return .failure(Refusal(reason: "the client sent the request as early data"))
        case 425:
            return .success(Ground(reason: "status 425, without early data", isUnprocessed: true))
        case 408 where attempt.isReused && errors.contains(.staleConnection):
            // RFC 9110 §15.5.9: it was sent to end an idle connection, and crossed our request.
            return .success(Ground(reason: "status 408 on an idle connection"))
        default: return nil
        }
    }

    private func wait(after attempt: FailedAttempt) -> Duration {
        backoff?.delay(
            retry: attempt.retries,
            previous: attempt.previousDelay,
            chance: attempt.chance
        ) ?? .zero
    }
}

extension RequestHead {
    /// Whether there is an Idempotency-Key, by which the origin detects a repetition.
    package var hasIdempotencyKey: Bool { fields.value(of: "Idempotency-Key") != nil }
}
