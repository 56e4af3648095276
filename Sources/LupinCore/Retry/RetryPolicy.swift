// Whether a failed attempt is made again, and the reason in words.

/// What is decided after a failed attempt; Alamofire's `RetryResult` as far as `safe` needs it.
package enum RetryResult: Sendable, Equatable {
    case retry(reason: String)
    case doNotRetry(reason: String)
}

/// When a failed request may be sent again.
package struct RetryPolicy: Sendable, Equatable {
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

    /// What is known of a failed attempt.
    package struct Failure: Sendable {
        package var error: LupinError
        package var method: Method
        /// Retries made so far.
        package var retries: Int
        /// Bytes of the request were handed to the kernel.
        package var hasSentBytes: Bool
        /// Every byte of the body that was consumed can be sent again.
        package var isReplayable: Bool
        /// The client has seen part of a response.
        package var isCommitted: Bool
        /// Every address of the host refused the connection.
        package var isEveryAddressRefused: Bool

        package init(
            error: LupinError,
            method: Method,
            retries: Int,
            hasSentBytes: Bool,
            isReplayable: Bool,
            isCommitted: Bool,
            isEveryAddressRefused: Bool
        ) {
            self.error = error
            self.method = method
            self.retries = retries
            self.hasSentBytes = hasSentBytes
            self.isReplayable = isReplayable
            self.isCommitted = isCommitted
            self.isEveryAddressRefused = isEveryAddressRefused
        }
    }

    /// Decides, first reason first.
    package func evaluate(_ failure: Failure) -> RetryResult {
        if failure.isCommitted {
            return .doNotRetry(reason: "the client has part of a response")
        }
        guard errors.contains(failure.error.retry) else {
            return .doNotRetry(reason: "\(failure.error.kind.token) is not retried")
        }
        if failure.isEveryAddressRefused {
            return .doNotRetry(reason: "every address refused the connection")
        }
        guard failure.retries < limit else {
            return .doNotRetry(reason: "limit of \(limit) reached")
        }
        guard failure.hasSentBytes else {
            return .retry(reason: "\(failure.error.retry.rawValue), nothing was sent")
        }
        guard methods.contains(failure.method) || failure.error.retry.isUnprocessed else {
            return .doNotRetry(reason: "\(failure.method.token) may have been processed")
        }
        guard failure.isReplayable else {
            return .doNotRetry(reason: "the body was not kept")
        }
        return .retry(reason: failure.error.retry.rawValue)
    }
}
