// Operations on bytes that several modules share: ASCII case, digits, trimming, text.

/// A range of bytes in a storage of at most 4 GiB; half the size of `Range<Int>`.
@usableFromInline package struct ByteRange: Hashable, Sendable {
    @usableFromInline package var start: UInt32
    @usableFromInline package var count: UInt32

    @inlinable @inline(__always) package init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    @inlinable @inline(__always) package init(_ range: Range<Int>) {
        self.init(start: range.lowerBound, count: range.count)
    }

    @inlinable @inline(__always) package static var empty: ByteRange {
        ByteRange(start: 0, count: 0)
    }

    @inlinable @inline(__always) package var isEmpty: Bool { count == 0 }
    @inlinable @inline(__always) package var lowerBound: Int { Int(start) }
    @inlinable @inline(__always) package var upperBound: Int { Int(start) + Int(count) }
    @inlinable @inline(__always) package var range: Range<Int> { lowerBound..<upperBound }
}

extension UInt8 {
    /// The byte with an ASCII upper-case letter converted to lower case.
    @inlinable @inline(__always) package var asciiLowercased: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }

    @inlinable @inline(__always) package var isASCIIDigit: Bool { self &- 0x30 < 10 }

    /// Whether RFC 9110 §5.6.2 allows the byte in a token.
    @inlinable @inline(__always) package var isTokenByte: Bool {
        if (self | 0x20) &- 0x61 < 26 { return true }
        // One bit per byte: letters, digits and !#$%&'*+-.^_`|~
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        if self < 64 { return low &>> UInt64(self) & 1 == 1 }
        return self < 128 && high &>> UInt64(self & 63) & 1 == 1
    }
}

extension UInt64 {
    /// The eight bytes of a word, each with an ASCII upper-case letter converted to lower case.
    @inlinable package var asciiLowercased: UInt64 {
        let low = self & 0x7F7F_7F7F_7F7F_7F7F
        // The top bit of a byte marks: at least `A`; above `Z`.
        let fromA = low &+ 0x3F3F_3F3F_3F3F_3F3F
        let beyondZ = low &+ 0x2525_2525_2525_2525
        let isLetter = fromA & ~beyondZ & ~self & 0x8080_8080_8080_8080
        return self | isLetter &>> 2
    }

    /// Marks the bytes of a word that are below `bound`, which is 0x80 at most, by their top bits.
    ///
    /// A borrow may mark a byte above a marked one, too: the lowest mark is right, and so is that
    /// there is none.
    @inlinable @inline(__always) package func marks(below bound: UInt64) -> UInt64 {
        (self &- bound &* 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080
    }

    /// Marks the bytes of a word that are `byte`, as `marks(below:)` does.
    @inlinable @inline(__always) package func marks(of byte: UInt64) -> UInt64 {
        (self ^ byte &* 0x0101_0101_0101_0101).marks(below: 1)
    }

    /// The index of the lowest mark; 8 for none.
    @inlinable @inline(__always) package var firstMark: Int { trailingZeroBitCount &>> 3 }
}

extension Span where Element == UInt8 {
    /// How many bytes at the beginning of a file are a byte order mark, as editors of Windows write
    /// it: three or none.
    package var byteOrderMark: Int {
        count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF ? 3 : 0
    }

    /// Whether both are equal when ASCII case is ignored.
    @inlinable package func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var i = 0
        while count &- i >= 8 {
            let (a, b) = (word(at: i), other.word(at: i))
            if a != b, a.asciiLowercased != b.asciiLowercased { return false }
            i &+= 8
        }
        while i < count {
            let (a, b) = (self[i], other[i])
            if a != b, a.asciiLowercased != b.asciiLowercased { return false }
            i &+= 1
        }
        return true
    }

    /// The eight bytes from `start` on as one little-endian number.
    ///
    /// Written out, because the compiler makes it a single load.
    @inlinable @inline(__always) package func word(at start: Int) -> UInt64 {
        let bytes = extracting(start...).extracting(first: 8)
        precondition(bytes.count == 8, "a word has eight bytes")
        let low =
            UInt64(bytes[0]) | UInt64(bytes[1]) &<< 8 | UInt64(bytes[2]) &<< 16
            | UInt64(bytes[3]) &<< 24
        let high =
            UInt64(bytes[4]) | UInt64(bytes[5]) &<< 8 | UInt64(bytes[6]) &<< 16
            | UInt64(bytes[7]) &<< 24
        return low | high &<< 32
    }

    /// The four bytes from `start` on as one little-endian number.
    @inlinable @inline(__always) package func halfWord(at start: Int) -> UInt64 {
        let bytes = extracting(start...).extracting(first: 4)
        precondition(bytes.count == 4, "half a word has four bytes")
        return UInt64(bytes[0]) | UInt64(bytes[1]) &<< 8 | UInt64(bytes[2]) &<< 16
            | UInt64(bytes[3]) &<< 24
    }

