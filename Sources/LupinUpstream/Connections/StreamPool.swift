// Chooses the HTTP/2 connection for the next request, and lets exchanges wait for one being made.
package import LupinIO

/// One worker's HTTP/2 connections to origins.
///
/// A hop has one connection, and gets another only when the first takes no more streams. Requests
/// never share a connection across origins, even where a certificate would allow it (RFC 9113
/// §9.1.1): each origin has its own rules and trust policy, and the hop identifies both.
package final class StreamPool {
    /// The connections to one hop.
    private final class Shelf {
        var connections: [UpstreamHTTP2] = []

        /// The first connection with room for one more stream.
        var withRoom: UpstreamHTTP2? { connections.first { $0.streamsLeft > 0 } }
    }

    private let loop: EventLoop
    private let tickets: TicketStore
    private var shelves: [NextHop: Shelf] = [:]
    /// Hops to which a connection is being made that other exchanges may share.
    private var dialled: Set<NextHop> = []
    private var failed: [NextHop: Int] = [:]
    /// The slots of exchanges that wait for such a connection, or for room on one.
    private var waiting: [NextHop: [ParkingSlot]] = [:]
    /// Hops known not to speak HTTP/2; true where the origin reset a stream with HTTP_1_1_REQUIRED.
    private var speakHTTP1: [NextHop: Bool] = [:]

    /// The maximum number of hops whose protocol or failures are remembered.
    private static let memoriesMax = 4096

    init(on loop: EventLoop, tickets: TicketStore) {
        self.loop = loop
        self.tickets = tickets
    }

    /// Whether a connection to the hop can be shared, as far as known.
    package func mayShare(_ hop: NextHop) -> Bool {
        hop.isSecure && speakHTTP1[hop] == nil
    }

    /// Whether the origin wants HTTP/1.1 although it can speak HTTP/2.
    package func wantsHTTP1(_ hop: NextHop) -> Bool {
        hop.isSecure && speakHTTP1[hop] == true
    }

    package func remember(_ hop: NextHop, wantsHTTP1: Bool) {
        guard hop.isSecure else { return }
        if speakHTTP1.count >= Self.memoriesMax { speakHTTP1 = [:] }
        speakHTTP1[hop] = wantsHTTP1 || speakHTTP1[hop] == true
    }

    // MARK: Connections

    /// A connection with room for one more stream.
    package func connection(to hop: NextHop, forWebSocket: Bool) -> UpstreamHTTP2? {
        guard forWebSocket else { return shelves[hop]?.withRoom }
        return shelves[hop]?.connections.first { $0.streamsLeft > 0 && $0.takesExtendedConnect }
    }

    package func keep(_ connection: UpstreamHTTP2) {
        connection.pool = self
        // It may have ended in the very turn that made it.
        guard connection.link.isOpen else { return }
        let shelf = shelves[connection.hop] ?? Shelf()
        shelf.connections.append(connection)
        shelves[connection.hop] = shelf
        speakHTTP1[connection.hop] = nil
    }

    func forget(_ connection: UpstreamHTTP2) {
        if let shelf = shelves[connection.hop] {
            shelf.connections.removeAll { $0 === connection }
            if shelf.connections.isEmpty { shelves[connection.hop] = nil }
        }
        roomChanged(at: connection.hop)
    }

    /// Wakes waiting exchanges after a stream ended, or settings came.
    func roomChanged(at hop: NextHop) {
        guard !waiting.isEmpty else { return }
        for slot in waiting[hop] ?? [] { slot.wake(.answered) }
    }

    func keepTicket(of secured: SecuredConnection, for hop: NextHop) {
        tickets.keepTicket(of: secured, for: hop)
    }

    /// Closes connections idle for longer than the lifetime, in microseconds.
    ///
    /// Returns how many there were.
    func sweep(idleLifetime: UInt64) -> Int {
        var closed = 0
        for connection in shelves.values.flatMap(\.connections) {
            guard !connection.link.hasStreams,
                loop.now &- connection.idleSince >= idleLifetime
            else { continue }
            connection.leave()
            closed += 1
        }
        return closed
    }

    func closeAll() {
        for connection in shelves.values.flatMap(\.connections) { connection.cut() }
    }

    // MARK: Dialling

    /// Whether a connection to the hop is being made.
    ///
    /// Also true until the origin's SETTINGS say how many streams it takes.
    package func isDialing(_ hop: NextHop) -> Bool {
        dialled.contains(hop)
            || shelves[hop]?.connections.contains { !$0.link.hasSettings } ?? false
    }

    /// How often connecting to the hop has failed.
    package func failures(at hop: NextHop) -> Int { failed[hop] ?? 0 }

    /// Notes that a shareable connection is being made; returns false when it can't be shared, or
    /// one is being made already.
    package func beginDial(_ hop: NextHop, wants protocols: [String]?) -> Bool {
        guard protocols == nil, mayShare(hop) else { return false }
        return dialled.insert(hop).inserted
    }

    package func endDial(_ hop: NextHop, isConnected: Bool) {
        dialled.remove(hop)
        if !isConnected {
            if failed.count >= Self.memoriesMax { failed = [:] }
            failed[hop, default: 0] += 1
        }
        roomChanged(at: hop)
    }

    package func wait(for hop: NextHop, in slot: ParkingSlot) {
        waiting[hop, default: []].append(slot)
    }

    package func stopWaiting(for hop: NextHop, in slot: ParkingSlot) {
        waiting[hop]?.removeAll { $0 === slot }
        if waiting[hop]?.isEmpty == true { waiting[hop] = nil }
    }
}
