// Data about a store that any thread can read without waiting for the disk.

import Synchronization

/// The part of a store that is in memory.
///
/// Its lock is never held across a system call.
final class DiskTally: Sendable {
    private struct Figures {
        /// The number of entries whose key has this hash.
        var keys: [Int64: Int32] = [:]
        /// Entries whose bodies are known to be intact.
        var checked: Set<Int64> = []
        var stats = DiskStats()
        var notices = DiskNotices()
    }
    private let figures = Mutex(Figures())

    // MARK: Asking

    func mayHold(_ keyHash: Int64) -> Bool { figures.withLock { $0.keys[keyHash] != nil } }
    func isChecked(_ id: Int64) -> Bool { figures.withLock { $0.checked.contains(id) } }
    var stats: DiskStats { figures.withLock(\.stats) }

    func takeNotices(nowUs: Int64) -> [String] {
        figures.withLock { $0.notices.take(nowUs: nowUs) }
    }

    // MARK: Telling

    /// Replaces the data with that of an index.
    func begin(with keys: [Int64: Int32], entries: Int, bytes: Int) {
        figures.withLock { figures in
            figures.keys = keys
            figures.checked = []
            figures.stats.entries = entries
            figures.stats.bytes = bytes
        }
    }

    func limit(bytes: Int) { figures.withLock { $0.stats.bytesMax = bytes } }

    /// Counts an entry that was just written, and so needs no check.
    func add(_ row: IndexRow) {
        figures.withLock { figures in
            figures.keys[row.keyHash, default: 0] += 1
            figures.checked.insert(row.id)
            figures.stats.entries += 1
            figures.stats.bytes += row.bytes
            figures.stats.stored += 1
        }
    }

    func grow(by bytes: Int) { figures.withLock { $0.stats.bytes += bytes } }

    func remove(_ rows: [IndexRow], areEvicted: Bool = false) {
        guard !rows.isEmpty else { return }
        figures.withLock { figures in
            for row in rows {
                let left = figures.keys[row.keyHash, default: 1] - 1
                figures.keys[row.keyHash] = left > 0 ? left : nil
                figures.checked.remove(row.id)
                figures.stats.bytes -= row.bytes
            }
            figures.stats.entries -= rows.count
            if areEvicted { figures.stats.evicted += rows.count }
        }
    }

    func setChecked(_ id: Int64) { figures.withLock { _ = $0.checked.insert(id) } }

    /// Counts a refusal to store.
    func refuse() { figures.withLock { $0.stats.refused += 1 } }

    /// Counts a body that differed from what was stored.
    func damage() { figures.withLock { $0.stats.damaged += 1 } }

    func note(_ kind: DiskNotices.Kind, _ text: String) {
        figures.withLock { $0.notices.note(kind, text) }
    }
}

/// Problems not yet reported: each kind at most once a minute.
struct DiskNotices {
    enum Kind: CaseIterable { case index, body, room, disk }

    private struct Pending {
        var text: String
        var count: Int
    }
    private var pending: [Kind: Pending] = [:]
    private var toldAtUs: [Kind: Int64] = [:]

    /// How long a kind is not reported again.
    static let silenceUs: Int64 = 60_000_000

    mutating func note(_ kind: Kind, _ text: String) {
        pending[kind] = Pending(text: text, count: (pending[kind]?.count ?? 0) + 1)
    }

    /// The last problem of each kind, with its count; kinds reported too recently wait.
    mutating func take(nowUs: Int64) -> [String] {
        var texts: [String] = []
        for kind in Kind.allCases {
            guard let notice = pending[kind] else { continue }
            // A clock that was set back must not suppress a kind for long.
            if let told = toldAtUs[kind], told <= nowUs, nowUs - told < Self.silenceUs { continue }
            toldAtUs[kind] = nowUs
            pending[kind] = nil
            texts.append(notice.count > 1 ? "\(notice.text) (\(notice.count) times)" : notice.text)
        }
        return texts
    }
}
