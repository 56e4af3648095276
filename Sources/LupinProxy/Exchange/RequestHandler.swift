// Decides by values alone what gives a request its response.
import LupinCaching
package import LupinCore
package import LupinPolicy

/// What gives a request its response, once its rules are matched: the first that applies.
package enum RequestHandler: Sendable {
    /// lupin opens a tunnel, intercepts it, or refuses it.
    case tunnel
    /// The tape that is played; nothing else is asked.
    case tape
    /// The cache, for a PURGE of what it has.
    case purge
    /// A rule.
    case rule
    /// The cache, or the origin through it.
    case cache
    case origin

    /// What gives a request with this plan its response.
    ///
    /// A WebSocket goes past the cache, and a PURGE without a cache to the origin, like any method.
    package static func of(
        _ method: Method,
        _ plan: Plan?,
        isTaped: Bool,
        isWebSocket: Bool
    ) -> RequestHandler {
        if method == .connect, !isWebSocket { return .tunnel }
        if isTaped { return .tape }
        guard let plan else { return .origin }
        if plan.respond != nil { return .rule }
        guard plan.caching != nil, !isWebSocket else { return .origin }
        return method == .purge ? .purge : .cache
    }
}
