// Who decides whether a failed attempt is made again: Alamofire's retriers.

/// What is decided after a failed attempt; Alamofire's `RetryResult`, with the reason in words.
public enum RetryResult: Sendable, Equatable {
    /// At once.
    case retry(reason: String)
    /// After a wait.
    case retryWithDelay(Duration, reason: String)
    /// Not for my sake: the next retrier is asked.
    case doNotRetry(reason: String)
    /// Nobody else is asked, and the exchange fails with this error.
    case doNotRetryWithError(any Error)

    /// Whether case, reason and delay are the same; errors compare as they describe themselves.
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

/// What is known of an attempt that did not bring what was wanted.
public struct FailedAttempt: Sendable {
    /// The method of the request.
    public package(set) var method: Method
    /// What came back, with a status that somebody may not like; nil where nothing did.
    public package(set) var response: ResponseHead?
    /// Why nothing came back; nil where there is a response.
    public package(set) var error: LupinError?
    /// What `validate` demands and the response is not; nil where it is good.
    public package(set) var validationFailure: String?
    /// Retries made so far.
    public package(set) var retries = 0
    /// Bytes of the request were handed to the kernel.
    public package(set) var hasSentBytes = true
    /// Every byte of the body that was consumed can be sent again.
    public package(set) var isReplayable = true
    /// The connection was not made for this attempt.
    public package(set) var isReused = false
    /// How long the response asks to wait (RFC 9110 §10.2.3); nil where it says nothing.
    public package(set) var retryAfter: Duration?
    /// The client has seen part of a response.
    package var isCommitted = false
    /// Every address of the host refused the connection.
    package var isEveryAddressRefused = false
    /// The origin said ENHANCE_YOUR_CALM (RFC 9113 §7).
    package var isCalmAsked = false
    /// The request has a field `Idempotency-Key`.
    package var hasIdempotencyKey = false
    /// The request came in early data of TLS (RFC 8470 §5.1).
    package var hasEarlyData = false
    /// Statuses that led to another attempt already.
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
/// It is asked before the client has seen anything of a response, and never for a body that cannot
/// be sent again.
public protocol RequestRetrier {
    /// Decides on a failed attempt; it may wait, for a new token say.
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - attempt: What came of it.
    /// - Returns: What is to happen.
    nonisolated(nonsending) func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult
}

/// A retrier that is a closure; Alamofire's `Retrier`.
public struct Retrier: RequestRetrier, Sendable {
    /// What it decides.
    public typealias Closure = @Sendable (UpstreamRequest, FailedAttempt) async -> RetryResult

    private let closure: Closure

    /// A retrier that decides what `closure` decides.
    public init(_ closure: @escaping Closure) { self.closure = closure }

    /// Calls the closure.
    public func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult {
        await closure(request, attempt)
    }
}
