// The part of the cache on disk: its thread, and the jobs that it runs.
import Logging
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore
import LupinTLS
import Synchronization

/// The place of a stored response on disk, once it has been written.
final class DiskHandle: Sendable {
    private let number: Atomic<Int64>
    private let touchedAtUs = Atomic<Int64>(0)

    /// The minimum time between two touches of a response, in microseconds.
    private static let touchIntervalUs: Int64 = 60_000_000

    /// `id` is 0 until the response has been written.
    init(_ id: Int64 = 0) { number = Atomic(id) }

    /// nil when nothing was written, or not yet.
    var id: Int64? {
        let id = number.load(ordering: .acquiring)
        return id == 0 ? nil : id
    }

    func settle(at id: Int64) { number.store(id, ordering: .releasing) }

    /// Whether a touch is due again.
    func isTouchDue(_ nowUs: Int64) -> Bool {
        let before = touchedAtUs.load(ordering: .relaxed)
        guard nowUs &- before >= Self.touchIntervalUs else { return false }
        return touchedAtUs.compareExchange(
            expected: before,
            desired: nowUs,
            ordering: .relaxed
        ).exchanged
    }
}

/// The disk store behind its thread.
///
/// Jobs run one after the other in their order of submission, and everything else relies on it: a
/// look-up does not find what was removed before it, and does find what was written before.
final class DiskTier: Sendable {
    /// The digest that separates partitions, in this run and in later ones.
    let partitions: KeyedDigest
    /// The length of the largest response that is kept.
    private let objectMax: Atomic<Int>
    /// The number of bytes that wait to be written.
    private let unwritten = Atomic<Int>(0)
    /// The keys of entries that wait to be written, with their number.
    private let awaited = Mutex<[CacheKey: Int]>([:])
    private let store: DiskStore
    private let thread: HelperThread
    private let logger: Logger

    /// How many bytes may wait when the disk is slower than the network.
    private static let unwrittenMax = 64 << 20
    private static let jobsMax = 16 << 10
    /// How many files one step of the sweep handles, so that look-ups run in between.
    private static let sweptAtOnce = 256
    private static let keyBytes = 32

    /// Opens the store that a former run left in `folder`, or creates one.
    /// - Throws: Why it can't, as text for people.
    init(
        in folder: String,
        _ settings: CacheStoreSettings,
        logger: Logger
    ) throws(DiskProblem) {
        store = try DiskStore(folder: folder, limits: settings.diskLimits)
        partitions = try Self.partitionDigest(in: folder)
        objectMax = Atomic(settings.diskObjectBytesMax)
        do throws(HelperThread.CannotStart) {
            thread = try HelperThread(name: "lupin-store", capacity: Self.jobsMax)
        } catch {
            throw .io(error.code)
        }
        self.logger = logger
        tellNotices()
        sweep()
    }

    /// The key of partitions is stored beside the store, and created with it.
    private static func partitionDigest(in folder: String) throws(DiskProblem) -> KeyedDigest {
        let path = "\(folder)/partition.key"
        do throws(ProtectedFileProblem) {
            do throws(ProtectedFileProblem) {
                let contents = try ProtectedFile.read(path, bytesMax: keyBytes)
                if contents.bytes.count == keyBytes, contents.owner == .ourselves {
                    return KeyedDigest(key: [UInt8](copying: contents.bytes))
                }
            } catch {
                guard error.isAbsence else { throw error }
            }
            // A short file was never complete: entries under its key can't be found any more.
            let key = RandomSource.bytes(count: keyBytes)
            try ProtectedFile.write(key.span, to: path, replacing: true)
            return KeyedDigest(key: key)
        } catch {
            throw .cannotOpen(path: path, reason: error.description)
        }
    }

    /// The length of the largest response that is kept.
    var objectBytesMax: Int { objectMax.load(ordering: .relaxed) }

    /// The contents and counters of the store; never waits.
    var stats: DiskStats { store.stats() }

    func change(to settings: CacheStoreSettings) {
        objectMax.store(settings.diskObjectBytesMax, ordering: .relaxed)
        let limits = settings.diskLimits
        submit { $0.change(limits: limits) }
    }

