// A store of bodies on a disk: what may be asked of it, and from which thread.

import Synchronization

/// Bodies in files and what is known of them in an index, both as good after a restart as before.
///
/// A store knows nothing of HTTP: an entry is a key, a URL, facts in a form of the caller's, and a
/// body. Calls wait for the disk, so they belong on one helper thread; those marked "any thread"
/// never do. Times are microseconds since 1970 and come from the caller.
///
/// What fails while something is looked up is a miss. It is counted (`stats`) and told once
/// (`takeNotices`), and what is damaged is removed.
package final class DiskStore: Sendable {
    private let folder: DiskFolder
    private let tally: DiskTally
    private let contents: Mutex<DiskContents>

    /// How large facts may be, in bytes.
    package static let factsBytesMax = 1 << 20

    /// Opens a store, and makes it where there is none.
    ///
    /// The folder gets mode 0700 if it has another. An index that is damaged or of another version
    /// is begun anew, which is a notice and no error.
    ///
    /// - Parameters:
    ///   - folder: Its path; missing folders above it are made.
    ///   - limits: What it may take. What is too much already goes at once.
    /// - Throws: `cannotOpen`, `inUse` or `foreignFolder`.
    package init(folder: String, limits: DiskLimits) throws(DiskProblem) {
        let place = try DiskFolder(folder)
        let tally = DiskTally()
        contents = Mutex(try DiskContents(folder: place, limits: limits, tally: tally))
        self.folder = place
        self.tally = tally
    }

    deinit { close() }

    // MARK: Any thread

    /// Whether there may be an entry with this key: a false yes is as rare as two keys with the
    /// same hash of 64 bits, and there is no false no.
    package func mayHold(_ key: String) -> Bool { tally.mayHold(stableHash(key)) }

    package func stats() -> DiskStats { tally.stats }

    /// Whether a body is known to be what was stored: by this run's commit or its check.
    package func isChecked(_ id: Int64) -> Bool { tally.isChecked(id) }

    /// What went wrong since the last time, in words; each kind at most once a minute.
    package func takeNotices(nowUs: Int64) -> [String] { tally.takeNotices(nowUs: nowUs) }

    // MARK: Looking up

    /// The entries of a key, the one that was stored last first.
    package func entries(for key: String) -> [DiskEntry] {
        guard mayHold(key) else { return [] }
        return contents.withLock { $0.entries(for: key) }
    }

    /// The keys of a URL's entries, the one that was stored last first.
    package func keys(url: String, limit: Int = .max) -> [(id: Int64, key: String)] {
        contents.withLock { $0.keys(url: url, limit: limit) }
    }

    package func entry(_ id: Int64) -> DiskEntry? { contents.withLock { $0.entry(id) } }

    /// Entries by id, those behind `id`; nil begins at the first.
    package func list(after id: Int64?, limit: Int) -> [DiskEntry] {
        contents.withLock { $0.list(after: id, limit: limit) }
    }

    /// Opens the body of an entry.
    ///
    /// - Returns: The body, or nil where the entry is gone. Where its file is missing, of another
    ///   length or no file at all, the entry is removed, and that is nil too.
    /// - Throws: `io`, where the entry may be good nevertheless (no descriptor left, for one).
    package func open(_ id: Int64) throws(DiskProblem) -> DiskBody? {
        try contents.withLock { contents throws(DiskProblem) in try contents.open(id) }
    }

    /// Reads on in a body until its CRC-32 is known; a body that passed isn't read again.
    ///
    /// - Parameters:
    ///   - body: It keeps how far the check has come.
    ///   - bytesMax: How much is read now, at most.
    /// - Returns: What is known now. A damaged body's entry is removed.
    package func check(_ body: DiskBody, bytesMax: Int) -> DiskCheck {
        contents.withLock { $0.check(body, bytesMax: bytesMax) }
    }

    // MARK: Storing

    /// Makes a file for a body on its way in.
    /// - Throws: `full`, `io` or `closed`.
    package func begin() throws(DiskProblem) -> DiskDraft {
        try contents.withLock { contents throws(DiskProblem) in try contents.begin() }
    }

    /// Puts bytes behind those that the draft has.
    /// - Throws: `tooLarge` beyond `objectBytesMax`, `full`, `io` or `closed`. The draft is given
    ///   up then; what it had can still be read.
    package func append(_ bytes: Span<UInt8>, to draft: DiskDraft) throws(DiskProblem) {
        try contents.withLock { contents throws(DiskProblem) in
            try contents.append(bytes, to: draft)
        }
    }

    /// Makes an entry of a draft.
    ///
    /// What was used longest ago gives way for it. A process that is killed meanwhile leaves the
    /// old or the new, whole.
    ///
    /// - Parameters:
    ///   - draft: Whatever comes of it, it takes no more bytes, and can still be read.
    ///   - key: What it is found by, together with others of the same key.
    ///   - url: What it may be removed by, together with others of the same URL.
    ///   - facts: At most `factsBytesMax`.
    ///   - replacing: Entries that go for it.
    ///   - variantsMax: How many entries the key may have; the oldest go.
    ///   - nowUs: When it is stored and last used.
    /// - Returns: Its id.
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

    /// Gives a draft up.
    ///
    /// Any thread; letting go of the last reference does the same.
    package func abort(_ draft: DiskDraft) { draft.abandon() }

    // MARK: Renewing and removing

    /// Gives an entry other facts, and counts that as a use.
    /// - Returns: False where it is gone, or the facts are too large or could not be written.
    package func update(_ id: Int64, facts: [UInt8], nowUs: Int64) -> Bool {
        contents.withLock { $0.update(id, facts: facts, nowUs: nowUs) }
    }

    /// Counts a use.
    ///
    /// It is written with others: once a second, when 256 wait, when something is
    /// stored, in `sweep` and in `close`.
    package func touch(_ id: Int64, nowUs: Int64) {
        contents.withLock { $0.touch(id, nowUs: nowUs) }
    }

    /// - Returns: How many of them there were.
    @discardableResult
    package func remove(_ ids: [Int64]) -> Int { contents.withLock { $0.remove(ids) } }

    /// Removes all entries of a URL, whatever their keys.
    /// - Returns: How many there were.
    @discardableResult
    package func remove(url: String) -> Int { contents.withLock { $0.remove(url: url) } }

    /// - Returns: How many entries there were.
    @discardableResult
    package func removeAll() -> Int { contents.withLock { $0.removeAll() } }

    /// Sets other limits.
    ///
    /// What is too much then goes at once, what was used longest ago first.
    package func change(limits: DiskLimits) { contents.withLock { $0.change(limits: limits) } }

    // MARK: The end, and idle time

    /// Looks at some files for those that belong to no entry, and removes them.
    ///
    /// To be called when there is nothing else to do, and now and then even after it was done: an
    /// index that is begun anew leaves files behind too.
    ///
    /// - Parameter filesMax: How many files, or empty folders, are looked at.
    /// - Returns: Whether all were looked at.
    package func sweep(filesMax: Int) -> Bool { contents.withLock { $0.sweep(filesMax: filesMax) } }

    /// Writes what waits, closes the index and lets others have the folder.
    ///
    /// From then on everything is a miss or `closed`; open drafts and bodies can still be read.
    package func close() { contents.withLock { $0.close() } }
}
