// Writes the parts of a head into memory allocated once for all of them.

/// The position in memory of the next byte of a head.
///
/// An append to an array checks for every part whether the array is shared and has room; a head has
/// twenty parts.
@safe struct HeadCursor: ~Copyable {
    private var next: UnsafeMutablePointer<UInt8>
    private var room: Int

    fileprivate init(_ memory: UnsafeMutableBufferPointer<UInt8>.SubSequence) {
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: memory)
        // Safety: memory without an address has no room, so nothing is ever written there.
        unsafe next = rest.baseAddress ?? UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped
        room = rest.count
    }

    /// Reserves the room for `count` bytes.
    ///
    /// The code that writes a head must compute enough room in advance; a peer's data must not
    /// decide it.
    @inline(__always)
    private mutating func advance(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count <= room, "a head is longer than was computed")
        let pointer = unsafe next
        unsafe next += count
        room &-= count
        return unsafe pointer
    }

    @inline(__always) mutating func append(_ byte: UInt8) {
        // Safety: `advance` has found room for the byte.
        unsafe advance(1).pointee = byte
    }

    /// Appends a compile-time constant, which compiles to a few stores.
    @inline(__always) mutating func append(_ text: StaticString) {
        let count = text.utf8CodeUnitCount
        // Safety: the bytes of the text live as long as the program; there is room for them.
        unsafe advance(count).update(from: text.utf8Start, count: count)
    }

    @inline(__always) mutating func append(_ bytes: Span<UInt8>) {
        // Safety: the source is used inside the closure only; `advance` has found room.
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe advance(source.count).update(from: first, count: source.count)
        }
    }

    mutating func append(_ text: String) {
        let utf8 = text.utf8
        append(utf8.span)
    }

    mutating func append(decimal number: UInt64) {
        var digits = 1
        var bound: UInt64 = 10
        while digits < 20, number >= bound {
            digits &+= 1
            bound = bound &* 10
            // 10^20 exceeds 64 bits, so a number has at most 20 digits.
            if digits == 20 { break }
        }
        let pointer = unsafe advance(digits)
        var rest = number
        var i = digits
        repeat {
            i &-= 1
            // Safety: `i` is below `digits`, for which there is room.
            unsafe pointer[i] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while i > 0
    }

    fileprivate func written(of count: Int) -> Int { count - room }
}

extension Array where Element == UInt8 {
    /// Appends what `write` writes, which must fit in `room` bytes.
    @inline(__always)
    mutating func appendHead(room: Int, _ write: (inout HeadCursor) -> Void) {
        append(addingCapacity: room) { output in
            // Safety: the cursor lives inside the closure, and counts what it initialises.
            unsafe output.withUnsafeMutableBufferPointer { memory, count in
                var cursor = unsafe HeadCursor(memory[count...])
                write(&cursor)
                count += cursor.written(of: memory.count - count)
            }
        }
    }
}
