// Bytes that can be sent without a copy: they lie in pages of their own.
import CLinux
import Glibc

/// Immutable bytes in pages of their own.
///
/// The kernel can send them in place (`Channel.send`). Bytes that it has not delivered yet keep
/// their pages after this object is freed: the pages go back to the kernel, whereas an allocator
/// would reuse them for other data.
@safe
package final class MappedBytes: Sendable {
    package let count: Int
    /// Their address; a number, since threads may share it.
    private let address: UInt

    /// For fewer bytes, a copy is cheaper than lending pages to the kernel.
    package static let countMin = 32 << 10

    /// Makes bytes that `fill` appends in order; nil where the kernel has no memory.
    ///
    /// There are `count` of them, at least one; bytes that `fill` leaves out are 0.
    package init?(count: Int, _ fill: (inout Room) -> Void) {
        precondition(count > 0, "nothing to be mapped")
        // Safety: the kernel chooses the address, so nothing is overwritten.
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

    // Safety: no span of them exists any more, and the kernel keeps the pages that it still sends.
    deinit { unsafe munmap(UnsafeMutableRawPointer(bitPattern: address), count) }

    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // Safety: `count` bytes are mapped there for as long as `self` lives, and they no
            // longer change.
            let span = unsafe Span<UInt8>(_unsafeStart: start(0), count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Puts bytes of `range` into a pipe, without a copy.
    ///
    /// Returns the result of `vmsplice(2)`, or `-errno`.
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

    /// The part still to be filled.
    package struct Room: ~Copyable {
        private var address: UInt
        private var left: Int

        fileprivate init(address: UInt, left: Int) {
            self.address = address
            self.left = left
        }

        /// Appends bytes to those that are there.
        package mutating func append(_ bytes: Span<UInt8>) {
            precondition(bytes.count <= left, "more bytes than there is room for")
            // Safety: `left` bytes are mapped behind `address`, and only this value writes to them.
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
