// Chooses the idle connection for the next request, and limits how long one is kept.
package import LupinIO

/// One worker's idle upstream connections.
///
/// `upstream.pool.per_host` limits idle connections, not open ones: a request never waits for
/// another request's connection, since a client with a hundred parallel downloads would otherwise
/// hang here. The limit applies at the sweep only: a burst that ends at once would close
/// connections that the next burst opens again.
package final class UpstreamPool {
    /// The idle connections to one hop: a stack, the one used last on top.
    package final class Shelf {
        fileprivate var top: UpstreamHTTP1?
        fileprivate var listed = true
        /// False once the pool has forgotten the shelf.
        package var isListed: Bool { listed }
    }

    /// The HTTP/2 connections, which several requests use at a time.
    package let streams: StreamPool
    private let loop: EventLoop
    private let tickets: TicketStore
    private var shelves: [NextHop: Shelf] = [:]
    /// How many idle connections to one host are kept; this worker's share.
    package var idlePerHostMax: Int
    package var idleLifetime: Duration

    package init(
        on loop: EventLoop,
        servers: KnownServers,
        idlePerHostMax: Int,
        idleLifetime: Duration
    ) {
        self.loop = loop
        tickets = servers.tickets
        streams = StreamPool(on: loop, tickets: tickets)
        self.idlePerHostMax = idlePerHostMax
        self.idleLifetime = idleLifetime
    }

    /// Leases the connection used last, if it is open and has nothing to read.
    package func lease(for hop: NextHop) -> UpstreamHTTP1? { shelves[hop].flatMap(lease) }

    /// The shelf of a hop that had connections, for callers that ask often: it saves a look-up for
    /// as long as it is listed.
    package func knownShelf(for hop: NextHop) -> Shelf? { shelves[hop] }

    /// Leases from a shelf.
    package func lease(from shelf: Shelf) -> UpstreamHTTP1? {
        // The caller attaches itself as the connection's pump before it waits for anything.
        while let connection = shelf.top.take() {
            shelf.top = connection.below.take()
            // The socket itself is read, since no event may have told of bytes yet: they would be
            // taken for the response (RFC 9112 §9.2), or the request would be lost. One whose
            // response ended in this turn has just been read.
            let isKnown = connection.channel.wasEmptiedInThisTurn
            if connection.isUsable(at: loop.now, asksKernel: !isKnown) {
                connection.hasServed = true
                return connection
            }
            connection.channel.close()
        }
        return nil
    }

    /// Keeps a connection for later requests.
    package func keep(_ connection: UpstreamHTTP1) {
        connection.rest(with: self, since: loop.now)
        if let shelf = connection.shelf, shelf.listed {
            put(connection, on: shelf)
        } else {
            let shelf = shelf(for: connection.hop)
            connection.shelf = shelf
            put(connection, on: shelf)
        }
    }

    private func put(_ connection: UpstreamHTTP1, on shelf: Shelf) {
        connection.below = shelf.top.take()
        shelf.top = connection
    }

    func keepTicket(of secured: SecuredConnection, for hop: NextHop) {
        tickets.keepTicket(of: secured, for: hop)
    }

    /// Closes connections idle for too long, and surplus ones; called about once a second.
    package func sweep() {
        let now = loop.now
        let lifetime = idleLifetime.microseconds
        _ = streams.sweep(idleLifetime: lifetime)
        for shelf in shelves.values {
            var kept = 0
            filter(shelf) { connection in
                let age = now &- connection.idleSince
                kept += 1
                return age < lifetime && !connection.isWorn(at: now)
                    && (kept <= idlePerHostMax || age < Self.surplusLifetime)
            }
        }
        guard shelves.count > Self.shelvesMax else { return }
        for (hop, shelf) in shelves where shelf.top == nil {
            shelf.listed = false
            shelves[hop] = nil
        }
    }

    /// Closes all idle connections; returns false when there is none.
    package func closeIdle() -> Bool {
        var closed = streams.sweep(idleLifetime: 0)
        for shelf in shelves.values {
            filter(shelf) { _ in
                closed += 1
                return false
            }
        }
        return closed > 0
    }

    /// How long the surplus of a burst may stay, in microseconds.
    private static let surplusLifetime: UInt64 = 1_000_000
    /// The maximum number of hosts remembered without a connection.
    private static let shelvesMax = 1024

    /// Closes all connections.
    package func closeAll() {
        streams.closeAll()
        for shelf in shelves.values { filter(shelf) { _ in false } }
    }

    /// Closes the connections of a shelf that `isWanted` rejects, and forgets those that have
    /// closed; the others keep their order.
    private func filter(_ shelf: Shelf, _ isWanted: (UpstreamHTTP1) -> Bool) {
        var wanted: [UpstreamHTTP1] = []
        var next = shelf.top
        while let connection = next {
            next = connection.below
            connection.below = nil
            guard connection.channel.isOpen else { continue }
            if isWanted(connection) {
                wanted.append(connection)
            } else {
                connection.channel.close()
            }
        }
        shelf.top = nil
        for connection in wanted.reversed() {
            connection.below = shelf.top
            shelf.top = connection
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
    /// An idle connection has nothing to send: it was closed, or its bytes answer no request.
    ///
    /// It stays on its shelf until that is looked at: an origin that restarts closes all at once.
    package func channelIsReady(_ channel: Channel) {
        guard channel.isOpen, !channel.isQuiet(asksKernel: false) else { return }
        channel.close()
    }
}
