// Finds the next byte of a kind, eight bytes at a time: most of a head is plain text.

// In each byte of a searched word, the top bit marks a match. Borrows and carries can only disturb
// the bits above a correctly marked byte, so the lowest mark is reliable.

extension Span where Element == UInt8 {
    /// The first place in `start..<end` that holds `wanted`, or nil.
    @inline(__always) func firstIndex(of wanted: UInt8, from start: Int, to end: Int) -> Int? {
        precondition(start >= 0 && end <= count)
        let pattern = UInt64(wanted) &* 0x0101_0101_0101_0101
        var i = start
        while end &- i >= 8 {
            let difference = uncheckedWord(at: i) ^ pattern
            let found = difference.bytesBelow(1)
            if found != 0 { return i &+ found.firstFoundByte }
            i &+= 8
        }
        while i < end {
            if self[i] == wanted { return i }
            i &+= 1
        }
        return nil
    }

    /// Whether both have the same bytes.
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var i = 0
        while count &- i >= 8 {
            if uncheckedWord(at: i) != other.uncheckedWord(at: i) { return false }
            i &+= 8
        }
        while i < count {
            if self[i] != other[i] { return false }
            i &+= 1
        }
        return true
    }

    /// The first place of `wanted`, or nil.
    func firstIndex(of wanted: UInt8) -> Int? { firstIndex(of: wanted, from: 0, to: count) }

    /// The first place in `start..<end` with a byte that is not visible ASCII, or `end`.
    @inline(__always) func endOfVisible(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count)
        var i = start
        while end &- i >= 8 {
            let word = uncheckedWord(at: i)
            // Above 0x7E: the top bit is already set, or adding one sets it.
            let above = (word | (word &+ 0x0101_0101_0101_0101)) & .topBits
            let found = word.bytesBelow(0x21) | above
            if found != 0 { return i &+ found.firstFoundByte }
            i &+= 8
        }
        while i < end, self[i] &- 0x21 < 0x5E { i &+= 1 }
        return i
    }

    /// The first index in `start..<end` whose byte may be other than a letter, a digit, a hyphen or
    /// a dot.
    ///
    /// If fewer than eight bytes are left, they are not checked.
    @inline(__always) func endOfPlainHost(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count)
        var i = start
        while end &- i >= 8 {
            let word = uncheckedWord(at: i)
            let low = word | 0x2020_2020_2020_2020
            let notLetter = low.bytesBelow(0x61) | low.bytesAbove(0x7A)
            let notDigit = word.bytesBelow(0x2D) | word.bytesAbove(0x39)
            let slash = (word ^ 0x2F2F_2F2F_2F2F_2F2F).bytesBelow(1)
            let found = (notLetter & notDigit) | slash | (word & .topBits)
            if found != 0 { return i &+ found.firstFoundByte }
            i &+= 8
        }
        return i
    }

    /// The first index in `start..<end` with a byte that field values must not contain, or `end`.
    @inline(__always) func endOfFieldValue(from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= count)
        var i = start
        while end &- i >= 8 {
            let word = uncheckedWord(at: i)
            let deletes = word ^ 0x7F7F_7F7F_7F7F_7F7F
            let found = word.bytesBelow(0x20) | deletes.bytesBelow(1)
            guard found != 0 else {
                i &+= 8
                continue
            }
            i &+= found.firstFoundByte
            if uncheckedByte(at: i) != 0x09 { return i }
            i &+= 1
        }
        while i < end, self[i].isFieldValueByte { i &+= 1 }
        return i
    }
}

extension UInt64 {
    fileprivate static var topBits: UInt64 { 0x8080_8080_8080_8080 }

    /// Marks the bytes below `bound`, which is 0x80 at most.
    @inline(__always) fileprivate func bytesBelow(_ bound: UInt64) -> UInt64 {
        (self &- bound &* 0x0101_0101_0101_0101) & ~self & .topBits
    }

    /// Marks the bytes above `bound`, which is below 0x7F, among those below 0x80.
    @inline(__always) fileprivate func bytesAbove(_ bound: UInt64) -> UInt64 {
        (self &+ (0x7F &- bound) &* 0x0101_0101_0101_0101) & .topBits
    }

    @inline(__always) fileprivate var firstFoundByte: Int { trailingZeroBitCount &>> 3 }
}

extension UInt8 {
    @inline(__always) var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Whether a field value may contain the byte (RFC 9110 §5.5), including obs-text.
    @inline(__always) var isFieldValueByte: Bool {
        self >= 0x20 ? self != 0x7F : self == 0x09
    }
}
