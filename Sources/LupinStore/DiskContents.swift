// The order of changes to files and rows, so that a kill at any moment leaves a consistent store.

import Glibc

/// The part of a store that waits for the disk; one thread at a time uses it.
///
/// | Step of a commit             | What a kill before it leaves                       |
/// |------------------------------|----------------------------------------------------|
/// | the draft gets its name      | a draft, removed when the store is opened          |
/// | one transaction of the index | a body without a row, found by `sweep`; the old    |
/// |                              | entries are as they were                           |
/// | the old bodies go            | bodies without rows, found by `sweep`              |
///
/// Nothing is flushed to disk for one entry. So a power failure may leave a row whose body is too
/// short or corrupt: the length is compared when it is opened, the CRC-32 when it is checked.
struct DiskContents {
    let folder: DiskFolder
    let tally: DiskTally
    var limits: DiskLimits
    /// nil when it could not be recreated, or the store is closed.
    private var index: DiskIndex?
    private var isClosed = false
    private var nextID: Int64 = 1
    private var touches = DiskTouches()
    private var swept = DiskSweep()

    init(folder: DiskFolder, limits: DiskLimits, tally: DiskTally) throws(DiskProblem) {
        self.folder = folder
        self.tally = tally
        self.limits = limits
        tally.limit(bytes: limits.bytesMax)
        folder.removeDrafts()
        do throws(DiskProblem) {
            try openIndex()
        } catch {
            throw .cannotOpen(path: folder.path, reason: error.description)
        }
        evictExcess()
    }

    // MARK: The index

    /// Opens the index, and replaces an unusable one.
    private mutating func openIndex() throws(DiskProblem) {
        do throws(DiskProblem) {
            try folder.makeIndexFile()
            index = try loadIndex()
        } catch {
            switch error {
            case .damaged, .io(EIO), .io(EACCES):
                tally.note(.index, "the index of \(folder.path) is no good; it was begun anew")
                folder.removeIndex()
                try folder.makeIndexFile()
                index = try loadIndex()
            default: throw error
            }
        }
    }

    /// Loads the data that must be in memory.
    private mutating func loadIndex() throws(DiskProblem) -> DiskIndex {
        let index = try DiskIndex(path: folder.indexPath)
        var keys: [Int64: Int32] = [:]
        var (entries, bytes) = (0, 0)
        do throws(DiskProblem) {
            // Never lower: bodies of a removed index may still be open.
            nextID = max(nextID, try index.lastID() + 1)
            try index.forEachKey { keyHash, size in
                keys[keyHash, default: 0] += 1
                entries += 1
                bytes += size
            }
        } catch {
            index.close()
            throw error
        }
        tally.begin(with: keys, entries: entries, bytes: bytes)
        touches.removeAll()
        swept = DiskSweep()
        return index
    }

    /// Runs `body` on the index; an index that proves to be damaged is recreated.
    private mutating func withIndex<Value>(
        _ work: (DiskIndex) throws(DiskProblem) -> Value
    ) throws(DiskProblem) -> Value {
        guard let index else { throw .closed }
        do throws(DiskProblem) {
            return try work(index)
        } catch {
            if error == .damaged { beginAnew() }
            throw error
        }
    }

    private mutating func beginAnew() {
        tally.note(.index, "the index of \(folder.path) is damaged; it was begun anew")
        dropIndex()
        replaceIndex()
    }

    private mutating func dropIndex() {
        index?.close()
        index = nil
        folder.removeIndex()
        tally.begin(with: [:], entries: 0, bytes: 0)
    }

    /// Makes an index where there is none; `begin` tries again if that fails.
    private mutating func replaceIndex() {
        do throws(DiskProblem) {
            try openIndex()
        } catch {
            tally.note(.index, "\(folder.path) has no index: \(error)")
        }
    }

    /// The index's answer, or `fallback`: a look-up that fails finds nothing.
    private mutating func found<Value>(
        or fallback: Value,
        _ work: (DiskIndex) throws(DiskProblem) -> Value
    ) -> Value {
        do throws(DiskProblem) {
            return try withIndex(work)
        } catch {
            note(error)
            return fallback
        }
    }

    /// Keeps a problem for the log.
    private func note(_ problem: DiskProblem) {
        switch problem {
        case .full: tally.note(.room, "\(folder.path): there is no room; nothing is stored")
        case .io: tally.note(.disk, "\(folder.path): \(problem)")
        // Reported where they are found, or mere refusals.
        case .cannotOpen, .inUse, .foreignFolder, .tooLarge, .damaged, .closed: break
        }
    }

    // MARK: Storing

    mutating func begin() throws(DiskProblem) -> DiskDraft {
        do throws(DiskProblem) {
            guard !isClosed else { throw .closed }
            // One more attempt, if there was no space for an index earlier.
            if index == nil { try openIndex() }
            try checkRoom()
            return try DiskDraft(in: folder)
        } catch {
            throw refusal(error)
        }
    }

