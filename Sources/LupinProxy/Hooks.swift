// What a program that embeds the proxy adds to it.
public import LupinCore
import LupinIO

/// Code of an embedding program that takes part in every exchange; all of it is optional.
public struct Hooks: Sendable {
    /// Runs before the steps of rules, and is asked after their credentials whether a failed
    /// attempt is made again.
    public var interceptor: (any RequestInterceptor & Sendable)?
    /// Is asked about redirects that a rule follows.
    public var redirectHandler: (any RedirectHandler & Sendable)?
    /// Is asked about responses that a rule stores.
    public var cachedResponseHandler: (any CachedResponseHandler & Sendable)?
    /// Are told what becomes of every exchange, stage by stage, in this order.
    public var eventMonitors: [any EventMonitor] = []

    /// Nothing is added.
    public init() {}
}

extension HelperThread {
    /// Where programs that print credentials run, and rotated tokens are written.
    static func forTokens() throws(SystemError) -> HelperThread { try named("lupin-tokens", 256) }

    /// Where the files of `respond` are opened and read, and bodies are edited.
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
