// What the CONNECT of a client has opened at parent proxies to the requests inside, or may open.
package import LupinCore
import LupinIO
import LupinPolicy
import LupinWire

/// The way through a parent proxy to the target of an intercepted CONNECT, granted to one client;
/// or, where the parent has not granted it yet, the password with which it is asked again.
///
/// Rules may name a parent by what is known inside only, such as a path. The password that came
/// with the CONNECT is then for the parents that they name there.
package final class ParentTunnel {
    /// The parent proxy of the CONNECT, with the credentials of the client; nil where it was not
    /// asked with them.
    private let asked: ParentHop?
    private let target: Origin
    /// The client's own Proxy-Authorization, for parents that are known inside only.
    private let login: String?
    /// Those that the rules have named for the client's own requests.
    private var named: Set<ParentProxy> = []
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
        asked = parent
        login = nil
        isByLogin = parent.user != nil
        if let connection { granted.keep(connection, since: now) }
    }

    /// The password of a CONNECT to `target` that has gone to no parent.
    package init(login: String, to target: Origin) {
        self.target = target
        self.login = login
        asked = nil
        isByLogin = false
    }

    deinit { granted.close() }

    /// Gives `parent`, on the way to `origin`, what the client shows to it.
    ///
    /// Where a redirect leads is an origin's choice: it brings the password to no parent that has
    /// not got it from the client's own requests.
    package func show(to parent: inout ParentHop, for origin: Origin, isRedirected: Bool) {
        if let asked {
            guard asked.proxy == parent.proxy else { return }
            parent.login = asked.login
            parent.user = asked.user
        } else if parent.proxy.userinfo == nil {
            if !isRedirected, isTarget(origin) { named.insert(parent.proxy) }
            if named.contains(parent.proxy) { parent.login = login }
        }
    }

    /// Lends the tunnel that the parent has opened, once, to a connection by the same way.
    func lend(for hop: NextHop) -> UpstreamHTTP1? {
        guard case .secure(let origin, _, through: asked) = hop, isTarget(origin) else {
            return nil
        }
        return lend()
    }

    /// Lends the same to bytes of an unknown protocol.
    package func lend() -> UpstreamHTTP1? {
        guard let asked else { return nil }
        return granted.lend(for: .parent(ParentHop(proxy: asked.proxy, security: asked.security)))
    }

    /// Whether `origin` is what the CONNECT named, whatever the scheme inside.
    private func isTarget(_ origin: Origin) -> Bool {
        origin.host == target.host && origin.port == target.port
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
