// What stays when there is no room for everything.

import LupinCaching
import Testing

struct EvictionQueueTests {
    @Test func `what is new goes first and what was asked for stays`() {
        let queue = Shelf<Int>(100)
        for key in 0..<10 { #expect(queue.insert(key, 10) == []) }
        #expect(queue.count == 10 && queue.bytes == 100)
        queue.hit(0)
        #expect(queue.insert(10, 10) == [1])
        #expect(queue.contains(0) && !queue.contains(1) && queue.bytes == 100)
    }

    @Test func `what comes back after it went is known`() {
        let queue = Shelf<Int>(100)
        for key in 0..<11 { _ = queue.insert(key, 10) }
        #expect(!queue.contains(0))
        // It begins in main, so a scan of small ones leaves it.
        _ = queue.insert(0, 10)
        for key in 100..<200 { _ = queue.insert(key, 10) }
        #expect(queue.contains(0))
    }

    @Test func `one that is larger than the room goes itself`() {
        let queue = Shelf<String>(100)
        _ = queue.insert("a", 50)
        #expect(queue.insert("b", 101) == ["b"] && queue.contains("a"))
        #expect(queue.insert("a", 101) == ["a"] && queue.count == 0 && queue.bytes == 0)
        #expect(queue.insert("c", 100) == [])
        #expect(queue.insert("d", 100) == ["c"])
    }

    @Test func `another size makes room, or needs it`() {
        let queue = Shelf<Int>(100)
        _ = queue.insert(1, 40)
        _ = queue.insert(2, 40)
        #expect(queue.insert(1, 20) == [] && queue.bytes == 60)
        #expect(queue.insert(2, 90) == [1] || queue.bytes <= 100)
        #expect(queue.contains(2))
    }

    @Test func `what is removed is gone at once`() {
        let queue = Shelf<Int>(100)
        _ = queue.insert(1, 40)
        queue.remove(1)
        queue.remove(1)
        queue.hit(1)
        #expect(queue.count == 0 && queue.bytes == 0 && !queue.contains(1))
    }

    @Test func `sizes without sense do no harm`() {
        let queue = Shelf<Int>(3)
        for key in 0..<100 { _ = queue.insert(key, key % 2 == 0 ? 0 : -5) }
        #expect(queue.count == 3 && queue.bytes == 3)
        let none = Shelf<Int>(-1)
        #expect(none.insert(1, 1) == [1] && none.insert(2, .max) == [2])
    }

    @Test func `it always agrees with what it said`() {
        var queue = EvictionQueue<Int>(bytesMax: 1000)
        var random = EvictionNumbers(seed: 5)
        var sizes: [Int: Int] = [:]
        for _ in 0..<5000 {
            let key = random.next(below: 200)
            switch random.next(below: 10) {
            case 0..<5: queue.hit(key)
            case 5:
                queue.remove(key)
                sizes[key] = nil
            default:
                let bytes = 1 + random.next(below: 120)
                sizes[key] = bytes
                for gone in queue.insert(key, bytes: bytes) { sizes[gone] = nil }
            }
            guard queue.bytes == sizes.values.reduce(0, +), queue.count == sizes.count,
                queue.bytes <= 1000
            else {
                Issue.record("the sums differ")
                return
            }
        }
        #expect(sizes.keys.allSatisfy { queue.contains($0) })
    }

    // MARK: Against LRU

    /// Popular keys by Zipf's law, and in between long scans of keys that never come again.
    private func trace(scans: Bool) -> [Int] {
        var random = EvictionNumbers(seed: 42)
        var weights: [Double] = []
        var sum = 0.0
        for rank in 1...1000 {
            sum += 1 / Double(rank)
            weights.append(sum)
        }
        var keys: [Int] = []
        var scanned = 1_000_000
        for i in 0..<12_000 {
            let at = Double(random.next(below: 1 << 30)) / Double(1 << 30) * sum
            keys.append(weights.partitioningIndex { $0 > at })
            guard scans, i % 1500 == 1499 else { continue }
            for _ in 0..<400 {
                keys.append(scanned)
                scanned += 1
            }
        }
        return keys
    }

    private func hits(of keys: [Int]) -> (queue: Int, lru: Int) {
        let room = 150
        var queue = EvictionQueue<Int>(bytesMax: room)
        var lru = LeastRecentlyUsed(countMax: room)
        var hits = (queue: 0, lru: 0)
        for key in keys {
            if queue.contains(key) {
                queue.hit(key)
                hits.queue += 1
            } else {
                _ = queue.insert(key, bytes: 1)
            }
            if lru.use(key) { hits.lru += 1 }
        }
        return hits
    }

    @Test func `a scan does not push out what is popular`() {
        let found = hits(of: trace(scans: true))
        #expect(Double(found.queue) > Double(found.lru) * 1.08)
    }

    @Test func `without scans it is no worse either`() {
        let found = hits(of: trace(scans: false))
        #expect(found.queue > found.lru)
    }
}

/// A queue that `#expect` may call, although it mutates.
private final class Shelf<Key: Hashable & Sendable> {
    var queue: EvictionQueue<Key>

    init(_ bytesMax: Int) { queue = EvictionQueue(bytesMax: bytesMax) }

    var count: Int { queue.count }
    var bytes: Int { queue.bytes }

    func insert(_ key: Key, _ bytes: Int) -> [Key] { queue.insert(key, bytes: bytes) }
    func contains(_ key: Key) -> Bool { queue.contains(key) }
    func hit(_ key: Key) { queue.hit(key) }
    func remove(_ key: Key) { queue.remove(key) }
}

/// Numbers that are the same on every run.
private struct EvictionNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }
}

/// What most caches do instead.
private struct LeastRecentlyUsed {
    private let countMax: Int
    private var times: [Int: Int] = [:]
    private var order: [(key: Int, time: Int)] = []
    private var first = 0
    private var time = 0

    init(countMax: Int) { self.countMax = countMax }

    /// Whether the key was there; it is now.
    mutating func use(_ key: Int) -> Bool {
        let isThere = times[key] != nil
        time += 1
        times[key] = time
        order.append((key, time))
        while times.count > countMax {
            let oldest = order[first]
            first += 1
            if times[oldest.key] == oldest.time { times[oldest.key] = nil }
        }
        return isThere
    }
}

extension [Double] {
    /// The first index at which `isBehind` holds, in a sorted array; the last one at the latest.
    fileprivate func partitioningIndex(_ isBehind: (Double) -> Bool) -> Int {
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
