// Where responses are kept in memory, and who is fetching which.
import LupinCore
import LupinIO
import Synchronization

/// A stored response: immutable, shared by all workers.
final class CachedResponse: Sendable {
    let id: UInt64
    let key: CacheKey
    let facts: StoredResponse
    /// By which policy the facts were made.
    let policy: CachePolicy
    let content: StoredContent

    init(
        id: UInt64,
        key: CacheKey,
        facts: StoredResponse,
        policy: CachePolicy,
        content: StoredContent
    ) {
        self.id = id
        self.key = key
        self.facts = facts
        self.policy = policy
        self.content = content
    }

    /// What it costs besides its content.
    static let overheadBytes = 1024

    /// What it takes of the store's room.
    var bytes: Int {
        Int(clamping: content.count) + facts.fields.storage.count + Self.overheadBytes
    }

    /// The same as another policy sees it.
    func seen(by policy: CachePolicy) -> CachedResponse {
        if policy == self.policy { return self }
        let seen = StoredResponse(
            facts.head,
            vary: facts.vary,
            content: facts.content,
            policy: policy,
            requestTimeUs: facts.requestTimeUs,
            responseTimeUs: facts.freshness.responseTimeUs
        )
        return CachedResponse(id: id, key: key, facts: seen, policy: policy, content: content)
    }
}

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

/// The memory tier of the cache, and the fetches that are under way.
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
    }

    private let state: Mutex<State>

    /// For how long a key is remembered whose response could not be stored, in microseconds.
    private static let aloneTime: UInt64 = 120_000_000
    private static let aloneMax = 4096

    init(bytesMax: Int) { state = Mutex(State(queue: EvictionQueue(bytesMax: bytesMax))) }

    /// Changes the room; what no longer fits goes.
    func limit(_ bytesMax: Int) {
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
        state.withLock { state in
            state.queue.hit(response.id)
            state.counts.hits += 1
        }
    }

    /// Keeps a response in the place of those for the same requests, and of `others`.
    func insert(
        _ key: CacheKey,
        _ facts: StoredResponse,
        _ content: StoredContent,
        policy: CachePolicy,
        replacing others: [CachedResponse] = []
    ) {
        state.withLock { state in
            state.lastID += 1
            let response = CachedResponse(
                id: state.lastID,
                key: key,
                facts: facts,
                policy: policy,
                content: content
            )
            var shelf = state.shelves[key] ?? []
            for old in shelf
            where old.facts.vary == facts.vary || others.contains(where: { $0.id == old.id }) {
                Self.remove(old, from: &state)
            }
            shelf = state.shelves[key] ?? []
            if shelf.count >= policy.variantsMax, let oldest = shelf.first {
                Self.remove(oldest, from: &state)
                shelf = state.shelves[key] ?? []
            }
            state.shelves[key] = shelf + [response]
            state.keys[response.id] = key
            state.partitions[String(key.url), default: []].insert(key)
            // What could not be stored once can be by now: others may wait for it again.
            state.alone[key] = nil
            state.counts.stored += 1
            for id in state.queue.insert(response.id, bytes: response.bytes) {
                Self.evict(id, from: &state)
            }
        }
    }

    func remove(_ responses: [CachedResponse]) {
        state.withLock { state in
            for response in responses { Self.remove(response, from: &state) }
        }
    }

    /// Drops what lies under a URL, in all partitions (RFC 9111 §4.4).
    func invalidate(_ url: Substring) {
        state.withLock { state in
            for key in state.partitions[String(url)] ?? [] {
                for response in state.shelves[key] ?? [] { Self.remove(response, from: &state) }
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
        state.shelves[key]?.removeAll { $0.id == response.id }
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

/// A fetch that others wait for.
final class Flight: Sendable {
    enum Outcome: Sendable {
        case pending
        /// The response is on its way into the store, and whoever it suits may read along.
        case joinable(StoredResponse, GrowingBody, length: UInt64)
        /// Whoever waits looks into the store again.
        case landed
        /// Nobody else can use it: each fetches for itself.
        case released
    }

    private struct State {
        var outcome = Outcome.pending
        var waiting: [@Sendable () -> Void] = []
        var followers = 0
    }

    private let state = Mutex(State())

    /// Somebody waits for the outcome, or reads along.
    var hasFollowers: Bool { state.withLock { $0.followers > 0 } }

    func resolve(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// What it came to; while that is open, `wake` is called when it is not.
    func outcome(wake: @escaping @Sendable () -> Void) -> Outcome {
        state.withLock { state in
            if case .pending = state.outcome { state.waiting.append(wake) }
            return state.outcome
        }
    }

    func follow() { state.withLock { $0.followers += 1 } }
    func leave() { state.withLock { $0.followers -= 1 } }
}
