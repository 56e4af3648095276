// The code that a program which embeds the proxy can add to it.
public import LupinCore
import LupinIO
package import LupinPolicy

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
    /// Answers every request; nothing is connected to.
    package var tape: TapeDeck?
    /// The stand-ins that the clients of this proxy have.
    package var standIns = StandIns.none
    /// The connections that the proxy of a confined command was not asked for.
    package var redirected: Redirected?

    /// Creates hooks without any code.
    public init() {}
}

/// The threads for work that blocks and belongs to no other part.
struct HelperThreads {
    /// Runs credential programs and writes rotated tokens.
    let tokens: HelperThread
    /// Reads the files of `respond` and edits bodies.
    let bodies: HelperThread

    init() throws(SystemError) {
        do throws(HelperThread.CannotStart) {
            tokens = try HelperThread(name: "lupin-tokens", capacity: 256)
            bodies = try HelperThread(name: "lupin-bodies", capacity: 1024)
        } catch {
            throw SystemError(code: error.code)
        }
    }
}
