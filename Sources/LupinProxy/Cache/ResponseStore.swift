// Where responses are kept in memory and beside it on disk, and who is fetching which.
import Logging
import LupinCore
import LupinIO
import LupinStore
import LupinTLS
import Synchronization

/// What the store has counted.
struct StoreCounts: Sendable {
    var entries = 0
    var bytes = 0
    var hits: UInt64 = 0
    var misses: UInt64 = 0
    var validated: UInt64 = 0
    var stored: UInt64 = 0
    var evicted: UInt64 = 0
    var collapsed: UInt64 = 0
}

/// The stored responses, and the fetches that are under way.
///
/// What the disk holds is brought here when it is asked for, and goes from here first: an entry
/// without content says that the disk has it.
final class ResponseStore: Sendable {
    private struct State {
        var shelves: [CacheKey: [CachedResponse]] = [:]
        var keys: [UInt64: CacheKey] = [:]
        /// The keys of one URL, of whatever partition: for invalidation.
        var partitions: [String: Set<CacheKey>] = [:]
        var queue: EvictionQueue<UInt64>
        var flights: [CacheKey: Flight] = [:]
        /// Keys whose responses were not stored lately: nobody waits for another one's answer.
        var alone: [CacheKey: UInt64] = [:]
        /// Keys that are validated in the background.
        var validating: Set<CacheKey> = []
        var counts = StoreCounts()
        var lastID: UInt64 = 0
        var disk: DiskTier?
        /// What was dropped while there was no disk; nil for more than is remembered.
        var droppedURLs: Set<String>? = []
    }

    private let state: Mutex<State>
    private let ownPartitions = KeyedDigest()

    /// For how long a key is remembered whose response could not be stored, in microseconds.
    private static let aloneTime: UInt64 = 120_000_000
    private static let aloneMax = 4096

    init(bytesMax: Int) { state = Mutex(State(queue: EvictionQueue(bytesMax: bytesMax))) }

    /// Changes the room; what no longer fits goes.
    private func limit(_ bytesMax: Int) {
        state.withLock { state in
            guard state.queue.bytesMax != bytesMax else { return }
            for id in state.queue.resize(bytesMax: bytesMax) { Self.evict(id, from: &state) }
        }
    }

    var counts: StoreCounts {
        state.withLock { state in
            var counts = state.counts
            counts.entries = state.keys.count
            counts.bytes = state.queue.bytes
            return counts
        }
    }

    /// Counts something.
    func count(_ change: (inout StoreCounts) -> Void) { state.withLock { change(&$0.counts) } }

    // MARK: Responses

    /// What lies under a key, of whatever variant.
    func responses(_ key: CacheKey) -> [CachedResponse] {
        state.withLock { $0.shelves[key] ?? [] }
    }

    /// Notes that a response was served.
    func noteHit(_ response: CachedResponse) {
        let disk = state.withLock { state in
            state.queue.hit(response.id)
            state.counts.hits += 1
            return state.disk
        }
        if let disk, let place = response.place { disk.touch(place) }
    }

    /// Keeps a response in the place of those for the same requests.
    ///
    /// - Parameters:
    ///   - key: Under which it lies.
    ///   - facts: What is known of it.
    ///   - content: All of it; nil where it lies on disk, or is on its way there.
    ///   - policy: By which the facts were made.
    ///   - mayLieOnDisk: Whether it may be written to a file.
    /// - Returns: The response as it is kept.
    @discardableResult
    func insert(
        _ key: CacheKey,
        _ facts: StoredResponse,
        _ content: StoredContent?,
        policy: CachePolicy,
        mayLieOnDisk: Bool
    ) -> CachedResponse {
        let disk = mayLieOnDisk ? self.disk : nil
        let (response, dropped) = state.withLock { state in
            let response = CachedResponse(
                id: Self.newID(&state),
                key: key,
                facts: facts,
                policy: policy,
                content: content,
                place: disk.map { _ in DiskPlace() }
            )
            var dropped: [CachedResponse] = []
            for old in state.shelves[key] ?? [] where old.facts.vary == facts.vary {
                Self.remove(old, from: &state)
                dropped.append(old)
            }
            if let shelf = state.shelves[key], shelf.count >= policy.variantsMax {
                Self.remove(shelf[0], from: &state)
                dropped.append(shelf[0])
            }
            Self.list(response, in: &state)
            // What could not be stored once can be by now: others may wait for it again.
            state.alone[key] = nil
            state.counts.stored += 1
            return (response, dropped)
        }
        removeFromDisk(dropped)
        if let disk, let content { disk.write(response, content) }
        return response
    }