    /// Finishes submitted jobs and ends.
    ///
    /// Don't call it on the thread itself.
    func close() {
        thread.submit { [store] in store.close() }
        thread.join()
    }

    // MARK: The worker's side

    /// Whether there may be an entry under a key; never waits.
    func mayHold(_ key: CacheKey) -> Bool {
        store.mayHold(key.text) || awaited.withLock { $0[key] != nil }
    }

    /// Submits a job that writes an entry under a key; look-ups find it from now on.
    private func submit(
        under key: CacheKey,
        _ job: @escaping @Sendable (DiskStore) -> Void
    ) -> Bool {
        awaited.withLock { $0[key, default: 0] += 1 }
        let isTaken = submit { [self] store in
            job(store)
            endWait(for: key)
        }
        if !isTaken { endWait(for: key) }
        return isTaken
    }

    private func endWait(for key: CacheKey) {
        awaited.withLock { awaited in
            guard let count = awaited[key] else { return }
            awaited[key] = count > 1 ? count - 1 : nil
        }
    }

    /// Submits a job; returns false when the queue is full.
    @discardableResult
    func submit(_ job: @escaping @Sendable (DiskStore) -> Void) -> Bool {
        thread.submit { [self] in
            job(store)
            tellNotices()
        }
    }

    /// Writes a response that is complete in memory.
    func write(_ response: CachedResponse, _ content: StoredContent) {
        guard let diskHandle = response.diskHandle, reserve(Int(clamping: content.count)) else {
            return
        }
        let isTaken = submit(under: response.key) { [self] store in
            defer { release(Int(clamping: content.count)) }
            do throws(DiskProblem) {
                let draft = try store.begin()
                for piece in content.pieces {
                    try piece.withSpan { bytes throws(DiskProblem) in
                        try store.append(bytes, to: draft)
                    }
                }
                try commit(draft, response, at: diskHandle, in: store)
            } catch {
                // Reported among the notices; the response is in memory all the same.
            }
        }
        if !isTaken { release(Int(clamping: content.count)) }
    }

    /// Commits the draft of a body that was written while it came.
    func commit(_ body: GrowingBody, as response: CachedResponse) {
        guard let diskHandle = response.diskHandle else { return }
        _ = submit(under: response.key) { [self] store in
            body.write(to: store)
            guard let draft = body.wholeDraft else { return }
            do throws(DiskProblem) {
                try commit(draft, response, at: diskHandle, in: store)
            } catch {
                // Reported among the notices; a look-up finds nothing.
            }
        }
    }

    private func commit(
        _ draft: DiskDraft,
        _ response: CachedResponse,
        at diskHandle: DiskHandle,
        in store: DiskStore
    ) throws(DiskProblem) {
        let key = response.key
        // Entries of former runs, or dropped from memory: one per variant is enough.
        let time = response.facts.freshness.responseTimeUs
        var replaced: [DiskEntry] = []
        for entry in store.entries(for: key.text) {
            let facts = StoredResponse(
                encoded: entry.facts.span,
                length: entry.length,
                policy: response.policy
            )
            guard let facts, facts.vary == response.facts.vary else { continue }
            // Two workers may have fetched it at once.
            if facts.freshness.responseTimeUs > time { return store.abort(draft) }
            replaced.append(entry)
        }
        let id = try store.commit(
            draft,
            key: key.text,
            url: key.listing,
            facts: response.facts.encoded,
            replacing: replaced.map(\.id),
            variantsMax: response.policy.variantsMax,
            nowUs: SystemCall.wallMicroseconds()
        )
        diskHandle.settle(at: id)
    }

    /// Writes the facts after a validation.
    func update(_ response: CachedResponse) {
        guard let diskHandle = response.diskHandle else { return }
        if response.facts.diskRefusal != nil { return remove([diskHandle]) }
        submit { store in
            guard let id = diskHandle.id else { return }
            let now = SystemCall.wallMicroseconds()
            _ = store.update(id, facts: response.facts.encoded, nowUs: now)
        }
    }

