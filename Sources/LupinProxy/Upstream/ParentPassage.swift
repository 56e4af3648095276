// Asks a parent proxy on behalf of a client, before its CONNECT is intercepted.
import LupinCore
import LupinIO
import LupinWire

/// The way through a parent proxy to the target of an intercepted CONNECT, granted to one client;
/// or, where the parent has not granted it yet, the password with which it is asked again.
final class ParentPassage {
    /// The parent proxy, with the credentials of the client.
    let parent: ParentHop
    private let target: Origin
    private let granted = BoundConnection()
    /// The client has logged in to the granted connection (`ConnectionLogin`): what it has sent
    /// opens no other one.
    let isByLogin: Bool
    /// Another connection was needed, which only the client can log in to.
    private(set) var hasEnded = false
    /// A response that came by it has gone to the client.
    private var isUsed = false

    init(_ connection: UpstreamHTTP1?, to target: Origin, by parent: ParentHop, since now: UInt64) {
        self.target = target
        self.parent = parent
        isByLogin = NextHop.parent(parent).isByLogin
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
    func lend() -> UpstreamHTTP1? {
        granted.lend(for: .parent(ParentHop(proxy: parent.proxy, security: parent.security)))
    }

    /// Notes that the way has ended, where the client alone can open it again.
    func end() { hasEnded = true }

    /// Whether the response that `upstream` gives is the last before the client must log in anew;
    /// `upstream` is nil where none gives it.
    func endsBehindResponse(of upstream: (any Upstream)?) -> Bool {
        guard isByLogin else { return false }
        isUsed = true
        return hasEnded || upstream?.isReading == false
    }

    /// Whether a request gets no response: the client's connection ends, as a kept one may between
    /// two requests, and the client makes a new one with a new login.
    var endsBeforeResponse: Bool { hasEnded && isUsed }
}

extension Exchange {
    /// Asks the parent proxy for a tunnel before the client is told that it has one: afterwards no
    /// 407 can reach a client that knows the password.
    ///
    /// Only where lupin itself has no credentials for the parent, and where the client shows some
    /// or the parent is not known to want none. A failure is left to the requests inside, which a
    /// rule may answer without the parent; the others ask it with the client's password again.
    /// - Returns: Whether the client has got the parent's 407.
    func isChallengedByParent(
        before interception: Interception
    ) async throws(LupinError) -> Bool {
        let origin = interception.origin
        // With a user of ours, the client's credentials were for lupin.
        guard client.user == nil, plan?.respond == nil, resources.shared.tape == nil,
            var parent = try parentHop(to: origin), parent.proxy.userinfo == nil
        else { return false }
        let hop = NextHop.parent(parent)
        let credentials = resources.shared.parentCredentials
        parent.login = request.fields.value(of: .proxyAuthorization)
        if parent.login == nil, credentials.isOpen(parent.proxy) { return false }
        markHopByHop(for: hop)
        let adapted = AdaptedRequest(UpstreamRequest(head: request, origin: origin), hop: hop)
        var obtained: ObtainedResponse?
        do throws(LupinError) {
            obtained = try await obtainResponse(to: KnownTarget(origin), as: adapted)
        } catch {
            if error == .clientGone || error == .stopping { throw error }
        }
        if let obtained, obtained.response.status == 407 {
            try await deliver(obtained)
            return true
        }
        let isGranted = obtained.map { $0.response.status / 100 == 2 } ?? false
        let connection = isGranted ? giveUpstream() as? UpstreamHTTP1 : nil
        // A login to a connection that gave no tunnel is of no use to another one.
        if connection != nil || (parent.login != nil && !NextHop.parent(parent).isByLogin) {
            interception.passage = ParentPassage(connection, to: origin, by: parent, since: now)
        }
        if connection != nil, parent.login == nil { credentials.noteOpen(parent.proxy) }
        forgetReach()
        return false
    }
}
