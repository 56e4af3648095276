// Bytes that can be sent without being copied: they lie in pages that are nobody else's.
import CLinux
import Glibc

/// Bytes that never change, in pages of their own.
///
/// The kernel can send them from where they lie (`Channel.send`). What it has not delivered yet
/// keeps its pages after the bytes are gone here: pages go back to the kernel, where an allocator
/// would give them to somebody who writes into them.
@safe
package final class MappedBytes: Sendable {
    package let count: Int
    /// Where they begin; a number, since threads may share it.
    private let address: UInt

    /// Fewer are cheaper to copy than to lend to the kernel.
    package static let countMin = 32 << 10

    /// Bytes that `fill` appends in their order; nil where the kernel has no memory to give.
    ///
    /// There are `count` of them, at least one; what is not filled is 0.
    package init?(count: Int, _ fill: (inout Room) -> Void) {
        precondition(count > 0, "nothing to be mapped")
        // Safety: the kernel chooses the place, so nothing that is there is overwritten.
        let base = unsafe mmap(
            nil,
            count,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        let address = UInt(bitPattern: base)
        // MAP_FAILED is -1.
        guard address != .max, address != 0 else { return nil }
        self.count = count
        self.address = address
        var room = Room(address: address, left: count)
        fill(&room)
    }

    // Safety: nobody holds a span of them any more, and what the kernel lent of them it keeps.
    deinit { unsafe munmap(UnsafeMutableRawPointer(bitPattern: address), count) }

    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // Safety: `count` bytes are mapped there for as long as `self` lives, and none of them
            // changes any more.
            let span = unsafe Span<UInt8>(_unsafeStart: start(0), count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Puts bytes of `range` into a pipe, without a copy.
    ///
    /// The result of `vmsplice(2)`, or `-errno`.
    func fill(_ pipe: Int32, with range: Range<Int>) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "out of the bytes")
        // Safety: the range lies in the bytes, which the call only reads.
        return SystemCall.value {
            unsafe linux_splice_memory(start(range.lowerBound), range.count, pipe)
        }
    }

    private func start(_ offset: Int) -> UnsafePointer<UInt8> {
        // Safety: the address is that of a mapping, and no mapping begins at 0.
        unsafe UnsafePointer(bitPattern: address + UInt(offset)).unsafelyUnwrapped
    }

    /// What there is to be filled.
    package struct Room: ~Copyable {
        private var address: UInt
        private var left: Int

        fileprivate init(address: UInt, left: Int) {
            self.address = address
            self.left = left
        }

        /// Puts bytes behind those that are there.
        package mutating func append(_ bytes: Span<UInt8>) {
            precondition(bytes.count <= left, "more bytes than there is room for")
            // Safety: as many bytes are mapped behind `address` as are left, for this alone.
            unsafe bytes.withUnsafeBytes { source in
                guard let from = source.baseAddress else { return }
                unsafe UnsafeMutableRawPointer(bitPattern: address)?
                    .copyMemory(from: from, byteCount: source.count)
            }
            address += UInt(bytes.count)
            left -= bytes.count
        }
    }
}
