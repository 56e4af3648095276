// Fast byte operations: bulk copies, unchecked reads and constant words.
import LupinCore

extension Array where Element == UInt8 {
    /// Appends all of `bytes` with one copy.
    @inline(__always) package mutating func appendBulk(_ bytes: Span<UInt8>) {
        // Safety: the pointer is used inside the closure only, and `append` copies its bytes.
        append(addingCapacity: bytes.count) { output in
            unsafe output.withUnsafeMutableBufferPointer { room, count in
                unsafe bytes.withUnsafeBufferPointer { source in
                    guard let target = room.baseAddress, let first = source.baseAddress
                    else { return }
                    unsafe (target + count).initialize(from: first, count: source.count)
                    count += source.count
                }
            }
        }
    }
}

extension Array where Element == UInt8 {
    /// Appends `name: value CRLF`.
    @inline(__always) mutating func appendLine(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        append(addingCapacity: name.count + value.count + 4) { output in
            // Safety: the pointers are used inside the closures only, and there is room for all.
            unsafe output.withUnsafeMutableBufferPointer { room, count in
                unsafe name.withUnsafeBufferPointer { name in
                    unsafe value.withUnsafeBufferPointer { value in
                        guard let base = room.baseAddress, let first = name.baseAddress
                        else { return }
                        var next = unsafe base + count
                        unsafe next.initialize(from: first, count: name.count)
                        unsafe next += name.count
                        unsafe next[0] = 0x3A
                        unsafe next[1] = 0x20
                        unsafe next += 2
                        if let bytes = value.baseAddress {
                            unsafe next.initialize(from: bytes, count: value.count)
                            unsafe next += value.count
                        }
                        unsafe next[0] = 0x0D
                        unsafe next[1] = 0x0A
                        count += name.count + value.count + 4
                    }
                }
            }
        }
    }
}

extension MutableSpan where Element == UInt8 {
    /// Moves `count` bytes from `source` forward to `target`; the ranges may overlap.
    @_lifetime(self: copy self)
    mutating func moveBytes(from source: Int, to target: Int, count moved: Int) {
        precondition(target >= 0 && target <= source && moved >= 0 && moved <= count - source)
        guard moved > 0, source != target else { return }
        // Safety: both ranges lie inside the span by the precondition; `update` permits overlap.
        unsafe withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + target).update(from: base + source, count: moved)
        }
    }
}

extension Span where Element == UInt8 {
    /// The eight bytes from `start` on as one little-endian number.
    ///
    /// For loops that compare `start` with the end themselves: a second check would double the
    /// cost.
    @inline(__always) func uncheckedWord(at start: Int) -> UInt64 {
        assert(start >= 0 && start <= count - 8)
        // Safety: the caller has checked that there are eight bytes at `start`.
        return unsafe UInt64(
            littleEndian: bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: start,
                as: UInt64.self
            )
        )
    }

    /// The byte at `index`, for code that has just compared `index` with the end.
    @inline(__always) func uncheckedByte(at index: Int) -> UInt8 {
        assert(index >= 0 && index < count)
        // Safety: the caller has checked that there is a byte.
        return unsafe self[unchecked: index]
    }

    /// The bytes in `range`, for code that has just found both ends in these bytes.
    @_lifetime(copy self)
    @inline(__always) func uncheckedExtracting(_ range: Range<Int>) -> Span<UInt8> {
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        // Safety: the caller has found both ends in these bytes.
        return unsafe extracting(unchecked: range)
    }

    /// Whether the bytes are `word`, compared without ASCII case.
    @inline(__always) func spells(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        // Safety: the bytes of the word live as long as the program.
        return word.withUTF8Buffer { unsafe equalsIgnoringCase($0.span) }
    }
}
