// The responses in memory by key, their URLs, and what is evicted when room runs out.
import LupinCore

/// The stored responses in memory; a value that `ResponseStore` guards.
struct Shelves {
    private var shelves: [CacheKey: [CachedResponse]] = [:]
    private var keys: [UInt64: CacheKey] = [:]
    /// The keys by `CacheKey.listing`: for look-ups by URL, in any partition.
    private var listings: [String: Set<CacheKey>] = [:]
    private var queue: EvictionQueue<UInt64>
    private var lastID: UInt64 = 0
    /// The number of responses evicted for lack of room.
    private(set) var evicted: UInt64 = 0

    init(bytesMax: Int) { queue = EvictionQueue(bytesMax: bytesMax) }

    var count: Int { keys.count }
    var bytes: Int { queue.bytes }

    /// Changes the room; evicts what no longer fits.
    mutating func limit(_ bytesMax: Int) {
        guard queue.bytesMax != bytesMax else { return }
        for id in queue.resize(bytesMax: bytesMax) { evict(id) }
    }

    // MARK: Looking

    /// The responses under a key, the oldest first.
    subscript(key: CacheKey) -> [CachedResponse] { shelves[key] ?? [] }

    var all: [CachedResponse] { shelves.values.flatMap(\.self) }

    /// Every key under which a response is stored, in no order.
    var allKeys: [CacheKey] { Array(shelves.keys) }

    /// The keys under which a request for `url` can find responses, in all partitions and under any
    /// policy.
    func keys(answering url: some StringProtocol) -> [CacheKey] {
        let general = listings[CacheKey.generalListing(of: url)] ?? []
        return Array(listings[String(url)] ?? []) + CacheKey.answering(url, among: general)
    }

    private func index(of response: CachedResponse) -> Int? {
        shelves[response.key]?.firstIndex { $0.id == response.id }
    }

    /// The response as it is stored now; nil when it is no longer stored.
    func current(_ response: CachedResponse) -> CachedResponse? {
        index(of: response).map { self[response.key][$0] }
    }

    // MARK: Changing

    /// An ID for a new response.
    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func noteHit(_ response: CachedResponse) { queue.hit(response.id) }

    /// Adds a response behind those under its key.
    mutating func add(_ response: CachedResponse) {
        let key = response.key
        shelves[key, default: []].append(response)
        keys[response.id] = key
        listings[key.listing, default: []].insert(key)
        for id in queue.insert(response.id, bytes: response.bytes) { evict(id) }
    }

    /// Replaces a response with the result of `change`, if it is still stored.
    mutating func update(
        _ response: CachedResponse,
        _ change: (CachedResponse) -> CachedResponse
    ) {
        guard let i = index(of: response), let old = shelves[response.key]?[i] else { return }
        shelves[response.key]?[i] = change(old)
    }

    mutating func remove(_ response: CachedResponse) {
        queue.remove(response.id)
        unlist(response)
    }

    private mutating func evict(_ id: UInt64) {
        guard let key = keys[id], let response = self[key].first(where: { $0.id == id }) else {
            return
        }
        evicted += 1
        unlist(response)
    }

    private mutating func unlist(_ response: CachedResponse) {
        let key = response.key
        keys[response.id] = nil
        shelves[key]?.removeAll { $0.id == response.id }
        guard shelves[key]?.isEmpty == true else { return }
        shelves[key] = nil
        let listing = key.listing
        listings[listing]?.remove(key)
        if listings[listing]?.isEmpty == true { listings[listing] = nil }
    }
}
