// The number of open client connections: in total, by address, and by holder.
package import LupinCore
import Synchronization

/// The holder of a connection, for fairness when there are too many.
package enum ConnectionHolder: Hashable, Sendable {
    /// A user of this machine, as reported by the kernel.
    case user(UInt32)
    /// Another machine, or a client that the kernel does not know.
    case address(IPAddress)

    /// The name for diagnostics.
    var text: String {
        switch self {
        case .user(let number): "user \(number)"
        case .address(let address): address.text
        }
    }
}

/// The counts of all workers.
package final class ConnectionCounter: Sendable {
    private let open = Atomic<Int>(0)
    private let byClient = Mutex<[IPAddress: Int]>([:])
    private let byHolder = Mutex<[ConnectionHolder: Int]>([:])
    /// When too many connections were last warned of, in microseconds of the loops' clock.
    private let warnings = WarningPause()

    var count: Int { open.load(ordering: .relaxed) }

    package init() {}

    package func opened() { open.add(1, ordering: .relaxed) }
    func closed() { open.subtract(1, ordering: .relaxed) }

    // MARK: `limits.client_connections`

    /// Counts a connection of `client`; returns false when the client has `limit` already.
    func admit(_ client: IPAddress, limit: Int) -> Bool {
        byClient.withLock { counts in
            let count = counts[client, default: 0]
            guard count < limit else { return false }
            counts[client] = count + 1
            return true
        }
    }

    func release(_ client: IPAddress) {
        byClient.withLock { Self.release(client, in: &$0) }
    }

    // MARK: `limits.connections`

    /// Counts a connection for its holder.
    package func hold(_ holder: ConnectionHolder) {
        byHolder.withLock { $0[holder, default: 0] += 1 }
    }

    package func release(_ holder: ConnectionHolder) {
        byHolder.withLock { Self.release(holder, in: &$0) }
    }

    /// How many connections a holder has and may have: half of those that the others leave.
    package func share(of holder: ConnectionHolder, limit: Int) -> (held: Int, allowed: Int) {
        let held = byHolder.withLock { $0[holder] ?? 0 }
        let left = max(0, limit - max(0, count - held))
        return (held, max(1, (left + 1) / 2))
    }

    /// The holder of the most connections, for diagnostics.
    var largest: (holder: ConnectionHolder, count: Int)? {
        byHolder.withLock { counts in
            counts.max { $0.value < $1.value }.map { (holder: $0.key, count: $0.value) }
        }
    }

    /// Whether a warning is due; at most once a minute.
    package func mayWarn(now: UInt64) -> Bool { warnings.mayWarn(now: now) }

    private static func release<Key>(_ key: Key, in counts: inout [Key: Int]) {
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }
}

/// Keeps a warning that has a cause in every turn of a loop to one a minute.
final class WarningPause: Sendable {
    private let warnedAt = Atomic<UInt64>(0)

    /// Whether the warning is due; `now` is in microseconds of the loop's clock.
    func mayWarn(now: UInt64) -> Bool {
        let last = warnedAt.load(ordering: .relaxed)
        // Another worker's clock may be ahead of this one's.
        let isDue = last == 0 || (now > last && now &- last >= 60_000_000)
        guard isDue else { return false }
        return warnedAt.compareExchange(
            expected: last,
            desired: max(1, now),
            ordering: .relaxed
        ).exchanged
    }
}
