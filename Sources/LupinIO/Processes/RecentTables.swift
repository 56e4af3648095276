// The kernel's tables of connections, read once for all concurrent look-ups.
import Synchronization

/// The tables as last read, so that a burst of new clients does not cost one reading each.
final class RecentTables: Sendable {
    private struct Reading {
        /// In microseconds of the monotonic clock.
        var begun: UInt64
        var tables: [[UInt8]]
    }

    /// The kernel may skip an entry while others come and go.
    private static let readingsMax = 3

    private let last = Mutex<Reading?>(nil)

    /// The known data about a client's user; it blocks.
    func user(
        of peer: SocketAddress,
        to local: SocketAddress,
        askedAt: UInt64
    ) -> ProcessLookup.Finding {
        guard ProcessLookup.isWithinMachine(peer, local) else { return ProcessLookup.Finding() }
        for round in 0..<Self.readingsMax {
            for table in tables(since: round == 0 ? askedAt : nil) {
                let entry = SocketTableEntry.find(in: table, local: peer, remote: local)
                if let entry { return ProcessLookup.Finding(user: entry.uid) }
            }
        }
        return ProcessLookup.Finding()
    }

    /// The tables, read again unless the last reading began after `moment`.
    private func tables(since moment: UInt64?) -> [[UInt8]] {
        last.withLock { last in
            if let moment, let last, last.begun > moment { return last.tables }
            let begun = SystemCall.monotonicMicroseconds()
            let tables = ProcessLookup.tablePaths.compactMap {
                ProcessFiles.content(of: $0, bytesMax: ProcessLookup.tableBytesMax)
            }
            last = Reading(begun: begun, tables: tables)
            return tables
        }
    }
}
