// The order of password checks: clients take turns, and none may fill the queue.
package import LupinCore

/// The passwords that wait to be checked.
///
/// A flood of one client delays only that client's next password: every client has a lane, and the
/// lanes take turns.
package struct PasswordQueue: Sendable {
    /// The maximum number of waiting passwords.
    package static let waitingMax = 256
    /// The maximum of one client; an address with many users needs some.
    package static let perClientMax = 32
    /// The maximum of different passwords for one name by one client; other names have their own.
    package static let perNameMax = 4

    /// A waiting password.
    package struct Entry: Sendable {
        /// The digest of name and password.
        package var key: [UInt8]
        package var name: String

        package init(key: [UInt8], name: String) {
            self.key = key
            self.name = name
        }
    }

    private var lanes: [IPAddress: [Entry]] = [:]
    /// The lanes in the order of their turns, the next one first.
    private var order: [IPAddress] = []
    package private(set) var count = 0

    package init() {}

    /// Queues a password; returns false when there is no room for it.
    package mutating func append(_ entry: Entry, from client: IPAddress) -> Bool {
        let lane = Self.lane(of: client)
        let waiting = lanes[lane] ?? []
        guard count < Self.waitingMax, waiting.count < Self.perClientMax,
            waiting.count(where: { $0.name == entry.name }) < Self.perNameMax
        else { return false }
        if waiting.isEmpty { order.append(lane) }
        lanes[lane, default: []].append(entry)
        count += 1
        return true
    }

    /// Removes and returns the next one.
    package mutating func next() -> [UInt8]? {
        guard let lane = order.first, var waiting = lanes[lane], !waiting.isEmpty else {
            return nil
        }
        order.removeFirst()
        let entry = waiting.removeFirst()
        count -= 1
        lanes[lane] = waiting.isEmpty ? nil : waiting
        if !waiting.isEmpty { order.append(lane) }
        return entry.key
    }

    /// Removes a password without waiters; returns false when its turn has come already.
    package mutating func remove(_ key: [UInt8], from client: IPAddress) -> Bool {
        let lane = Self.lane(of: client)
        guard var waiting = lanes[lane], let index = waiting.firstIndex(where: { $0.key == key })
        else { return false }
        waiting.remove(at: index)
        count -= 1
        lanes[lane] = waiting.isEmpty ? nil : waiting
        if waiting.isEmpty { order.removeAll { $0 == lane } }
        return true
    }

    /// The lane of a client: an IPv6 client usually has all 2⁶⁴ addresses of its prefix.
    private static func lane(of client: IPAddress) -> IPAddress {
        guard case .v6(let high, _) = client else { return client }
        return .v6(high: high, low: 0)
    }
}
