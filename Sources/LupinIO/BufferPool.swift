// Memory for bytes under way: blocks and byte arrays, lent only while they hold something.
import Glibc


/// A fixed piece of memory for received bytes.
@safe
final class Block {
    static let capacity = 16 << 10

    let base: UnsafeMutableRawPointer

    init() { unsafe base = .allocate(byteCount: Self.capacity, alignment: 64) }

    deinit { unsafe base.deallocate() }
}

/// One loop's spare memory. Beyond the bounds it goes back to the allocator.
final class BufferPool {
    private static let spareMax = 128
    private static let scratchBytesMax = 64 << 10

    private var blocks: [Block] = []
    private var scratch: [[UInt8]] = []

    func lendBlock() -> Block { blocks.popLast() ?? Block() }

    func giveBack(_ block: Block) {
        if blocks.count < Self.spareMax { blocks.append(block) }
    }

    /// An empty array with room for a usual head.
    func lendBytes() -> [UInt8] {
        if let bytes = scratch.popLast() { return bytes }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4096)
        return bytes
    }

    func giveBack(_ bytes: consuming [UInt8]) {
        guard scratch.count < Self.spareMax, bytes.capacity <= Self.scratchBytesMax else { return }
        bytes.removeAll(keepingCapacity: true)
        scratch.append(bytes)
    }
}

/// Bytes received and not yet consumed, in a block that is lent while there are any.
package struct InputBuffer: ~Copyable {
    private var block: Block?
    private var start = 0
    private var end = 0
    private let pool: BufferPool

    package static let capacity = Block.capacity

    init(pool: BufferPool) { self.pool = pool }

    package var count: Int { end - start }
    package var isEmpty: Bool { start == end }
    var isFull: Bool { end - start == Block.capacity }

    /// The bytes, in the order in which they came.
    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let block else { return Span() }
            // Safety: start..<end lies in the block, which lives as long as `self` holds it.
            let span = unsafe Span<UInt8>(
                _unsafeStart: (block.base + start).assumingMemoryBound(to: UInt8.self),
                count: end - start)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The same bytes, for decoders that compact them in place.
    package var mutableBytes: MutableSpan<UInt8> {
        @_lifetime(&self)
        mutating get {
            guard let block else { return MutableSpan() }
            // Safety: as for `bytes`; the exclusive access to `self` makes the span exclusive.
            let span = unsafe MutableSpan<UInt8>(
                _unsafeStart: (block.base + start).assumingMemoryBound(to: UInt8.self),
                count: end - start)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Drops the first `count` bytes; an empty buffer gives its block back.
    package mutating func discard(_ count: Int) {
        precondition(
            count >= 0 && count <= end - start, "more bytes discarded than there are")
        start += count
        if start == end { release() }
    }

    /// Drops `count` bytes that lie behind the first `offset`; those behind them move up.
    package mutating func discard(_ count: Int, at offset: Int) {
        precondition(
            offset >= 0 && count >= 0 && offset + count <= end - start,
            "more bytes discarded than there are")
        guard count > 0, let block else { return }
        if offset == 0 { return discard(count) }
        // Safety: source and target lie in the block; memmove semantics allow the overlap.
        let target = unsafe block.base + start + offset
        unsafe target.copyMemory(
            from: target + count, byteCount: end - start - offset - count)
        end -= count
    }

    /// Reads into the free room; the result of `read(2)`, or `-errno`.
    mutating func fill(from descriptor: Int32) -> (result: Int, room: Int) {
        let block = makeRoom()
        let room = Block.capacity - end
        // Safety: end + room is the block's end.
        let target = unsafe block.base + end
        let result = SystemCall.value { unsafe read(descriptor, target, room) }
        if result > 0 { end += result } else if isEmpty { release() }
        return (result, room)
    }

    mutating func release() {
        if let block { pool.giveBack(block) }
        block = nil
        start = 0
        end = 0
    }

    private mutating func makeRoom() -> Block {
        guard let block else {
            let fresh = pool.lendBlock()
            self.block = fresh
            return fresh
        }
        if start > 0, end == Block.capacity {
            // Safety: both ranges lie in the block; copyMemory allows the overlap.
            unsafe block.base.copyMemory(from: block.base + start, byteCount: end - start)
            end -= start
            start = 0
        }
        return block
    }
}