    /// Puts other facts, which validation has made, in the place of a response's.
    func update(_ response: CachedResponse, _ facts: StoredResponse, policy: CachePolicy) {
        let disk = state.withLock { state in
            if let shelf = state.shelves[response.key],
                let i = Self.index(of: response, in: state)
            {
                shelf[i].note(isSole: false)
                state.shelves[response.key]?[i] = shelf[i].renewed(facts, policy)
                Self.noteWhoIsSole(on: response.key, in: state)
            }
            return state.disk
        }
        // Memory may have forgotten what the disk still has.
        disk?.update(response.renewed(facts, policy))
    }

    func remove(_ responses: [CachedResponse]) {
        state.withLock { state in
            for response in responses { Self.remove(response, from: &state) }
        }
        removeFromDisk(responses)
    }

    /// Drops what lies under a URL, in all partitions (RFC 9111 §4.4).
    func invalidate(_ url: Substring) {
        let disk = state.withLock { state in
            for key in state.partitions[String(url)] ?? [] {
                for response in state.shelves[key] ?? [] { Self.remove(response, from: &state) }
            }
            if state.disk == nil { Self.noteDropped(String(url), in: &state) }
            return state.disk
        }
        disk?.remove(url: String(url))
    }

    /// A disk that comes later must not bring it back.
    private static func noteDropped(_ url: String, in state: inout State) {
        state.droppedURLs?.insert(url)
        if (state.droppedURLs?.count ?? 0) > droppedMax { state.droppedURLs = nil }
    }

    private static let droppedMax = 4096

    // MARK: The disk

    /// What lies on disk; nil for nothing.
    var disk: DiskTier? { state.withLock { $0.disk } }

    /// Tells apart whose stored responses are whose, and nobody can tell who that is.
    var partitions: KeyedDigest { disk?.partitions ?? ownPartitions }

    /// Takes the room and the place that the settings give; without the disk it goes on, and the
    /// log says why.
    func adopt(_ settings: CacheStoreSettings, _ environment: [String: String], _ logger: Logger) {
        limit(settings.memoryBytes)
        guard settings.usesDisk else { return close() }
        if let disk { return disk.change(to: settings) }
        guard let folder = settings.folder(environment: environment, home: ProcessOwner.home) else {
            return logger.error("cache on disk is off: set cache.store.path")
        }
        do throws(DiskProblem) {
            _ = put(try DiskTier(in: folder, settings, logger: logger))
        } catch {
            logger.error("cache on disk is off: \(error)")
        }
    }

    /// Finishes what is to be written, and goes on without the disk.
    func close() { put(nil)?.close() }

    /// Puts another tier below, or none; what the former one held is forgotten here.
    /// - Returns: The former one.
    private func put(_ disk: DiskTier?) -> DiskTier? {
        state.withLock { state in
            let former = state.disk
            state.disk = disk
            if let disk {
                disk.drop(state.droppedURLs)
                state.droppedURLs = []
            }
            for response in state.shelves.values.flatMap({ $0 }) where response.content == nil {
                Self.remove(response, from: &state)
            }
            return former
        }
    }

    /// Takes over what the disk holds under a key.
    /// - Returns: What is new; where memory has no room it is nowhere else.
    func adopt(
        _ entries: [DiskEntry],
        _ key: CacheKey,
        _ policy: CachePolicy
    ) -> [CachedResponse] {
        let found = entries.compactMap { entry in
            StoredResponse(encoded: entry.facts.span, length: entry.length, policy: policy)
                .map { ($0, DiskPlace(entry.id)) }
        }
        return state.withLock { state in
            var adopted: [CachedResponse] = []
            // The oldest first, as on every shelf.
            for (facts, place) in found.reversed() {
                let isThere = (state.shelves[key] ?? []).contains {
                    $0.place?.id == place.id || $0.facts.vary == facts.vary
                }
                if isThere { continue }
                let response = CachedResponse(
                    id: Self.newID(&state),
                    key: key,
                    facts: facts,
                    policy: policy,
                    content: nil,
                    place: place
                )
                Self.list(response, in: &state)
                adopted.append(response)
            }
            return adopted
        }
    }

    /// Gives a response that lies on disk its content in memory, too.
    func fill(_ response: CachedResponse, _ content: StoredContent) {
        state.withLock { state in
            guard let i = Self.index(of: response, in: state),
                let shelf = state.shelves[response.key], shelf[i].content == nil
            else { return }
            let held = shelf[i].held(content, id: Self.newID(&state))
            Self.remove(shelf[i], from: &state)
            Self.list(held, in: &state)
        }
    }

