// The upstream connection of one client's connection, once the client has logged in to it.
import LupinCore
package import LupinIO

/// Keeps an idle upstream connection for the client that has authenticated it.
///
/// Some credentials are for a connection and not for a request (`ConnectionLogin`): every request
/// on it counts as that user's, at the origin or at the parent proxy. So it is never in the pool,
/// and its client's next request to the hop goes over it, which the handshake needs, too.
package final class PinnedUpstream: ChannelPump {
    private var held: UpstreamHTTP1?

    package init() {}

    /// Keeps a connection in place of the former one.
    package func keep(_ connection: UpstreamHTTP1, since now: UInt64) {
        close()
        connection.rest(with: self, since: now)
        held = connection
    }

    /// Lends the connection if it leads to `hop` and is still open.
    package func lend(for hop: NextHop) -> UpstreamHTTP1? {
        guard let connection = held, connection.hop == hop else { return nil }
        held = nil
        guard connection.isUsable(at: connection.channel.loop.now, asksKernel: true) else {
            connection.channel.close()
            return nil
        }
        connection.hasServed = true
        return connection
    }

    /// Whether it keeps a connection to `hop`.
    package func leads(to hop: NextHop) -> Bool { held?.hop == hop }

    package func close() { held.take()?.channel.close() }

    /// An idle connection has nothing to send: it was closed, or its bytes answer no request.
    package func channelIsReady(_ channel: Channel) {
        if held?.isQuiet == false { close() }
    }
}

extension NextHop {
    /// Whether a client has logged in to the connection by which a parent proxy gave a tunnel.
    package var isByLogin: Bool { isThroughParent && connectedParent?.user != nil }
}
