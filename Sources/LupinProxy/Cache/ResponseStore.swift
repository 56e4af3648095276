// The store of responses, in memory and on disk, and the fetches under way.
import Logging
import LupinCaching
import LupinIO
import LupinPolicy
import LupinStore
import LupinTLS
import Synchronization

/// The counters of the store.
package struct StoreCounts: Sendable {
    package internal(set) var entries = 0
    package internal(set) var bytes = 0
    package internal(set) var hits: UInt64 = 0
    package internal(set) var misses: UInt64 = 0
    package internal(set) var validated: UInt64 = 0
    package internal(set) var stored: UInt64 = 0
    package internal(set) var evicted: UInt64 = 0
    package internal(set) var collapsed: UInt64 = 0
}

/// The stored responses, and the fetches under way.
///
/// Entries on disk are brought into memory when they are looked up, and are removed from memory
/// first: an entry without content is on disk.
package final class ResponseStore: Sendable {
    private struct State {
        var shelves: Shelves
        /// The general keys that a request is looked up under.
        var variances = SearchVariances()
        var flights: [CacheKey: Flight] = [:]
        /// Keys whose responses were not stored lately: requests for them don't wait for another's.
        var alone: [CacheKey: UInt64] = [:]
        /// When URLs were dropped: a fetch that began before does not bring them back.
        var drops = DropTimes()
        /// Keys that are validated in the background.
        var validating: Set<CacheKey> = []
        var counts = StoreCounts()
        var disk: DiskTier?
        var shared: SharedTier?
        /// URLs dropped while there was no disk; nil when there were too many to remember.
        var droppedURLs: Set<String>? = []
        var droppedBytes = 0
    }

    private let state: Mutex<State>
    private let ownPartitions = KeyedDigest()

    /// How long a key is remembered whose response could not be stored, in microseconds.
    private static let aloneTime: UInt64 = 120_000_000
    private static let aloneMax = 4096

    package init(bytesMax: Int) { state = Mutex(State(shelves: Shelves(bytesMax: bytesMax))) }

    /// Changes the room; evicts what no longer fits.
    private func limit(_ bytesMax: Int) { state.withLock { $0.shelves.limit(bytesMax) } }

    package var counts: StoreCounts {
        state.withLock { state in
            var counts = state.counts
            counts.entries = state.shelves.count
            counts.bytes = state.shelves.bytes
            counts.evicted = state.shelves.evicted
            return counts
        }
    }

    /// Changes the counters.
    func count(_ change: (inout StoreCounts) -> Void) { state.withLock { change(&$0.counts) } }

    // MARK: Responses

    /// All variants under a key.
    func responses(_ key: CacheKey) -> [CachedResponse] {
        state.withLock { $0.shelves[key] }
    }

    /// All variants under several keys.
    func responses(_ keys: [CacheKey]) -> [CachedResponse] {
        state.withLock { state in keys.flatMap { state.shelves[$0] } }
    }

    /// The keys under which a request finds responses with No-Vary-Search: its own, and the general
    /// ones of variances known for its path.
    func keys(of key: CacheKey) -> [CacheKey] {
        let variances = state.withLock { $0.variances.variances(of: key.path) }
        return [key] + variances.map(key.generalized)
    }

    /// Whether variances of the key's path must be read from the disk.
    func mustLearnVariances(of key: CacheKey) -> Bool {
        state.withLock { $0.disk != nil && !$0.variances.isWhole(key.path) }
    }

    /// Notes the general keys that the disk has for the key's path, the latest first.
    func learnVariances(from keys: [String], of key: CacheKey) {
        let own = keys.lazy.map(CacheKey.init(stored:)).filter { $0.path == key.path }
        var found: [NoVarySearch] = []
        for variance in own.compactMap(\.variance) where !found.contains(variance) {
            found.append(variance)
            if found.count == SearchVariances.perPathMax { break }
        }
        state.withLock { $0.variances.learn(found, of: key.path) }
    }

    /// Counts a hit.
    func noteHit(_ response: CachedResponse) {
        let disk = state.withLock { state in
            state.shelves.noteHit(response)
            state.counts.hits += 1
            return state.disk
        }
        if let disk, let diskHandle = response.diskHandle { disk.touch(diskHandle) }
    }

    /// Stores a response in place of those for the same requests.
    ///
    /// - Parameters:
    ///   - request: The key of the request that it answers.
    ///   - variance: The URLs that may have it; nil for that of the request.
    ///   - facts: Its facts.
    ///   - content: The whole content; nil when it is on disk, or on its way there.
    ///   - planned: The cache by whose policy the facts were computed.
    ///   - mayLieOnDisk: Whether it may be written to a file.
    ///   - requestTimeUs: When this process requested it; nil if it did not.
    /// - Returns: The response as stored; nil if its URL was dropped since it was requested.
    func insert(
        _ request: CacheKey,
        _ variance: NoVarySearch?,
        _ facts: StoredResponse,
        _ content: StoredContent?,
        by planned: PlannedCache,
        mayLieOnDisk: Bool,
        requestTimeUs: Int64?
    ) -> CachedResponse? {
        let disk = mayLieOnDisk ? self.disk : nil
        let key = variance.map(request.generalized) ?? request
        let inserted: (CachedResponse, [CachedResponse])? = state.withLock { state in
            if let requestTimeUs,
                state.drops.isDropped(request, since: requestTimeUs)
                    || (key.isGeneral && state.drops.isDropped(key, since: requestTimeUs))
            {
                return nil
            }
            let response = CachedResponse(
                id: state.shelves.newID(),
                key: key,
                facts: facts,
                by: planned,
                content: content,
                diskHandle: disk.map { _ in DiskHandle() }
            )
            let dropped = state.shelves.replace(with: response)
            if let variance { state.variances.note(variance, of: request.path) }
            // A response that was of no use to others before is now: they may wait for it again.
            if !state.alone.isEmpty,
                facts.answersOthers(
                    policy: planned.policy,
                    nowUs: facts.freshness.responseTimeUs
                )
            {
                state.alone[request] = nil
            }
            state.counts.stored += 1
            return (response, dropped)
        }
        guard let (response, dropped) = inserted else { return nil }
        removeFromDisk(dropped)
        if let disk, let content { disk.write(response, content) }
        return response
    }

    /// Replaces a response's facts with those after a validation.
    func update(_ response: CachedResponse, _ facts: StoredResponse, by planned: PlannedCache) {
        let disk = state.withLock { state in
            state.shelves.update(response) { $0.renewed(facts, planned) }
            return state.disk
        }
        // The response may be on disk although memory has dropped it.
        disk?.update(response.renewed(facts, planned))
    }

    func remove(_ responses: [CachedResponse]) {
        state.withLock { state in
            for response in responses { state.shelves.remove(response) }
        }
        removeFromDisk(responses)
    }

    /// Drops the responses that a request for a URL may find, in all partitions (RFC 9111 §4.4).
    ///
    /// Drops those found by No-Vary-Search too, which the draft leaves open. Responses of fetches
    /// under way are delivered and not stored, and no request joins these fetches any more.
    func invalidate(_ url: Substring, nowUs: Int64) {
        let url = String(url)
        _ = purge([url], nowUs: nowUs)
        disk?.remove(url: url)
    }

    /// Remembers the URL, so that a disk that is added later does not bring it back.
    private static func noteDropped(_ url: String, in state: inout State) {
        guard state.droppedURLs?.insert(url).inserted == true else { return }
        state.droppedBytes += url.utf8.count
        if state.droppedBytes > droppedBytesMax { state.droppedURLs = nil }
    }

    private static let droppedBytesMax = 1 << 20

    // MARK: The disk

    /// The disk tier; nil when there is none.
    var disk: DiskTier? { state.withLock { $0.disk } }

    /// The digest that separates partitions without revealing whose they are.
    var partitions: KeyedDigest { disk?.partitions ?? ownPartitions }

    /// Adopts the settings; when the disk can't be opened, goes on without it and logs the reason.
    func adopt(_ settings: CacheStoreSettings, _ environment: [String: String], _ logger: Logger) {
        limit(settings.memoryBytes)
        adopt(settings.shared, logger)
        guard settings.usesDisk else { return close() }
        if let disk { return disk.change(to: settings) }
        let home = ProcessOwner.home(environment)
        guard let folder = settings.folder(environment: environment, home: home) else {
            return logger.error("cache on disk is off: set cache.store.path")
        }
        do throws(DiskProblem) {
            _ = put(try DiskTier(in: folder, settings, logger: logger))
        } catch {
            // As beside another lupin of this user, whose cache it is; this one's is in memory.
            let isUsed = if case .inUse = error { true } else { false }
            logger.log(level: isUsed ? .notice : .error, "cache on disk is off: \(error)")
        }
    }

    /// The part that several machines share; nil when there is none.
    var shared: SharedTier? { state.withLock { $0.shared } }

    /// Other settings need other connections, so they make another tier.
    private func adopt(_ settings: SharedStoreSettings, _ logger: Logger) {
        state.withLock { state in
            if let shared = state.shared, shared.settings == settings { return }
            state.shared = SharedTier(settings, logger: logger)
        }
    }

    /// Finishes pending writes, and goes on without the disk.
    func close() { put(nil)?.close() }

    /// Replaces the disk tier, or removes it; drops the entries of the former one.
    /// - Returns: The former tier.
    private func put(_ disk: DiskTier?) -> DiskTier? {
        state.withLock { state in
            let former = state.disk
            state.disk = disk
            state.variances.doubt()
            if let disk {
                disk.drop(state.droppedURLs)
                (state.droppedURLs, state.droppedBytes) = ([], 0)
            }
            for response in state.shelves.all where response.content == nil {
                state.shelves.remove(response)
            }
            return former
        }
    }

    /// Adopts the entries that the disk holds under a key.
    /// - Returns: The new responses; the only reference to them when memory has no room.
    func adopt(
        _ entries: [DiskEntry],
        _ key: CacheKey,
        by planned: PlannedCache
    ) -> [CachedResponse] {
        let found = entries.compactMap { entry in
            StoredResponse(encoded: entry.facts.span, length: entry.length, policy: planned.policy)
                .map { ($0, DiskHandle(entry.id)) }
        }
        return state.withLock { state in
            var adopted: [CachedResponse] = []
            // The oldest first, as on every shelf.
            for (facts, diskHandle) in found.reversed() {
                let isThere = state.shelves[key].contains {
                    $0.diskHandle?.id == diskHandle.id || $0.facts.vary == facts.vary
                }
                if isThere { continue }
                let response = CachedResponse(
                    id: state.shelves.newID(),
                    key: key,
                    facts: facts,
                    by: planned,
                    content: nil,
                    diskHandle: diskHandle
                )
                state.shelves.add(response)
                adopted.append(response)
            }
            return adopted
        }
    }

    /// Adds the content to a response that is on disk.
    func fill(_ response: CachedResponse, _ content: StoredContent) {
        state.withLock { state in
            guard let current = state.shelves.current(response), current.content == nil else {
                return
            }
            let held = current.held(content, id: state.shelves.newID())
            state.shelves.remove(current)
            state.shelves.add(held)
        }
    }

    private func removeFromDisk(_ responses: [CachedResponse]) {
        let diskHandles = responses.compactMap(\.diskHandle)
        if !diskHandles.isEmpty { disk?.remove(diskHandles) }
    }

    // MARK: Dropping

    /// The keys under which responses are stored, in no order.
    var keys: [CacheKey] { state.withLock { $0.shelves.allKeys } }

    /// Drops the responses in memory under these keys, and what any fetch under way brings; the
    /// caller drops those on disk.
    func purge(_ keys: [CacheKey], nowUs: Int64) -> [CachedResponse] {
        state.withLock { state in
            state.drops.noteAll(nowUs: nowUs)
            state.flights = [:]
        }
        // One at a time: workers wait for the lock, and bodies are released outside it.
        return keys.flatMap { key in
            state.withLock { state in
                if state.disk == nil { Self.noteDropped(String(key.url), in: &state) }
                return Self.drop([key], from: &state)
            }
        }
    }

    /// Drops the responses in memory for requests of these URLs, in all partitions and under any
    /// policy, and what fetches of them bring; the caller drops those on disk.
    func purge(_ urls: Set<String>, nowUs: Int64) -> [CachedResponse] {
        urls.flatMap { url in
            state.withLock { state in
                state.drops.note(url, nowUs: nowUs)
                for key in state.flights.keys where key.url == url { state.flights[key] = nil }
                if state.disk == nil { Self.noteDropped(url, in: &state) }
                return Self.drop(state.shelves.keys(answering: url), from: &state)
            }
        }
    }

    private static func drop(_ keys: [CacheKey], from state: inout State) -> [CachedResponse] {
        let dropped = keys.flatMap { state.shelves[$0] }
        for response in dropped { state.shelves.remove(response) }
        return dropped
    }

    // MARK: Fetches

    /// The fetch of a key that is under way, or a new one that the caller leads; nil when each
    /// request makes its own fetch.
    func join(_ key: CacheKey, now: UInt64) -> (flight: Flight, isLeader: Bool)? {
        state.withLock { state in
            if !state.alone.isEmpty, let until = state.alone[key] {
                if now < until { return nil }
                state.alone[key] = nil
            }
            return Flight.join(&state.flights[key])
        }
    }

    /// Ends a fetch; `isAlone` means that no other request could use its result.
    func land(_ key: CacheKey, _ flight: Flight, isAlone: Bool, now: UInt64) {
        state.withLock { state in
            flight.leave(&state.flights[key])
            guard isAlone else { return }
            if state.alone.count >= Self.aloneMax { state.alone = [:] }
            state.alone[key] = now &+ Self.aloneTime
        }
    }

    /// Whether the caller is to validate a key in the background.
    func beginValidation(_ key: CacheKey) -> Bool {
        state.withLock { $0.validating.insert(key).inserted }
    }

    func endValidation(_ key: CacheKey) { state.withLock { _ = $0.validating.remove(key) } }
}
