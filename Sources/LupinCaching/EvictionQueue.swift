// Chooses the stored responses to evict when there is no room: S3-FIFO, by bytes.

/// Keys with their sizes, in the order of eviction.
///
/// Three queues (Yang et al., SOSP 2023). A new key enters *small*, a tenth of the room. A key
/// without a hit is evicted from there, so a scan passes through without displacing others. A key
/// with a hit moves to *main*, where every hit saves it from one round. *Ghost* remembers keys
/// evicted from small, without content: a key that comes back enters main.
///
/// A hit changes one number; it moves nothing and makes no allocation.
package struct EvictionQueue<Key: Hashable & Sendable>: Sendable {
    /// Small gets 1/10 of the room; main gets the rest.
    private static var smallShare: Int { 10 }
    /// Hits beyond this number are not counted.
    private static var hitsMax: UInt8 { 3 }

    private enum Segment: UInt8 { case free, small, main, ghost }

    private struct Node {
        var key: Key
        var bytes: Int
        var hits: UInt8 = 0
        var segment: Segment
        /// Towards the older end; -1 at the end.
        var older = -1
        var newer = -1
    }

    private struct Queue {
        var oldest = -1
        var newest = -1
        var bytes = 0
        var count = 0
    }

    /// The maximum bytes of all keys together.
    package private(set) var bytesMax: Int
    private var nodes: [Node] = []
    private var freeSlots: [Int] = []
    private var slots: [Key: Int] = [:]
    private var small = Queue()
    private var main = Queue()
    private var ghost = Queue()

    package init(bytesMax: Int) { self.bytesMax = max(0, bytesMax) }

    /// The bytes of all keys in small and main.
    package var bytes: Int { small.bytes + main.bytes }

    /// The number of keys in small and main.
    package var count: Int { small.count + main.count }

    package func contains(_ key: Key) -> Bool {
        guard let slot = slots[key] else { return false }
        return nodes[slot].segment != .ghost
    }

    /// Counts a hit; ignores a key that isn't there.
    @specialized(where Key == UInt64)
    package mutating func hit(_ key: Key) {
        guard let slot = slots[key], nodes[slot].segment != .ghost else { return }
        if nodes[slot].hits < Self.hitsMax { nodes[slot].hits += 1 }
    }

    /// Adds a key, or changes its size.
    ///
    /// - Returns: The evicted keys, oldest first; `key` itself if it is larger than the whole room.
    @specialized(where Key == UInt64)
    package mutating func insert(_ key: Key, bytes: Int) -> [Key] {
        // At least 1, so that the room bounds the number of keys, too.
        let bytes = max(1, bytes)
        guard bytes <= bytesMax else {
            remove(key)
            return [key]
        }
        if let slot = slots[key], nodes[slot].segment != .ghost {
            resize(slot, bytes)
            if nodes[slot].hits < Self.hitsMax { nodes[slot].hits += 1 }
        } else {
            let isKnown = slots[key] != nil
            remove(key)
            append(key, bytes, to: isKnown ? .main : .small)
        }
        return makeRoom()
    }

    /// Changes the room.
    ///
    /// - Returns: The evicted keys, oldest first.
    package mutating func resize(bytesMax: Int) -> [Key] {
        self.bytesMax = max(0, bytesMax)
        return makeRoom()
    }

    /// Removes a key from all queues, ghost included.
    @specialized(where Key == UInt64)
    package mutating func remove(_ key: Key) {
        guard let slot = slots.removeValue(forKey: key) else { return }
        unlink(slot)
        free(slot)
    }

    // MARK: Making room

    private mutating func makeRoom() -> [Key] {
        var evicted: [Key] = []
        // Every step removes a key or a hit, so the loop ends.
        while bytes > bytesMax {
            let isSmallFull = small.bytes > bytesMax / Self.smallShare
            if small.oldest >= 0, isSmallFull || main.oldest < 0 {
                evictFromSmall(&evicted)
            } else {
                evictFromMain(&evicted)
            }
        }
        return evicted
    }

    private mutating func evictFromSmall(_ evicted: inout [Key]) {
        let slot = small.oldest
        unlink(slot)
        if nodes[slot].hits > 0 {
            nodes[slot].hits = 0
            link(slot, to: .main)
        } else {
            evicted.append(nodes[slot].key)
            link(slot, to: .ghost)
            trimGhost()
        }
    }

    private mutating func evictFromMain(_ evicted: inout [Key]) {
        let slot = main.oldest
        unlink(slot)
        if nodes[slot].hits > 0 {
            nodes[slot].hits -= 1
            link(slot, to: .main)
        } else {
            let key = nodes[slot].key
            evicted.append(key)
            slots[key] = nil
            free(slot)
        }
    }

    /// Ghost remembers as many bytes as main has room for.
    private mutating func trimGhost() {
        while ghost.bytes > bytesMax - bytesMax / Self.smallShare, ghost.oldest >= 0 {
            let slot = ghost.oldest
            unlink(slot)
            slots[nodes[slot].key] = nil
            free(slot)
        }
    }

    // MARK: Lists

    private mutating func append(_ key: Key, _ bytes: Int, to segment: Segment) {
        let node = Node(key: key, bytes: bytes, segment: .free)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            nodes[slot] = node
        } else {
            slot = nodes.count
            nodes.append(node)
        }
        slots[key] = slot
        link(slot, to: segment)
    }

    private mutating func free(_ slot: Int) {
        nodes[slot].segment = .free
        freeSlots.append(slot)
    }

    private mutating func resize(_ slot: Int, _ bytes: Int) {
        let change = bytes - nodes[slot].bytes
        nodes[slot].bytes = bytes
        withQueue(nodes[slot].segment) { queue, _ in queue.bytes += change }
    }

    /// Appends a node at the newest end.
    private mutating func link(_ slot: Int, to segment: Segment) {
        nodes[slot].segment = segment
        nodes[slot].newer = -1
        withQueue(segment) { queue, nodes in
            nodes[slot].older = queue.newest
            if queue.newest >= 0 { nodes[queue.newest].newer = slot } else { queue.oldest = slot }
            queue.newest = slot
            queue.bytes += nodes[slot].bytes
            queue.count += 1
        }
    }

    private mutating func unlink(_ slot: Int) {
        withQueue(nodes[slot].segment) { queue, nodes in
            let (older, newer) = (nodes[slot].older, nodes[slot].newer)
            if older >= 0 { nodes[older].newer = newer } else { queue.oldest = newer }
            if newer >= 0 { nodes[newer].older = older } else { queue.newest = older }
            queue.bytes -= nodes[slot].bytes
            queue.count -= 1
        }
    }

    private mutating func withQueue(_ segment: Segment, _ body: (inout Queue, inout [Node]) -> Void)
    {
        switch segment {
        case .small: body(&small, &nodes)
        case .main: body(&main, &nodes)
        case .ghost: body(&ghost, &nodes)
        case .free: break
        }
    }
}