    /// A growing draft checks the free space after this many bytes each.
    private static let roomCheckBytes: UInt64 = 1 << 20

    func append(_ bytes: Span<UInt8>, to draft: DiskDraft) throws(DiskProblem) {
        do throws(DiskProblem) {
            guard !isClosed, draft.isOpen else { throw .closed }
            let (before, added) = (draft.count, UInt64(bytes.count))
            guard before + added <= UInt64(clamping: limits.objectBytesMax) else { throw .tooLarge }
            if before / Self.roomCheckBytes != (before + added) / Self.roomCheckBytes {
                try checkRoom()
            }
            try draft.append(bytes)
        } catch {
            draft.abandon()
            throw refusal(error)
        }
    }

    mutating func commit(
        _ draft: DiskDraft,
        as entry: DiskEntry,
        replacing: [Int64],
        variantsMax: Int
    ) throws(DiskProblem) -> Int64 {
        var entry = entry
        do throws(DiskProblem) {
            guard !isClosed, draft.isOpen else { throw .closed }
            guard entry.facts.count <= DiskStore.factsBytesMax, entry.bytes <= limits.bytesMax
            else { throw .tooLarge }
            entry.id = nextID
            nextID += 1
            try draft.shelve(as: entry.id)
            try insert(entry, of: draft, replacing: replacing, variantsMax)
            return entry.id
        } catch {
            draft.abandon()
            throw refusal(error)
        }
    }

    /// Writes the row of a shelved body, then removes the entries that it displaced.
    private mutating func insert(
        _ entry: DiskEntry,
        of draft: DiskDraft,
        replacing: [Int64],
        _ variantsMax: Int
    ) throws(DiskProblem) {
        let (pending, bytes) = (touches, entry.bytes)
        let excess = tally.stats.bytes + bytes - limits.bytesMax
        let displaced: DiskIndex.Displaced
        do throws(DiskProblem) {
            displaced = try withIndex { index throws(DiskProblem) in
                try index.store(
                    entry,
                    checksum: draft.checksum,
                    replacing: replacing,
                    variantsMax: variantsMax,
                    excess: excess,
                    touches: pending
                )
            }
        } catch {
            folder.removeBody(entry.id)
            throw error
        }
        touches.removeAll()
        tally.add(IndexRow(id: entry.id, keyHash: stableHash(entry.key), bytes: bytes))
        letGo(displaced.replaced)
        letGo(displaced.evicted, areEvicted: true)
    }

    private func checkRoom() throws(DiskProblem) {
        guard let free = folder.freeBytes else { return }
        guard free > UInt64(clamping: limits.spareBytes) else { throw .full }
    }

    /// Counts a refusal.
    private func refusal(_ problem: DiskProblem) -> DiskProblem {
        tally.refuse()
        note(problem)
        return problem
    }

    /// Removes the bodies of removed rows.
    private func letGo(_ rows: [IndexRow], areEvicted: Bool = false) {
        tally.remove(rows, areEvicted: areEvicted)
        for row in rows { folder.removeBody(row.id) }
    }

    // MARK: Looking up

    mutating func entries(for key: String) -> [DiskEntry] {
        found(or: []) { index throws(DiskProblem) in try index.entries(for: key) }
            .map(touches.applied)
    }

    mutating func keys(url: String, limit: Int) -> [(id: Int64, key: String)] {
        found(or: []) { index throws(DiskProblem) in try index.keys(url: url, limit: limit) }
    }

    mutating func entry(_ id: Int64) -> DiskEntry? {
        found(or: nil) { index throws(DiskProblem) in try index.entry(id) }
            .map(touches.applied)
    }

    mutating func list(after id: Int64?, limit: Int) -> [DiskEntry] {
        found(or: []) { index throws(DiskProblem) in
            try index.entries(after: id ?? .min, limit: max(0, limit))
        }
        .map(touches.applied)
    }

    mutating func open(_ id: Int64) throws(DiskProblem) -> DiskBody? {
        let row = found(or: nil) { index throws(DiskProblem) in try index.body(id) }
        guard let row else { return nil }
        do throws(DiskProblem) {
            if let opened = try folder.openBody(id) {
                let file = OpenFile(owning: opened.file)
                if opened.length == row.length {
                    return DiskBody(
                        id: id,
                        length: row.length,
                        checksum: row.checksum,
                        owning: file
                    )
                }
            }
        } catch {
            note(error)
            throw error
        }
        removeDamaged(id)
        return nil
    }

    /// How many bytes of a body a check reads at once.
    private static let pieceBytes = 64 << 10

