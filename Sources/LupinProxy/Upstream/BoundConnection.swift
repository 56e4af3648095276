// The upstream connection of one client's connection, once the client has logged in to it.
import LupinCore
import LupinIO

/// Keeps an idle upstream connection for the client that has authenticated it.
///
/// Some credentials are for a connection and not for a request (`ConnectionLogin`): whoever uses it
/// is that user, of the origin or of the parent proxy. So it is never in the pool, and its client's
/// next request to the hop goes over it, which the handshake needs, too.
final class BoundConnection: ChannelPump {
    private var held: UpstreamHTTP1?

    /// Keeps a connection in place of the former one.
    func keep(_ connection: UpstreamHTTP1, since now: UInt64) {
        close()
        connection.rest(with: self, since: now)
        held = connection
    }

    /// Lends the connection if it leads to `hop` and is still open.
    func lend(for hop: NextHop) -> UpstreamHTTP1? {
        guard let connection = held, connection.hop == hop else { return nil }
        held = nil
        guard connection.isUsable(at: connection.channel.loop.now, asksKernel: true) else {
            connection.channel.close()
            return nil
        }
        connection.isReused = true
        return connection
    }

    /// Whether it keeps a connection to `hop`.
    func leads(to hop: NextHop) -> Bool { held?.hop == hop }

    func close() { held.take()?.channel.close() }

    /// An idle connection has nothing to send: it was closed, or its bytes answer no request.
    func channelIsReady(_ channel: Channel) {
        if held?.isQuiet == false { close() }
    }
}

extension Exchange {
    /// Whether a request is its client's by a login to the connection, which no other one has.
    ///
    /// The login is one to the next hop, or that of the client's tunnel through a parent proxy.
    func isByLogin(_ request: AdaptedRequest) -> Bool {
        isByOwnLogin(request) || request.hop.isByLogin
    }

    /// The same, where the connection to the next hop is the one that the client logs in to.
    func isByOwnLogin(_ request: AdaptedRequest) -> Bool {
        request.logsInToConnection || downstream.bound?.leads(to: request.hop) == true
    }
}

extension NextHop {
    /// Whether a client has logged in to the connection by which a parent proxy gave a tunnel.
    var isByLogin: Bool {
        guard isThroughParent, let login = connectedParent?.login else { return false }
        return ConnectionLogin(credentials: login.utf8Span.span) != nil
    }
}
