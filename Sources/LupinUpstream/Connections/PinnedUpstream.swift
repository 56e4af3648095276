// The upstream connections of one client's connection to which the client has logged in.
import LupinCore
package import LupinIO

/// Keeps idle upstream connections for the client that has authenticated them, one for each hop.
///
/// Some credentials are for a connection and not for a request (`ConnectionLogin`): every request
/// on it counts as that user's, at the origin or at the parent proxy. So it is never in the pool,
/// and its client's next request to the hop goes over it, which the handshake needs, too.
package final class PinnedUpstream: ChannelPump {
    /// Beyond this many the oldest is closed: its client logs in again.
    private static let countMax = 8

    /// The one kept last is at the end.
    private var held: [UpstreamHTTP1] = []

    package init() {}

    /// Keeps a connection in place of the former one to its hop.
    package func keep(_ connection: UpstreamHTTP1, since now: UInt64) {
        close { $0.hop == connection.hop }
        if held.count == Self.countMax { held.removeFirst().channel.close() }
        connection.rest(with: self, since: now)
        held.append(connection)
    }

    /// Lends the connection that leads to `hop` if it is still open.
    package func lend(for hop: NextHop) -> UpstreamHTTP1? {
        guard let index = held.firstIndex(where: { $0.hop == hop }) else { return nil }
        let connection = held.remove(at: index)
        guard connection.isUsable(at: connection.channel.loop.now, asksKernel: true) else {
            connection.channel.close()
            return nil
        }
        connection.hasServed = true
        return connection
    }

    /// Whether it keeps a connection to `hop`.
    package func leads(to hop: NextHop) -> Bool { held.contains { $0.hop == hop } }

    package func close() { close { _ in true } }

    private func close(where isMeant: (UpstreamHTTP1) -> Bool) {
        let closed = held.filter(isMeant)
        held.removeAll(where: isMeant)
        for connection in closed { connection.channel.close() }
    }

    /// An idle connection has nothing to send: it was closed, or its bytes answer no request.
    package func channelIsReady(_ channel: Channel) {
        close { $0.channel === channel && !$0.isQuiet }
    }
}

extension NextHop {
    /// Whether a client has logged in to the connection by which a parent proxy gave a tunnel.
    package var isByLogin: Bool { isThroughParent && connectedParent?.user != nil }
}
