// Decides which responses are stored: Alamofire's cached response handlers.

/// Decides about a response that a rule's `cache:` would store; Alamofire's
/// `CachedResponseHandler`.
public protocol CachedResponseHandler {
    /// Decides about a response before it is stored.
    ///
    /// Later requests get the stored response; the current client gets the unchanged one. The body
    /// and the fields about its framing can't be changed.
    /// - Parameters:
    ///   - response: The response as it would be stored.
    ///   - request: The request of the cache look-up that it answers.
    /// - Returns: The response to store, or nil to store nothing.
    nonisolated(nonsending) func willCache(
        _ response: ResponseHead,
        for request: UpstreamRequest
    ) async -> ResponseHead?
}

/// A cached response handler with three behaviours; Alamofire's `ResponseCacher`.
public struct ResponseCacher: CachedResponseHandler, Sendable {
    /// The decision about a response.
    public enum Behavior: Sendable {
        /// It is stored as the rule says.
        case cache
        /// It is not stored.
        case doNotCache
        /// The closure returns the response to store, or nil for none.
        case modify(@Sendable (UpstreamRequest, ResponseHead) async -> ResponseHead?)
    }

    /// Stores every response that a rule stores.
    public static let cache = ResponseCacher(behavior: .cache)
    /// Stores none.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// The behaviour.
    public let behavior: Behavior

    /// Creates a handler with the same behaviour for all responses.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Applies the behaviour.
    public func willCache(
        _ response: ResponseHead,
        for request: UpstreamRequest
    ) async -> ResponseHead? {
        switch behavior {
        case .cache: response
        case .doNotCache: nil
        case .modify(let closure): await closure(request, response)
        }
    }
}
