// The code that a program which embeds the proxy can add to it.
public import LupinCore
import LupinIO

/// Code of an embedding program that takes part in every exchange; every hook is optional.
public struct Hooks: Sendable {
    /// Runs before the steps of rules; decides, after the rules' credentials, whether a failed
    /// attempt is retried.
    public var interceptor: (any RequestInterceptor & Sendable)?
    /// Decides about redirects that a rule follows.
    public var redirectHandler: (any RedirectHandler & Sendable)?
    /// Decides about responses that a rule stores.
    public var cachedResponseHandler: (any CachedResponseHandler & Sendable)?
    /// Notified of every exchange, stage by stage, in this order.
    public var eventMonitors: [any EventMonitor] = []

    /// Creates hooks without any code.
    public init() {}
}

extension HelperThread {
    /// The thread that runs credential programs and writes rotated tokens.
    static func forTokens() throws(SystemError) -> HelperThread { try named("lupin-tokens", 256) }

    /// The thread that reads the files of `respond` and edits bodies.
    static func forBodies() throws(SystemError) -> HelperThread { try named("lupin-bodies", 1024) }

    private static func named(
        _ name: String,
        _ capacity: Int
    ) throws(SystemError) -> HelperThread {
        do throws(CannotStart) {
            return try HelperThread(name: name, capacity: capacity)
        } catch {
            throw SystemError(code: error.code)
        }
    }
}
