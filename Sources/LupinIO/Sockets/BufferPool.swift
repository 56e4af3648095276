// Memory for bytes in flight: blocks and byte arrays, lent only while they hold something.
import CLinux
import Glibc

/// A fixed piece of memory for received bytes.
@safe
final class Block {
    static let capacity = 16 << 10

    let base: UnsafeMutableRawPointer
    /// The next spare block, while this one is spare itself.
    var next: Block?

    // Safety: `base` is allocated here, freed in deinit, and never given away.
    init() { unsafe base = .allocate(byteCount: Self.capacity, alignment: 64) }

    deinit { unsafe base.deallocate() }
}

/// One loop's spare memory.
///
/// What exceeds the bounds goes back to the allocator.
final class BufferPool {
    private static let spareMax = 128
    private static let scratchMax = 16
    private static let scratchBytesMax = 512 << 10

    private var spare: Block?
    private var spareCount = 0
    /// Arrays without content: staged bytes usually leave within the turn that staged them, so few
    /// channels have some at a time.
    ///
    /// Unchecked: the exclusivity checks would cost more than the access, twice a request.
    // Safety: nothing that could reach the pool is called while the list is accessed.
    @exclusivity(unchecked) private var scratch: [[UInt8]] = []
    /// Their capacity in all.
    private var scratchBytes = 0

    func lendBlock() -> Block {
        guard let block = spare.take() else { return Block() }
        spare = block.next.take()
        spareCount &-= 1
        return block
    }

    func giveBack(_ block: consuming Block) {
        guard spareCount < Self.spareMax else { return }
        block.next = spare.take()
        spare = block
        spareCount &+= 1
    }

    /// An empty array with room for a usual head.
    func lendBytes() -> [UInt8] {
        if let bytes = unsafe scratch.popLast() {
            scratchBytes &-= bytes.capacity
            return bytes
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4096)
        return bytes
    }

    func giveBack(_ bytes: consuming [UInt8]) {
        let capacity = bytes.capacity
        let room = Self.scratchBytesMax &- scratchBytes
        guard unsafe scratch.count < Self.scratchMax, 0 < capacity, capacity <= room else {
            return
        }
        bytes.removeAll(keepingCapacity: true)
        scratchBytes &+= capacity
        unsafe scratch.append(bytes)
    }

    deinit {
        // One by one: a chain that is released at its head would be freed by recursion.
        while let block = spare.take() { spare = block.next.take() }
    }
}

/// Bytes received and not yet consumed, in a block that is lent while there are any.
package final class InputBuffer {
    private var block: Block?
    private var start = 0
    private var end = 0
    private let pool: BufferPool

    package static let capacity = Block.capacity

    init(pool: BufferPool) { self.pool = pool }

    package var count: Int { end - start }
    package var isEmpty: Bool { start == end }
    package var isFull: Bool { end - start == Block.capacity }

    /// The bytes in order of arrival; lent until the buffer next changes.
    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let block else { return Span() }
            // Safety: start..<end lies in the block. Borrower and buffer run on the loop's one
            // thread, a span can't cross a suspension, and the borrower keeps to the rule above.
            let span = unsafe Span<UInt8>(
                _unsafeStart: (block.base + start).assumingMemoryBound(to: UInt8.self),
                count: end - start
            )
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The same bytes, for decoders that compact them in place.
    package var mutableBytes: MutableSpan<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let block else { return MutableSpan() }
            // Safety: as for `bytes`, and nothing else accesses them while they are lent.
            let span = unsafe MutableSpan<UInt8>(
                _unsafeStart: (block.base + start).assumingMemoryBound(to: UInt8.self),
                count: end - start
            )
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Drops the first `count` bytes; an empty buffer gives its block back.
    package func discard(_ count: Int) {
        precondition(
            count >= 0 && count <= end - start,
            "more bytes discarded than there are"
        )
        start += count
        if start == end { release() }
    }

    /// Drops `count` bytes after the first `offset`; the bytes after them move up.
    package func discard(_ count: Int, at offset: Int) {
        precondition(
            offset >= 0 && count >= 0 && offset + count <= end - start,
            "more bytes discarded than there are"
        )
        guard count > 0, let block else { return }
        if offset == 0 { return discard(count) }
        // Safety: source and target lie in the block; memmove semantics allow the overlap.
        let target = unsafe block.base + start + offset
        unsafe target.copyMemory(
            from: target + count,
            byteCount: end - start - offset - count
        )
        end -= count
    }

    /// Reads into the free room.
    ///
    /// Returns the result of `read(2)`, or `-errno`.
    func fill(from descriptor: Int32) -> (result: Int, room: Int) {
        // Safety: the block has room from here to its end.
        let target = unsafe makeRoom()
        let room = Block.capacity - end
        let result = SystemCall.value { unsafe read(descriptor, target, room) }
        if result > 0 { end += result } else if isEmpty { release() }
        return (result, room)
    }

    /// Appends bytes: `write` gets the free room and returns how much of it it filled.
    package func append<Failure: Error>(
        _ write: (inout MutableSpan<UInt8>) throws(Failure) -> Int
    ) throws(Failure) {
        // Safety: end..<capacity lies in the block, and nothing else accesses it meanwhile.
        let target = unsafe makeRoom()
        var room = unsafe MutableSpan<UInt8>(
            _unsafeStart: target.assumingMemoryBound(to: UInt8.self),
            count: Block.capacity - end
        )
        defer { if isEmpty { release() } }
        let count = try write(&room)
        precondition(count >= 0 && count <= room.count, "more bytes written than there is room")
        end += count
    }

    /// Appends as many of `bytes` as there is room for, and returns how many.
    func take(_ bytes: Span<UInt8>) -> Int {
        guard !isFull else { return 0 }
        // Safety: end + count is inside the block, and the source is not in it.
        let target = unsafe makeRoom()
        let count = min(bytes.count, Block.capacity - end)
        unsafe bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress, count > 0 else { return }
            unsafe target.copyMemory(from: base, byteCount: count)
        }
        end += count
        return count
    }

    /// Takes what `other` holds; both belong to one pool, and this one is empty.
    func takeAll(of other: InputBuffer) {
        precondition(isEmpty, "bytes would be lost")
        release()
        // Stored one by one: with a single `inout` of the properties, every read of the buffer
        // would get an exclusivity check, 50 times a request.
        block = other.block
        start = other.start
        end = other.end
        other.block = nil
        other.start = 0
        other.end = 0
    }

    func release() {
        if let block = block.take() { pool.giveBack(block) }
        start = 0
        end = 0
    }

    /// Makes sure that there is a block with room, and returns where the room begins.
    private func makeRoom() -> UnsafeMutableRawPointer {
        if block == nil { block = pool.lendBlock() }
        // The address alone: a reference to the block would be counted.
        let base = unsafe block.unsafelyUnwrapped.base
        if start > 0, end == Block.capacity {
            // Safety: both ranges lie in the block; copyMemory allows the overlap.
            unsafe base.copyMemory(from: base + start, byteCount: end - start)
            end -= start
            start = 0
        }
        return unsafe base + end
    }
}
