// How the pieces of a head get into memory whose room was made once for all of them.
import LupinCore

/// The place in memory where the next byte of a head goes.
///
/// An array that is appended to asks for every piece whether it is shared and has room; a head has
/// twenty pieces.
@safe struct HeadCursor: ~Copyable {
    private var next: UnsafeMutablePointer<UInt8>
    private var room: Int

    fileprivate init(_ memory: UnsafeMutableBufferPointer<UInt8>.SubSequence) {
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: memory)
        // Safety: memory without an address has no room, so nothing is ever written there.
        unsafe next = rest.baseAddress ?? UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped
        room = rest.count
    }

    /// Takes the room for `count` bytes.
    ///
    /// That there is enough is for who writes a head to compute, never for a peer to say.
    @inline(__always)
    private mutating func advance(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count <= room, "a head is longer than was computed")
        let place = unsafe next
        unsafe next += count
        room &-= count
        return unsafe place
    }

    @inline(__always) mutating func append(_ byte: UInt8) {
        // Safety: `advance` has found room for the byte.
        unsafe advance(1).pointee = byte
    }

    /// Appends a text that is known when this is compiled, so that it becomes a few stores.
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
            // 10^20 is beyond 64 bits, and every number below it.
            if digits == 20 { break }
        }
        let place = unsafe advance(digits)
        var rest = number
        var i = digits
        repeat {
            i &-= 1
            // Safety: `i` is below `digits`, for which there is room.
            unsafe place[i] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while i > 0
    }

    fileprivate func written(of count: Int) -> Int { count - room }
}

extension Array where Element == UInt8 {
    /// Appends what `write` writes, for which `room` bytes are enough.
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
