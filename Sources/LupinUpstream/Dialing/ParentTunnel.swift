// Asks a parent proxy on behalf of a client, before its CONNECT is intercepted.
package import LupinCore
import LupinIO
import LupinWire

/// The way through a parent proxy to the target of an intercepted CONNECT, granted to one client;
/// or, where the parent has not granted it yet, the password with which it is asked again.
package final class ParentTunnel {
    /// The parent proxy, with the credentials of the client.
    let parent: ParentHop
    private let target: Origin
    private let granted = PinnedUpstream()
    /// The client has logged in to the granted connection (`ConnectionLogin`): what it has sent
    /// opens no other one.
    package let isByLogin: Bool
    /// Another connection was needed, which only the client can log in to.
    package private(set) var hasEnded = false
    /// A response that came by it has gone to the client.
    private var isUsed = false

    package init(
        _ connection: UpstreamHTTP1?,
        to target: Origin,
        by parent: ParentHop,
        since now: UInt64
    ) {
        self.target = target
        self.parent = parent
        isByLogin = parent.user != nil
        if let connection { granted.keep(connection, since: now) }
    }

    deinit { granted.close() }

    /// Lends the tunnel that the parent has opened, once, to a connection by the same way.
    func lend(for hop: NextHop) -> UpstreamHTTP1? {
        guard case .secure(let origin, _, through: parent) = hop, origin.host == target.host,
            origin.port == target.port
        else { return nil }
        return lend()
    }

    /// Lends the same to bytes of an unknown protocol.
    package func lend() -> UpstreamHTTP1? {
        granted.lend(for: .parent(ParentHop(proxy: parent.proxy, security: parent.security)))
    }

    /// Notes that the way has ended, where the client alone can open it again.
    func end() { hasEnded = true }

    /// Whether the response that `upstream` gives is the last before the client must log in anew;
    /// `upstream` is nil where none gives it.
    package func endsBehindResponse(of upstream: (any Upstream)?) -> Bool {
        guard isByLogin else { return false }
        isUsed = true
        return hasEnded || upstream?.isReading == false
    }

    /// Whether a request gets no response: the client's connection ends, as a kept one may between
    /// two requests, and the client makes a new one with a new login.
    package var endsBeforeResponse: Bool { hasEnded && isUsed }
}