    func remove(_ diskHandles: [DiskHandle]) {
        if diskHandles.isEmpty { return }
        submit { $0.remove(diskHandles.compactMap(\.id)) }
    }

    /// Drops the responses that a request for a URL may find, in all partitions.
    func remove(url: String) { submit { _ = Self.remove(url, in: $0) } }

    /// Does the same on the thread itself; with `isErasing`, no file keeps anything of them.
    /// - Returns: The number of dropped entries.
    static func remove(_ url: String, in store: DiskStore, isErasing: Bool = false) -> Int {
        let listed = store.keys(url: CacheKey.generalListing(of: url))
        let general = Set(
            CacheKey.answering(url, among: listed.lazy.map { CacheKey(stored: $0.key) })
        )
        let ids = listed.filter { general.contains(CacheKey(stored: $0.key)) }.map(\.id)
        return store.remove(url: url, isErasing: isErasing)
            + (isErasing ? store.erase(ids) : store.remove(ids))
    }

    /// Drops the responses that requests for these URLs may find; all when `urls` is nil.
    func drop(_ urls: Set<String>?) {
        guard urls?.isEmpty != true else { return }
        submit { store in
            guard let urls else { return _ = store.removeAll() }
            for url in urls { _ = Self.remove(url, in: store) }
        }
    }

    /// Finds the newest entries whose keys are wanted; call it on the thread itself.
    /// - Returns: At most `limit` of them, and their total number.
    static func find(
        in store: DiskStore,
        limit: Int,
        _ isWanted: (CacheKey) -> Bool
    ) -> (newest: [DiskEntry], total: Int) {
        var found: [DiskEntry] = []
        var total = 0
        forEach(in: store) { entry in
            guard isWanted(CacheKey(stored: entry.key)) else { return }
            total += 1
            found.append(entry)
            // IDs ascend with time: those at the front are the oldest.
            if found.count >= 2 * max(limit, 1) { found.removeFirst(found.count - limit) }
        }
        return (found.suffix(limit).reversed(), total)
    }

    /// Drops the entries whose keys are wanted; call it on the thread itself.
    static func purge(in store: DiskStore, _ isWanted: (CacheKey) -> Bool) -> CachePurge {
        var purged = CachePurge()
        var ids: [Int64] = []
        forEach(in: store) { entry in
            guard isWanted(CacheKey(stored: entry.key)) else { return }
            ids.append(entry.id)
            purged.bytes += Int(clamping: entry.length) + entry.facts.count
        }
        purged.responses = store.erase(ids)
        return purged
    }

    private static func forEach(in store: DiskStore, _ body: (DiskEntry) -> Void) {
        var last: Int64?
        while true {
            let page = store.list(after: last, limit: pageEntries)
            for entry in page { body(entry) }
            guard page.count == pageEntries else { return }
            last = page.last?.id
        }
    }

    private static let pageEntries = 256

    /// Marks a response as used, so that others are evicted before it.
    func touch(_ diskHandle: DiskHandle) {
        let now = SystemCall.wallMicroseconds()
        guard diskHandle.isTouchDue(now) else { return }
        submit { store in if let id = diskHandle.id { store.touch(id, nowUs: now) } }
    }

    /// Reserves `count` bytes to be written; returns false, and reserves nothing, beyond the limit.
    private func reserve(_ count: Int) -> Bool {
        let now = unwritten.add(count, ordering: .relaxed).newValue
        if now <= Self.unwrittenMax { return true }
        release(count)
        return false
    }

    private func release(_ count: Int) { unwritten.subtract(count, ordering: .relaxed) }

    // MARK: The thread's side

    private func sweep() {
        submit { [self] store in
            if !store.sweep(filesMax: Self.sweptAtOnce) { sweep() }
        }
    }

    private func tellNotices() {
        for notice in store.takeNotices(nowUs: SystemCall.wallMicroseconds()) {
            logger.warning("cache on disk: \(notice)")
        }
    }
}

extension CacheStoreSettings {
    fileprivate var diskLimits: DiskLimits {
        DiskLimits(bytesMax: diskBytes, objectBytesMax: diskObjectBytesMax)
    }
}
