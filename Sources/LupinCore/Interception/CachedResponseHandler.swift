// Who has a say in what is stored: Alamofire's cached response handlers.

/// Decides on a response that a rule's `cache:` would store; Alamofire's `CachedResponseHandler`.
public protocol CachedResponseHandler {
    /// Decides on a response before it is stored.
    ///
    /// What is stored is what later requests get; the client that is being served gets the response
    /// as it came. The body can't be changed, nor can the fields that say how it is framed.
    /// - Parameters:
    ///   - response: The response as it would be stored.
    ///   - request: The request that it answers, as it was looked up.
    /// - Returns: What is stored, or nil to store nothing.
    nonisolated(nonsending) func willCache(
        _ response: ResponseHead,
        for request: UpstreamRequest
    ) async -> ResponseHead?
}

/// A cached response handler of three behaviours; Alamofire's `ResponseCacher`.
public struct ResponseCacher: CachedResponseHandler, Sendable {
    /// What becomes of a response.
    public enum Behavior: Sendable {
        /// It is stored as the rule says.
        case cache
        /// It is not stored.
        case doNotCache
        /// The closure says what is stored, or nil for nothing.
        case modify(@Sendable (UpstreamRequest, ResponseHead) async -> ResponseHead?)
    }

    /// Stores every response that a rule stores.
    public static let cache = ResponseCacher(behavior: .cache)
    /// Stores none.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// What it does.
    public let behavior: Behavior

    /// A handler that does one thing with all responses.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Does what the behaviour says.
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
