// Whether a failed attempt is made again, and the reason in words.

/// When a failed request may be sent again.
package struct RetryPolicy: RequestRetrier, Sendable, Equatable {
    /// Attempts after the first.
    package var limit: Int
    /// Methods that may be sent again once bytes of the request have been sent.
    package var methods: Set<Method>
    package var errors: Set<RetryClass>
    /// Bytes of a request body that are kept for sending it again.
    package var replayBodyBytes: Int

    /// What holds when no rule says otherwise: only what provably was not processed.
    ///
    /// RFC 9110 §9.2.2 lets a proxy repeat idempotent methods; any other one is repeated only if
    /// no byte of it was sent, or if the origin says that it did nothing with it.
    package static let safe = RetryPolicy(
        limit: 1,
        methods: [.delete, .get, .head, .options, .put, .trace],
        errors: [.connect, .refusedStream, .goaway, .staleConnection],
        replayBodyBytes: 256 << 10
    )

    package func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult { evaluate(attempt) }

    /// Decides, first reason first.
    package func evaluate(_ attempt: FailedAttempt) -> RetryResult {
        if attempt.isCommitted {
            return .doNotRetry(reason: "the client has part of a response")
        }
        guard let error = attempt.error else {
            return .doNotRetry(reason: "status \(attempt.response?.status ?? 0) is delivered")
        }
        guard errors.contains(error.retry) else {
            return .doNotRetry(reason: "\(error.kind.token) is not retried")
        }
        if attempt.isEveryAddressRefused {
            return .doNotRetry(reason: "every address refused the connection")
        }
        guard attempt.retries < limit else {
            return .doNotRetry(reason: "limit of \(limit) reached")
        }
        guard attempt.hasSentBytes else {
            return .retry(reason: "\(error.retry.rawValue), nothing was sent")
        }
        guard methods.contains(attempt.method) || error.retry.isUnprocessed else {
            return .doNotRetry(reason: "\(attempt.method.token) may have been processed")
        }
        guard attempt.isReplayable else {
            return .doNotRetry(reason: "the body was not kept")
        }
        return .retry(reason: error.retry.rawValue)
    }
}
