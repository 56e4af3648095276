// Which HTTP/2 connection carries the next request, and who waits for one that is being made.
import LupinCore
import LupinIO

/// One worker's HTTP/2 connections to origins.
///
/// A hop has one, and another only when the first takes no more streams. Requests never share a
/// connection across origins, even where a certificate would allow it (RFC 9113 §9.1.1): each
/// origin has its own rules and trust policy, and the hop says both.
final class StreamPool {
    /// The connections to one hop.
    private final class Shelf {
        var connections: [UpstreamHTTP2] = []

        /// The first one with room for one more stream.
        var withRoom: UpstreamHTTP2? { connections.first { $0.streamsLeft > 0 } }
    }

    private let loop: EventLoop
    private let tickets: TicketStore
    private var shelves: [NextHop: Shelf] = [:]
    /// Hops to which somebody makes a connection that others may share.
    private var dialled: Set<NextHop> = []
    private var failed: [NextHop: Int] = [:]
    /// Who waits for such a connection, or for a word on one.
    private var waiting: [NextHop: [ParkingSlot]] = [:]
    /// Hops that are known not to speak HTTP/2; true where they said so in a stream.
    private var speakHTTP1: [NextHop: Bool] = [:]

    /// Hops of which it is remembered what they speak.
    private static let memoriesMax = 4096

    init(on loop: EventLoop, tickets: TicketStore) {
        self.loop = loop
        self.tickets = tickets
    }

    /// Whether a connection to the hop can be shared, as far as is known.
    func mayShare(_ hop: NextHop) -> Bool {
        hop.isSecure && speakHTTP1[hop] == nil
    }

    /// Whether the origin wants HTTP/1.1 although it can speak HTTP/2.
    func wantsHTTP1(_ hop: NextHop) -> Bool {
        hop.isSecure && speakHTTP1[hop] == true
    }

    func remember(_ hop: NextHop, wantsHTTP1: Bool) {
        guard hop.isSecure else { return }
        if speakHTTP1.count >= Self.memoriesMax { speakHTTP1 = [:] }
        speakHTTP1[hop] = wantsHTTP1 || speakHTTP1[hop] == true
    }

    // MARK: Connections

    /// A connection with room for one more stream.
    func connection(to hop: NextHop, forWebSocket: Bool) -> UpstreamHTTP2? {
        guard forWebSocket else { return shelves[hop]?.withRoom }
        return shelves[hop]?.connections.first { $0.streamsLeft > 0 && $0.takesExtendedConnect }
    }

    func keep(_ connection: UpstreamHTTP2) {
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

    /// A stream ended, or an answer came: those who wait look again.
    func roomChanged(at hop: NextHop) {
        guard !waiting.isEmpty else { return }
        for slot in waiting[hop] ?? [] { slot.wake(.answered) }
    }

    func keepTicket(of secured: SecuredConnection, for hop: NextHop) {
        tickets.keepTicket(of: secured, for: hop)
    }

    /// Closes what has been idle for too long, in microseconds.
    func sweep(idleLifetime: UInt64) {
        for connection in shelves.values.flatMap(\.connections) {
            guard !connection.link.hasStreams,
                loop.now &- connection.idleSince >= idleLifetime
            else { continue }
            connection.leave()
        }
    }

    func closeAll() {
        for connection in shelves.values.flatMap(\.connections) { connection.giveUp() }
    }

    // MARK: Dialling

    /// Whether somebody makes a connection to the hop.
    ///
    /// So it is while the origin has not said yet how many streams it takes.
    func isDialing(_ hop: NextHop) -> Bool {
        dialled.contains(hop)
            || shelves[hop]?.connections.contains { !$0.link.hasSettings } ?? false
    }

    /// How often making a connection to the hop has failed.
    func failures(at hop: NextHop) -> Int { failed[hop] ?? 0 }

    /// Notes that a connection is being made which others may share; false where they can't.
    func beginDial(_ hop: NextHop, wants protocols: [String]?) -> Bool {
        guard protocols == nil, mayShare(hop) else { return false }
        return dialled.insert(hop).inserted
    }

    func endDial(_ hop: NextHop, isConnected: Bool) {
        dialled.remove(hop)
        if !isConnected {
            if failed.count >= Self.memoriesMax { failed = [:] }
            failed[hop, default: 0] += 1
        }
        roomChanged(at: hop)
    }

    func wait(for hop: NextHop, in slot: ParkingSlot) { waiting[hop, default: []].append(slot) }

    func stopWaiting(for hop: NextHop, in slot: ParkingSlot) {
        waiting[hop]?.removeAll { $0 === slot }
        if waiting[hop]?.isEmpty == true { waiting[hop] = nil }
    }
}
