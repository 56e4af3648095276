// Which idle connection serves the next request, and how long one is kept.
import LupinCore
import LupinIO

/// One worker's idle upstream connections.
///
/// `upstream.pool.per_host` bounds what stays idle, not what is open: a request never waits for
/// another one's connection, as a tool's hundred parallel downloads would otherwise hang here. And
/// it bounds what *stays*: a burst that ends at once would close connections that its next wave
/// opens again, so the surplus goes when the pool is swept.
final class UpstreamPool {
    /// The idle connections to one hop, the one used last at the end.
    final class Shelf {
        fileprivate var idle: [UpstreamHTTP1] = []
        /// False once the pool has forgotten the shelf.
        fileprivate var isListed = true
    }

    private let loop: EventLoop
    private var shelves: [NextHop: Shelf] = [:]
    /// The shelf that was asked for last: tools ask one host several times in a row.
    private var lastShelf: (hop: NextHop?, shelf: Shelf?) = (nil, nil)
    /// How many connections to one host are kept; this worker's share.
    var idlePerHostMax: Int
    var idleLifetime: Duration

    init(on loop: EventLoop, idlePerHostMax: Int, idleLifetime: Duration) {
        self.loop = loop
        self.idlePerHostMax = idlePerHostMax
        self.idleLifetime = idleLifetime
    }

    /// The connection that was used last, if it is still as quiet as it must be.
    ///
    /// - Parameter asksKernel: Look at the socket itself and not only at the events that were
    ///   seen: for requests that can't be sent again once they were lost.
    func lease(for hop: NextHop, asksKernel: Bool) -> UpstreamHTTP1? {
        let shelf = lastShelf.hop == hop ? lastShelf.shelf : shelves[hop]
        guard let shelf else { return nil }
        lastShelf = (hop, shelf)
        while let connection = shelf.idle.popLast() {
            connection.channel.pump = nil
            if connection.channel.isQuiet(asksKernel: asksKernel) {
                connection.isReused = true
                return connection
            }
            connection.channel.close()
        }
        return nil
    }

    /// Keeps a connection for later requests.
    func keep(_ connection: UpstreamHTTP1) {
        connection.idleSince = loop.now
        connection.channel.slot = nil
        connection.channel.pump = self
        if let shelf = connection.shelf, shelf.isListed {
            shelf.idle.append(connection)
        } else {
            let shelf = shelf(for: connection.hop)
            connection.shelf = shelf
            shelf.idle.append(connection)
        }
    }

    /// Closes what has been idle for too long and what is too much; called about once a second.
    func sweep() {
        let lifetime = idleLifetime.microseconds
        for shelf in shelves.values {
            var surplus = shelf.idle.count - idlePerHostMax
            // Oldest first: connections are taken from and put to the end.
            let unwanted = shelf.idle.prefix { connection in
                let age = loop.now &- connection.idleSince
                surplus -= 1
                return age >= lifetime || (surplus >= 0 && age >= Self.surplusLifetime)
            }
            for connection in unwanted { connection.channel.close() }
            shelf.idle.removeFirst(unwanted.count)
        }
        guard shelves.count > Self.shelvesMax else { return }
        lastShelf = (nil, nil)
        for (hop, shelf) in shelves where shelf.idle.isEmpty {
            shelf.isListed = false
            shelves[hop] = nil
        }
    }

    /// How long the surplus of a burst may stay, in microseconds.
    private static let surplusLifetime: UInt64 = 1_000_000
    /// Hosts remembered without a connection to them.
    private static let shelvesMax = 1024

    /// Closes everything.
    func closeAll() {
        for shelf in shelves.values {
            for connection in shelf.idle { connection.channel.close() }
            shelf.idle = []
        }
    }

    private func shelf(for hop: NextHop) -> Shelf {
        if let known = shelves[hop] { return known }
        let shelf = Shelf()
        shelves[hop] = shelf
        return shelf
    }
}

extension UpstreamPool: ChannelPump {
    /// An idle connection has no reason to speak: it was closed, or what it says answers nothing.
    func channelIsReady(_ channel: Channel) {
        guard channel.isOpen, !channel.isQuiet(asksKernel: false) else { return }
        for shelf in shelves.values { shelf.idle.removeAll { $0.channel === channel } }
        channel.close()
    }
}
