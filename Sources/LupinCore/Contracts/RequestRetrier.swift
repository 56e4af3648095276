// Decides whether a failed attempt is repeated: Alamofire's retriers.

/// The decision about a failed attempt; Alamofire's `RetryResult`, with the reason in words.
public enum RetryResult: Sendable, Equatable {
    /// A retry without a wait.
    case retry(reason: String)
    /// A retry after a wait.
    case retryWithDelay(Duration, reason: String)
    /// No retry by this retrier: the next one is called.
    case doNotRetry(reason: String)
    /// No further retrier is called, and the exchange fails with this error.
    case doNotRetryWithError(any Error)

    /// Whether case, reason and delay are equal; errors are compared by their descriptions.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.retry(let a), .retry(let b)), (.doNotRetry(let a), .doNotRetry(let b)): a == b
        case (.retryWithDelay(let a, let x), .retryWithDelay(let b, let y)): a == b && x == y
        case (.doNotRetryWithError(let a), .doNotRetryWithError(let b)):
            String(describing: a) == String(describing: b)
        default: false
        }
    }
}

/// The facts about an attempt that failed.
public struct FailedAttempt: Sendable {
    /// The method of the request.
    public package(set) var method: Method
    /// The response, whose status may count as a failure; nil when there is none.
    public package(set) var response: ResponseHead?
    /// The error that replaces the response; nil when there is a response.
    public package(set) var error: LupinError?
    /// The condition of `validate` that the response does not meet; nil when it meets all.
    public package(set) var validationFailure: String?
    /// The number of retries so far.
    public package(set) var retries = 0
    /// Whether bytes of the request were passed to the kernel.
    public package(set) var hasSentBytes = true
    /// Whether every byte of the body that was consumed can be sent again.
    public package(set) var isReplayable = true
    /// Whether the connection already existed before this attempt.
    public package(set) var isReused = false
    /// The wait that the response requests (RFC 9110 §10.2.3); nil when it has none.
    public package(set) var retryAfter: Duration?
    /// Whether the client has got a part of a response.
    package var isCommitted = false
    /// Whether every address of the host refused the connection.
    package var isEveryAddressRefused = false
    /// Whether the origin sent ENHANCE_YOUR_CALM (RFC 9113 §7).
    package var isCalmAsked = false
    /// Whether the request has an `Idempotency-Key` field.
    package var hasIdempotencyKey = false
    /// Whether the request came in TLS early data (RFC 8470 §5.1).
    package var hasEarlyData = false
    /// The statuses that have already led to another attempt.
    package var answeredStatuses: [UInt16] = []
    /// The wait before this attempt.
    package var previousDelay = Duration.zero
    /// A random number for the decision.
    package var chance: UInt64 = 0

    package init(method: Method, response: ResponseHead? = nil, error: LupinError? = nil) {
        self.method = method
        self.response = response
        self.error = error
    }
}

/// Decides whether a request is sent again; Alamofire's `RequestRetrier`.
///
/// It is called before the client has got any part of a response, and never when the body cannot be
/// sent again.
public protocol RequestRetrier {
    /// Decides about a failed attempt; it may wait, for example for a new token.
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - attempt: The result of the attempt.
    /// - Returns: The decision.
    nonisolated(nonsending) func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult
}

/// A retrier that is a closure; Alamofire's `Retrier`.
public struct Retrier: RequestRetrier, Sendable {
    /// Decides about an attempt.
    public typealias Closure = @Sendable (UpstreamRequest, FailedAttempt) async -> RetryResult

    private let closure: Closure

    /// Creates a retrier that calls `closure`.
    public init(_ closure: @escaping Closure) { self.closure = closure }

    /// Calls the closure.
    public func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult {
        await closure(request, attempt)
    }
}
