// The responses in memory by key, their URLs, and what is evicted when room runs out.
import LupinCaching
import LupinPolicy

/// The keys of one listing; most have one, which needs no set.
private struct Listed {
    var first: CacheKey
    var others: Set<CacheKey> = []

    var keys: [CacheKey] { [first] + others }
}

extension Listed? {
    fileprivate mutating func add(_ key: CacheKey) {
        guard let first = self?.first else {
            self = Listed(first: key)
            return
        }
        if first != key { self?.others.insert(key) }
    }

    fileprivate mutating func remove(_ key: CacheKey) {
        guard self?.first == key else {
            self?.others.remove(key)
            return
        }
        self = self?.others.popFirst().map { next in
            Listed(first: next, others: self?.others ?? [])
        }
    }
}

/// The stored responses in memory; a value that `ResponseStore` guards.
struct Shelves {
    private var shelves: [CacheKey: [CachedResponse]] = [:]
    private var keys: [UInt64: CacheKey] = [:]
    /// The keys by `CacheKey.listing`: for look-ups by URL, in any partition.
    private var listings: [String: Listed] = [:]
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
        let general = listings[CacheKey.generalListing(of: url)]?.keys ?? []
        return (listings[String(url)]?.keys ?? []) + CacheKey.answering(url, among: general)
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
        shelves[response.key, default: []].append(response)
        list(response)
    }

    /// Adds a response in place of those for the same requests, and of the oldest where there
    /// would be too many.
    /// - Returns: Those that it replaced.
    mutating func replace(with response: CachedResponse) -> [CachedResponse] {
        let replaced = Self.replace(with: response, on: &shelves[response.key, default: []])
        for old in replaced {
            queue.remove(old.id)
            keys[old.id] = nil
        }
        list(response)
        return replaced
    }

    private mutating func list(_ response: CachedResponse) {
        let key = response.key
        keys[response.id] = key
        listings[key.listing].add(key)
        for id in queue.insert(response.id, bytes: response.bytes) { evict(id) }
    }

    private static func replace(
        with response: CachedResponse,
        on shelf: inout [CachedResponse]
    ) -> [CachedResponse] {
        var replaced: [CachedResponse] = []
        if !shelf.isEmpty {
            replaced = shelf.filter { $0.facts.vary == response.facts.vary }
            shelf.removeAll { $0.facts.vary == response.facts.vary }
            if !shelf.isEmpty, shelf.count >= response.policy.variantsMax {
                replaced.append(shelf.removeFirst())
            }
        }
        shelf.append(response)
        return replaced
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
        listings[key.listing].remove(key)
    }
}