    private func removeFromDisk(_ responses: [CachedResponse]) {
        let places = responses.compactMap(\.place)
        if !places.isEmpty { disk?.remove(places) }
    }

    // MARK: Shelves

    private static func newID(_ state: inout State) -> UInt64 {
        state.lastID += 1
        return state.lastID
    }

    private static func index(of response: CachedResponse, in state: State) -> Int? {
        state.shelves[response.key]?.firstIndex { $0.id == response.id }
    }

    private static func noteWhoIsSole(on key: CacheKey, in state: State) {
        guard let shelf = state.shelves[key] else { return }
        for response in shelf { response.note(isSole: shelf.count == 1) }
    }

    private static func list(_ response: CachedResponse, in state: inout State) {
        let key = response.key
        state.shelves[key, default: []].append(response)
        state.keys[response.id] = key
        state.partitions[String(key.url), default: []].insert(key)
        noteWhoIsSole(on: key, in: state)
        for id in state.queue.insert(response.id, bytes: response.bytes) {
            evict(id, from: &state)
        }
    }

    /// The URLs under which something is stored, in no order.
    var urls: [String] { state.withLock { Array($0.partitions.keys) } }

    /// What is stored under these URLs, of all partitions and variants.
    func responses(of urls: some Sequence<String>) -> [CachedResponse] {
        state.withLock { state in
            urls.flatMap { state.partitions[$0] ?? [] }.flatMap { state.shelves[$0] ?? [] }
        }
    }

    /// Drops what memory has under these URLs, in all partitions; the disk is the caller's.
    func purge(_ urls: some Sequence<String>) -> [CachedResponse] {
        // One at a time: workers wait for the lock, and bodies are let go of outside it.
        urls.flatMap { url in
            state.withLock { state in
                let dropped = (state.partitions[url] ?? []).flatMap { state.shelves[$0] ?? [] }
                for response in dropped { Self.remove(response, from: &state) }
                if state.disk == nil { Self.noteDropped(url, in: &state) }
                return dropped
            }
        }
    }

    private static func evict(_ id: UInt64, from state: inout State) {
        guard let key = state.keys[id],
            let response = state.shelves[key]?.first(where: { $0.id == id })
        else { return }
        state.counts.evicted += 1
        unlist(response, from: &state)
    }

    private static func remove(_ response: CachedResponse, from state: inout State) {
        state.queue.remove(response.id)
        unlist(response, from: &state)
    }

    private static func unlist(_ response: CachedResponse, from state: inout State) {
        let key = response.key
        state.keys[response.id] = nil
        response.note(isSole: false)
        state.shelves[key]?.removeAll { old in
            guard old.id == response.id else { return false }
            // Somebody may hold the same as another policy saw it.
            old.note(isSole: false)
            return true
        }
        noteWhoIsSole(on: key, in: state)
        guard state.shelves[key]?.isEmpty == true else { return }
        state.shelves[key] = nil
        let url = String(key.url)
        state.partitions[url]?.remove(key)
        if state.partitions[url]?.isEmpty == true { state.partitions[url] = nil }
    }

    // MARK: Fetches

    /// The fetch of a key that is under way, or a new one, whose leader the caller is; nil where
    /// each fetches for itself.
    func join(_ key: CacheKey, now: UInt64) -> (flight: Flight, isLeader: Bool)? {
        state.withLock { state in
            if let until = state.alone[key] {
                if now < until { return nil }
                state.alone[key] = nil
            }
            if let flight = state.flights[key] { return (flight, false) }
            let flight = Flight()
            state.flights[key] = flight
            return (flight, true)
        }
    }

    /// A fetch has come to something; with `isAlone` to nothing that others could use.
    func land(_ key: CacheKey, _ flight: Flight, isAlone: Bool, now: UInt64) {
        state.withLock { state in
            if state.flights[key] === flight { state.flights[key] = nil }
            guard isAlone else { return }
            if state.alone.count >= Self.aloneMax { state.alone = [:] }
            state.alone[key] = now &+ Self.aloneTime
        }
    }

    /// Whether the caller is the one who validates a key in the background.
    func beginValidation(_ key: CacheKey) -> Bool {
        state.withLock { $0.validating.insert(key).inserted }
    }

    func endValidation(_ key: CacheKey) { state.withLock { _ = $0.validating.remove(key) } }
}
