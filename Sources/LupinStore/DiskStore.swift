// A store of bodies on a disk: its operations, and the threads that may call them.

import Synchronization

/// Bodies in files and their metadata in an index, both of which survive a restart.
///
/// A store knows nothing of HTTP: an entry is a key, a URL, facts in the caller's format, and a
/// body. Calls wait for the disk, so they belong on one helper thread; those marked "any thread"
/// never wait. Times are microseconds since 1970 and come from the caller.
///
/// A failed look-up is a miss. The failure is counted (`stats`) and reported once (`takeNotices`),
/// and a damaged entry is removed.
package final class DiskStore: Sendable {
    private let folder: DiskFolder
    private let tally: DiskTally
    private let contents: Mutex<DiskContents>

    /// The largest size of facts, in bytes.
    package static let factsBytesMax = 1 << 20

    /// Opens a store, and creates it if there is none.
    ///
    /// Sets the folder's mode to 0700. An index that is damaged or of another version is recreated,
    /// which is a notice, not an error.
    ///
    /// - Parameters:
    ///   - folder: Its path; missing folders above it are made.
    ///   - limits: The limits of the store. What exceeds them is removed at once.
    /// - Throws: `cannotOpen`, `inUse` or `foreignFolder`.
    package init(folder: String, limits: DiskLimits) throws(DiskProblem) {
        let opened = try DiskFolder(folder)
        let tally = DiskTally()
        contents = Mutex(try DiskContents(folder: opened, limits: limits, tally: tally))
        self.folder = opened
        self.tally = tally
    }

    deinit { close() }

    // MARK: Any thread

    /// Whether there may be an entry with this key.
    ///
    /// A false yes is as rare as two keys with the same 64-bit hash; there is no false no.
    package func mayHold(_ key: String) -> Bool { tally.mayHold(stableHash(key)) }

    package func stats() -> DiskStats { tally.stats }

    /// Whether a body is known to match what was stored: by this run's commit or its check.
    package func isChecked(_ id: Int64) -> Bool { tally.isChecked(id) }

    /// The problems since the last call, as text; each kind at most once a minute.
    package func takeNotices(nowUs: Int64) -> [String] { tally.takeNotices(nowUs: nowUs) }

    // MARK: Looking up

    /// The entries of a key, the last stored one first.
    package func entries(for key: String) -> [DiskEntry] {
        guard mayHold(key) else { return [] }
        return contents.withLock { $0.entries(for: key) }
    }

    /// The keys of a URL's entries, the last stored one first.
    package func keys(url: String, limit: Int = .max) -> [(id: Int64, key: String)] {
        contents.withLock { $0.keys(url: url, limit: limit) }
    }

    package func entry(_ id: Int64) -> DiskEntry? { contents.withLock { $0.entry(id) } }

    /// Entries in order of ID, those after `id`; nil begins at the first.
    package func list(after id: Int64?, limit: Int) -> [DiskEntry] {
        contents.withLock { $0.list(after: id, limit: limit) }
    }

    /// Opens the body of an entry.
    ///
    /// - Returns: The body, or nil if the entry is gone. If its file is missing, has another length
    ///   or is not a regular file, the entry is removed, and the result is nil too.
    /// - Throws: `io`, if the entry may be intact nevertheless (for example, no descriptor is
    ///   left).
    package func open(_ id: Int64) throws(DiskProblem) -> DiskBody? {
        try contents.withLock { contents throws(DiskProblem) in try contents.open(id) }
    }

    /// Continues reading a body until its CRC-32 is known; a body that passed isn't read again.
    ///
    /// - Parameters:
    ///   - body: Stores the progress of the check.
    ///   - bytesMax: The most bytes to read now.
    /// - Returns: The result so far. A damaged body's entry is removed.
    package func check(_ body: DiskBody, bytesMax: Int) -> DiskCheck {
        contents.withLock { $0.check(body, bytesMax: bytesMax) }
    }

    // MARK: Storing

    /// Makes a file for a new body.
    /// - Throws: `full`, `io` or `closed`.
    package func begin() throws(DiskProblem) -> DiskDraft {
        try contents.withLock { contents throws(DiskProblem) in try contents.begin() }
    }

    /// Appends bytes to a draft.
    /// - Throws: `tooLarge` beyond `objectBytesMax`, `full`, `io` or `closed`. The draft is
    ///   abandoned then; its content can still be read.
    package func append(_ bytes: Span<UInt8>, to draft: DiskDraft) throws(DiskProblem) {
        try contents.withLock { contents throws(DiskProblem) in
            try contents.append(bytes, to: draft)
        }
    }

    /// Makes an entry of a draft.
    ///
    /// The least recently used entries are removed to make room. A process killed meanwhile leaves
    /// the old entry or the new one intact.
    ///
    /// - Parameters:
    ///   - draft: In any case it accepts no more bytes afterwards, and can still be read.
    ///   - key: Finds the entry, together with others of the same key.
    ///   - url: Identifies entries to remove, together with others of the same URL.
    ///   - facts: At most `factsBytesMax`.
    ///   - replacing: Entries that the new one replaces.
    ///   - variantsMax: How many entries the key may have; the oldest are removed.
    ///   - nowUs: The time of storing and of the last use.
    /// - Returns: Its ID.
    /// - Throws: `tooLarge`, `full`, `io`, `damaged` (of the index) or `closed`.
    package func commit(
        _ draft: DiskDraft,
        key: String,
        url: String,
        facts: [UInt8],
        replacing: [Int64],
        variantsMax: Int,
        nowUs: Int64
    ) throws(DiskProblem) -> Int64 {
        let entry = DiskEntry(
            id: 0,
            key: key,
            url: url,
            facts: facts,
            length: draft.count,
            storedAtUs: nowUs,
            usedAtUs: nowUs,
            uses: 0
        )
        return try contents.withLock { contents throws(DiskProblem) in
            try contents.commit(
                draft,
                as: entry,
                replacing: replacing,
                variantsMax: variantsMax
            )
        }
    }

    /// Abandons a draft.
    ///
    /// Any thread; releasing the last reference does the same.
    package func abort(_ draft: DiskDraft) { draft.abandon() }

    // MARK: Renewing and removing

    /// Replaces the facts of an entry, and counts that as a use.
    /// - Returns: False if it is gone, or the facts are too large or could not be written.
    package func update(_ id: Int64, facts: [UInt8], nowUs: Int64) -> Bool {
        contents.withLock { $0.update(id, facts: facts, nowUs: nowUs) }
    }

    /// Counts a use.
    ///
    /// Uses are written together: once a second, when 256 are pending, when something is stored, in
    /// `sweep` and in `close`.
    package func touch(_ id: Int64, nowUs: Int64) {
        contents.withLock { $0.touch(id, nowUs: nowUs) }
    }

    /// - Returns: How many of them existed.
    @discardableResult
    package func remove(_ ids: [Int64]) -> Int { contents.withLock { $0.remove(ids) } }

    /// Removes entries, and all that the files of the index keep of them.
    /// - Returns: How many of them existed.
    package func erase(_ ids: [Int64]) -> Int {
        contents.withLock { $0.remove(ids, isErasing: true) }
    }

    /// Removes all entries of a URL, with any key; with `isErasing` as `erase` does.
    /// - Returns: How many there were.
    @discardableResult
    package func remove(url: String, isErasing: Bool = false) -> Int {
        contents.withLock { $0.remove(url: url, isErasing: isErasing) }
    }

    /// - Returns: How many entries there were.
    @discardableResult
    package func removeAll() -> Int { contents.withLock { $0.removeAll() } }

    /// Changes the limits.
    ///
    /// What exceeds them is removed at once, the least recently used entries first.
    package func change(limits: DiskLimits) { contents.withLock { $0.change(limits: limits) } }

    // MARK: The end, and idle time

    /// Checks some files, and removes those that belong to no entry.
    ///
    /// Call it when there is nothing else to do, and from time to time even after it was done: a
    /// recreated index leaves files behind too.
    ///
    /// - Parameter filesMax: The most files, or empty folders, to check.
    /// - Returns: Whether all were checked.
    package func sweep(filesMax: Int) -> Bool { contents.withLock { $0.sweep(filesMax: filesMax) } }

    /// Writes pending data, closes the index and unlocks the folder.
    ///
    /// Afterwards every call is a miss or throws `closed`; open drafts and bodies can still be
    /// read.
    package func close() { contents.withLock { $0.close() } }
}
