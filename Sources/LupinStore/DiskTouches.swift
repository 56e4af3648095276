// Uses of entries that are not written yet, and when they must be.

/// Uses that are written together: writing single rows would cost more than the answers.
struct DiskTouches: Sendable {
    struct Touch: Sendable {
        var usedAtUs: Int64
        var uses: Int
    }
    /// By ID.
    private(set) var pending: [Int64: Touch] = [:]
    private var writtenAtUs: Int64?

    /// How many entries' uses are pending at most, and how long, in microseconds.
    static let countMax = 256
    static let waitUs: Int64 = 1_000_000

    var isEmpty: Bool { pending.isEmpty }

    /// Records a use.
    /// - Returns: Whether all of them are due.
    mutating func add(_ id: Int64, nowUs: Int64) -> Bool {
        var touch = pending[id] ?? Touch(usedAtUs: nowUs, uses: 0)
        touch.usedAtUs = max(touch.usedAtUs, nowUs)
        touch.uses += 1
        pending[id] = touch
        let since = writtenAtUs ?? nowUs
        if writtenAtUs == nil { writtenAtUs = nowUs }
        // A clock that was set back must not delay them.
        let isDue = nowUs < since || nowUs - since >= Self.waitUs || pending.count >= Self.countMax
        if isDue { writtenAtUs = nowUs }
        return isDue
    }

    /// Drops uses that were written, or can't be.
    mutating func removeAll() { pending = [:] }

    mutating func remove(_ ids: [Int64]) {
        for id in ids { pending[id] = nil }
    }

    /// An entry with its unwritten uses added.
    func applied(to entry: DiskEntry) -> DiskEntry {
        guard let touch = pending[entry.id] else { return entry }
        var entry = entry
        entry.usedAtUs = max(entry.usedAtUs, touch.usedAtUs)
        entry.uses &+= touch.uses
        return entry
    }
}
