// A byte queue without a bound: a chain of blocks, lent while they hold any bytes.

/// A queue of bytes of any length, first in, first out.
///
/// Each piece can be read without a copy, and an empty queue holds no memory.
package final class ByteQueue {
    private let pool: BufferPool
    private var first: InputBuffer
    /// The blocks after the first, the oldest at `start`.
    private var others: [InputBuffer] = []
    private var start = 0
    private var total = 0

    package init(on loop: EventLoop) {
        pool = loop.memory
        first = InputBuffer(pool: pool)
    }

    package var count: Int { total }
    package var isEmpty: Bool { total == 0 }
    /// Blocks that are referenced, including those already read and not yet dropped.
    package var slots: Int { others.count + 1 }

    /// The oldest contiguous bytes; empty when the queue is empty.
    package var front: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = first.bytes
            // Safety: the block belongs to the queue; the borrower keeps to the rule of
            // `InputBuffer.bytes`.
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The block with the oldest contiguous bytes.
    package var block: InputBuffer { first }

    package func append(_ bytes: Span<UInt8>) {
        var done = 0
        while done < bytes.count {
            let last = others.last ?? first
            let taken = last.take(bytes.extracting(done...))
            done += taken
            if taken == 0 { others.append(InputBuffer(pool: pool)) }
        }
        total += bytes.count
    }

    /// Drops the first `count` bytes, no more than `front` has.
    package func discard(_ count: Int) {
        first.discard(count)
        total -= count
        if first.isEmpty, start < others.count { advance() }
    }

    package func removeAll() {
        first.release()
        for buffer in others[start...] { buffer.release() }
        others = []
        start = 0
        total = 0
    }

    private func advance() {
        first = others[start]
        start += 1
        if start == others.count {
            others.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= 16, start * 2 >= others.count {
            // A queue that is never empty must not keep all blocks that went through it.
            others.removeFirst(start)
            start = 0
        }
    }
}