    mutating func check(_ body: DiskBody, bytesMax: Int) -> DiskCheck {
        if tally.isChecked(body.id) { return .ok }
        do throws(DiskProblem) {
            guard try body.check(bytesMax: bytesMax, pieceBytes: Self.pieceBytes) else {
                return .more
            }
        } catch {
            note(error)
            removeDamaged(body.id)
            return .damaged
        }
        let isThere = found(or: nil) { index throws(DiskProblem) in try index.body(body.id) } != nil
        if isThere { tally.setChecked(body.id) }
        return .ok
    }

    private mutating func removeDamaged(_ id: Int64) {
        tally.damage()
        tally.note(.body, "a body in \(folder.path) was damaged; it was removed")
        remove([id])
    }

    // MARK: Renewing and removing

    mutating func update(_ id: Int64, facts: [UInt8], nowUs: Int64) -> Bool {
        let bytesMax = limits.bytesMax
        do throws(DiskProblem) {
            guard facts.count <= DiskStore.factsBytesMax else { throw .tooLarge }
            let grown = try withIndex { index throws(DiskProblem) in
                try index.update(id, facts: facts, usedAtUs: nowUs, bytesMax: bytesMax)
            }
            guard let grown else { return false }
            tally.grow(by: grown)
        } catch {
            _ = refusal(error)
            return false
        }
        evictExcess()
        return true
    }

    /// Removes entries; with `isErasing`, so that no file keeps anything of them.
    @discardableResult
    mutating func remove(_ ids: [Int64], isErasing: Bool = false) -> Int {
        guard index != nil, !ids.isEmpty else { return 0 }
        touches.remove(ids)
        var rows: [IndexRow] = []
        do throws(DiskProblem) {
            rows = try withIndex { index throws(DiskProblem) in
                try isErasing ? index.erase(ids) : index.remove(ids)
            }
        } catch {
            note(error)
            // A full disk has no space to record the removal of a row either. Without its body an
            // entry is a miss anyway, and removing the body may free the space.
            for id in ids { folder.removeBody(id) }
            rows = found(or: []) { index throws(DiskProblem) in try index.remove(ids) }
        }
        letGo(rows)
        return rows.count
    }

    mutating func remove(url: String, isErasing: Bool) -> Int {
        let ids = found(or: []) { index throws(DiskProblem) in try index.ids(url: url) }
        return remove(ids, isErasing: isErasing)
    }

    mutating func removeAll() -> Int {
        guard index != nil else { return 0 }
        let count = tally.stats.entries
        do throws(DiskProblem) {
            try withIndex { index throws(DiskProblem) in try index.removeAll() }
        } catch {
            // Without any rows left the index can be removed, which needs no space.
            note(error)
            dropIndex()
        }
        touches.removeAll()
        tally.begin(with: [:], entries: 0, bytes: 0)
        var sweep = DiskSweep()
        try? sweep.step(in: folder, filesMax: .max) { _ in false }
        if index == nil { replaceIndex() }
        return count
    }

    mutating func change(limits: DiskLimits) {
        self.limits = limits
        tally.limit(bytes: limits.bytesMax)
        evictExcess()
    }

    /// How many entries one transaction removes.
    private static let evictionsMax = 512

    private mutating func evictExcess() {
        while true {
            let (pending, excess) = (touches, tally.stats.bytes - limits.bytesMax)
            guard excess > 0 else { return }
            let rows = found(or: []) { index throws(DiskProblem) in
                try index.evict(excess, rowsMax: Self.evictionsMax, touches: pending)
            }
            guard !rows.isEmpty else { return }
            touches.removeAll()
            letGo(rows, areEvicted: true)
        }
    }

    // MARK: What waits

    mutating func touch(_ id: Int64, nowUs: Int64) {
        guard index != nil, touches.add(id, nowUs: nowUs) else { return }
        writeTouches()
    }

    private mutating func writeTouches() {
        guard !touches.isEmpty else { return }
        // If the write fails they are lost: otherwise they would accumulate without bound.
        let pending = touches
        touches.removeAll()
        found(or: ()) { index throws(DiskProblem) in try index.write(pending) }
    }

    /// Writes pending uses and looks for files without an entry, as `DiskStore.sweep` documents.
    mutating func sweep(filesMax: Int) -> Bool {
        writeTouches()
        guard index != nil, !swept.isDone else { return true }
        var sweep = swept
        let folder = folder
        do throws(DiskProblem) {
            try withIndex { index throws(DiskProblem) in
                try sweep.step(in: folder, filesMax: filesMax) { id throws(DiskProblem) in
                    try index.body(id) != nil
                }
            }
            swept = sweep
        } catch {
            // Files that can't be attributed stay, for the next run.
            note(error)
            return true
        }
        return swept.isDone
    }

    mutating func close() {
        guard !isClosed else { return }
        writeTouches()
        index?.close()
        index = nil
        isClosed = true
        folder.release()
        tally.begin(with: [:], entries: 0, bytes: 0)
    }
}