    /// The place of the first block of 32 bytes, counted from `start` on, that holds a mark; where
    /// fewer bytes are left without one, the place of those.
    ///
    /// `mark` returns 0 for a byte that is none. It must not have `||`, and a block is looked at
    /// without an early exit: so the compiler compares 16 bytes at a time.
    @inlinable @inline(__always) package func block(
        from start: Int,
        holding mark: (UInt8) -> UInt8
    ) -> Int {
        var i = start
        while count &- i >= 32 {
            let block = extracting(i..<(i &+ 32))
            var found: UInt8 = 0
            for offset in 0..<32 { found |= mark(block[offset]) }
            if found != 0 { return i }
            i &+= 32
        }
        return i
    }

    /// The first place of `wanted`, or `count`.
    package func offset(of wanted: UInt8) -> Int {
        var i = 0
        while count &- i >= 8 {
            let marks = word(at: i).marks(of: UInt64(wanted))
            if marks != 0 { return i &+ marks.firstMark }
            i &+= 8
        }
        while i < count, self[i] != wanted { i &+= 1 }
        return i
    }

    /// Whether both have the same bytes.
    package func isSame(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard count >= 8 else {
            for i in indices where self[i] != other[i] { return false }
            return true
        }
        // The last word overlaps the one before, so that it ends with the bytes.
        let last = count &- 8
        var i = 0
        while i < last {
            if word(at: i) != other.word(at: i) { return false }
            i &+= 8
        }
        return word(at: last) == other.word(at: last)
    }

    /// Whether `other` begins with these bytes.
    @inlinable package func begins(_ other: Span<UInt8>) -> Bool {
        guard other.count >= count else { return false }
        // Without an early exit the compiler can vectorise the loop.
        var difference: UInt8 = 0
        for i in 0..<count { difference |= self[i] ^ other[i] }
        return difference == 0
    }

    /// The bytes with percent-encoding such as `%41` decoded; nil when two hexadecimal digits don't
    /// follow a percent sign (RFC 3986 §2.1).
    package var percentDecoded: [UInt8]? {
        var decoded: [UInt8] = []
        var i = 0
        while i < count {
            if self[i] == 0x25 {
                guard let byte = NumberReader.hexadecimalByte(self, at: i + 1) else { return nil }
                decoded.append(byte)
                i += 3
            } else {
                decoded.append(self[i])
                i += 1
            }
        }
        return decoded
    }

    /// The range without leading and trailing spaces and tabs (OWS, RFC 9110 §5.6.3).
    @inlinable package var trimmedRange: Range<Int> {
        var start = 0
        var end = count
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}

extension String {
    /// A copy of `bytes` as text; bytes that are not UTF-8 become U+FFFD.
    package init(copying bytes: Span<UInt8>) {
        self = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
    }
}

extension Array where Element == UInt8 {
    /// A copy of `bytes`, for callers off the hot path.
    package init(copying bytes: Span<UInt8>) {
        self = []
        append(copying: bytes)
    }

    /// Appends a copy of `bytes`.
    package mutating func append(copying bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { output in output.append(copying: bytes) }
    }
}

extension OutputSpan where Element == UInt8 {
    /// Appends a copy of `bytes`.
    package mutating func append(copying bytes: Span<UInt8>) {
        guard bytes.count >= 8 else {
            for i in bytes.indices { append(bytes[i]) }
            return
        }
        let start = count
        append(repeating: 0, count: bytes.count)
        var span = mutableSpan
        // Not `mutableBytes`, which counts as unsafe because it serves other element types too.
        var memory = MutableRawSpan(_elements: &span)
        memory.store(copyOf: bytes, at: start)
    }
}

extension MutableRawSpan {
    /// Stores a copy of eight bytes or more, in words instead of bytes.
    ///
    /// The caller has checked that there is room for all of them: each store is checked against the
    /// memory only.
    @inlinable @inline(__always)
    package mutating func store(copyOf bytes: Span<UInt8>, at start: Int) {
        var i = 0
        while bytes.count &- i > 32 {
            let piece = bytes.extracting(i..<(i &+ 32))
            let words = SIMD4(
                piece.word(at: 0).littleEndian,
                piece.word(at: 8).littleEndian,
                piece.word(at: 16).littleEndian,
                piece.word(at: 24).littleEndian
            )
            storeBytes(of: words, toByteOffset: start &+ i, as: SIMD4<UInt64>.self)
            i &+= 32
        }
        while bytes.count &- i > 8 {
            store(bytes.word(at: i), at: start &+ i)
            i &+= 8
        }
        // The last word overlaps the one before, so that it ends with the bytes.
        let last = bytes.count &- 8
        store(bytes.word(at: last), at: start &+ last)
    }

    @inlinable @inline(__always)
    mutating func store(_ word: UInt64, at offset: Int) {
        storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
}

extension Span where Element == UInt8 {
    /// Whether one of the bytes would end a field line.
    package var hasLineEndOrNUL: Bool {
        for i in indices where self[i] == 0x0D || self[i] == 0x0A || self[i] == 0 { return true }
        return false
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes equal `word`, in any case.
    package func isWord(_ word: String) -> Bool { equalsIgnoringCase(word.utf8.span) }
}
