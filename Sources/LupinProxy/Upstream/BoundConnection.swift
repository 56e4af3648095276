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

    func close() { held.take()?.channel.close() }

    /// An idle connection has nothing to send: it was closed, or its bytes answer no request.
    func channelIsReady(_ channel: Channel) {
        if held?.isQuiet == false { close() }
    }
}
