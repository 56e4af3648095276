// Who follows a redirect: Alamofire's redirect handlers.

/// Decides on a redirect that a rule's `redirect:` would follow; Alamofire's `RedirectHandler`.
public protocol RedirectHandler {
    /// Decides on a redirect.
    /// - Parameters:
    ///   - request: What would be sent next, before any rule has changed it.
    ///   - response: The redirect.
    /// - Returns: What is sent next, or nil to let the client have the redirect.
    nonisolated(nonsending) func redirect(
        to request: UpstreamRequest,
        for response: ResponseHead
    ) async -> UpstreamRequest?
}

/// A redirect handler of three behaviours; Alamofire's `Redirector`.
public struct Redirector: RedirectHandler, Sendable {
    /// What becomes of a redirect.
    public enum Behavior: Sendable {
        /// It is followed as the rule says.
        case follow
        /// The client gets it.
        case doNotFollow
        /// The closure says what is sent, or nil to let the client have the redirect.
        case modify(@Sendable (UpstreamRequest, ResponseHead) async -> UpstreamRequest?)
    }

    /// Follows every redirect that a rule follows.
    public static let follow = Redirector(behavior: .follow)
    /// Follows none.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What it does.
    public let behavior: Behavior

    /// A handler that does one thing with all redirects.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Does what the behaviour says.
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
