// Which node of a cluster has which slots, and what a node says that sends elsewhere.

import LupinCore

/// The address of a node as a server tells it.
package struct NodeAddress: Sendable, Hashable {
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`; an IPv6 address has no brackets there.
    init?(_ text: Substring) {
        guard let colon = text.lastIndex(of: ":"),
            let port = NumberReader.port(text[text.index(after: colon)...])
        else { return nil }
        self.init(host: String(text[..<colon]), port: port)
    }
}

/// An answer that sends a command to another node.
package enum Redirection: Sendable, Equatable {
    /// The slot has moved for good.
    case moved(slot: Int, NodeAddress)
    /// The slot is moving: this command alone goes there, behind ASKING.
    case ask(NodeAddress)

    /// nil where a reply is none; `asked` stands in for a host that the node doesn't know.
    package init?(_ reply: RedisReply, asked: NodeAddress) {
        guard case .failure(let text) = reply else { return nil }
        let words = text.split(separator: " ")
        let last = UInt64(HashSlot.count - 1)
        guard words.count == 3, let number = NumberReader.unsigned(words[1], max: last),
            var address = NodeAddress(words[2])
        else { return nil }
        // Bounded: less than the number of slots.
        let slot = Int(number)
        if address.host.isEmpty { address.host = asked.host }
        switch words[0] {
        case "MOVED": self = .moved(slot: slot, address)
        case "ASK": self = .ask(address)
        default: return nil
        }
    }
}

/// The primary node of every slot.
package struct SlotMap: Sendable, Equatable {
    private var nodes: [NodeAddress] = []
    /// The index into `nodes` by slot; -1 for a slot that no node has.
    private var owners: [Int16] = []

    /// No slot has a node.
    package init() {}

    /// Reads a reply to CLUSTER SLOTS; nil where it is none.
    ///
    /// - Parameters:
    ///   - reply: A list of `[first, last, [host, port, …], …]`, the primary in front.
    ///   - asked: The node that replied; a node that doesn't know its host tells an empty one.
    package init?(slots reply: RedisReply, asked: NodeAddress) {
        guard case .list(let ranges) = reply, !ranges.isEmpty else { return nil }
        owners = Array(repeating: -1, count: HashSlot.count)
        var total = 0
        for range in ranges {
            guard case .list(let parts) = range, parts.count >= 3,
                let first = parts[0].number, let last = parts[1].number,
                first >= 0, last < HashSlot.count, first <= last,
                case .list(let node) = parts[2], node.count >= 2,
                let number = node[1].number, let port = UInt16(exactly: number), port > 0
            else { return nil }
            let host = node[0].bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
            let address = NodeAddress(host: host.isEmpty ? asked.host : host, port: port)
            guard let index = index(of: address) else { return nil }
            // Bounded: both are slots. Each slot has one node.
            total += Int(last - first) + 1
            guard total <= HashSlot.count else { return nil }
            for slot in Int(first)...Int(last) { owners[slot] = index }
        }
    }

    /// The most nodes of a cluster.
    private static let nodesMax = 1024

    private mutating func index(of address: NodeAddress) -> Int16? {
        if let known = nodes.firstIndex(of: address) { return Int16(known) }
        guard nodes.count < Self.nodesMax else { return nil }
        nodes.append(address)
        return Int16(nodes.count - 1)
    }

    /// Whether no slot has a node.
    package var isEmpty: Bool { owners.isEmpty }

    /// The node that has a slot; nil where none is known.
    package func node(of slot: Int) -> NodeAddress? {
        guard owners.indices.contains(slot), owners[slot] >= 0 else { return nil }
        return nodes[Int(owners[slot])]
    }

    /// The nodes that have slots.
    package var allNodes: [NodeAddress] { nodes }

    /// Notes that a slot has moved.
    package mutating func move(_ slot: Int, to address: NodeAddress) {
        guard (0..<HashSlot.count).contains(slot), let index = index(of: address) else { return }
        if owners.isEmpty { owners = Array(repeating: -1, count: HashSlot.count) }
        owners[slot] = index
    }
}
