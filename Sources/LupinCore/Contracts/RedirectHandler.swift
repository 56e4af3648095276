// Decides which redirects are followed: Alamofire's redirect handlers.

/// Decides about a redirect that a rule's `redirect:` would follow; Alamofire's `RedirectHandler`.
public protocol RedirectHandler {
    /// Decides about a redirect.
    /// - Parameters:
    /// - request: The next request, before any rule has changed it.
    ///   - response: The redirect.
    /// - Returns: The request to send, or nil to deliver the redirect to the client.
    nonisolated(nonsending) func redirect(
        to request: UpstreamRequest,
        for response: ResponseHead
    ) async -> UpstreamRequest?
}

/// A redirect handler with three behaviours; Alamofire's `Redirector`.
public struct Redirector: RedirectHandler, Sendable {
    /// The decision about a redirect.
    public enum Behavior: Sendable {
        /// It is followed as the rule says.
        case follow
        /// The client gets it.
        case doNotFollow
        /// The closure returns the request to send, or nil to deliver the redirect to the client.
        case modify(@Sendable (UpstreamRequest, ResponseHead) async -> UpstreamRequest?)
    }

    /// Follows every redirect that a rule follows.
    public static let follow = Redirector(behavior: .follow)
    /// Follows none.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// The behaviour.
    public let behavior: Behavior

    /// Creates a handler with the same behaviour for all redirects.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Applies the behaviour.
    public func redirect(
        to request: UpstreamRequest,
        for response: ResponseHead
    ) async -> UpstreamRequest? {
        switch behavior {
        case .follow: request
        case .doNotFollow: nil
        case .modify(let closure): await closure(request, response)
        }
    }
}
