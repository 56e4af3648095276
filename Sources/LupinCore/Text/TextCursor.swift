// Appends constant and bounded text to a line at the cost of a few stores.

/// The position in zeroed memory where the next byte of a line goes.
///
/// Pieces are stored in blocks of fixed size, whatever their length. The next piece overwrites the
/// surplus of a block, and the end cuts it off. So short pieces need no loop.
///
/// At the end of the memory nothing more is stored and ``isFull`` is set: the caller must start the
/// text again with more memory.
@usableFromInline package struct TextCursor: ~Copyable, ~Escapable {
    /// The number of bytes after the longest text, for the block of its last piece.
    @inlinable static var slack: Int { Fragment.blockBytes }

    @usableFromInline var memory: MutableRawSpan
    @usableFromInline var count = 0
    /// Whether something was omitted because there was no room for it.
    @usableFromInline var isFull = false

    @inlinable @_lifetime(copy memory)
    init(_ memory: consuming MutableRawSpan) { self.memory = memory }

    @inlinable package mutating func append(_ byte: UInt8) { store(byte, kept: 1) }

    @inlinable @inline(__always) package mutating func append(_ fragment: Fragment) {
        store(fragment.block, kept: fragment.count)
    }

    /// Appends any number of bytes.
    @inlinable package mutating func append(_ bytes: Span<UInt8>) {
        guard bytes.count <= memory.byteCount &- Self.slack &- count else {
            isFull = true
            return
        }
        guard bytes.count >= 8 else {
            var word: UInt64 = 0
            var shift: UInt64 = 0
            for i in bytes.indices {
                word |= UInt64(bytes[i]) &<< shift
                shift &+= 8
            }
            return store(word.littleEndian, kept: bytes.count)
        }
        memory.store(copyOf: bytes, at: count)
        count &+= bytes.count
    }

    @inlinable package mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

    /// Appends `bytes` within a JSON string: escaped, and truncated when too long.
    package mutating func append(json bytes: Span<UInt8>) {
        if LogText.isPlain(bytes) { return append(bytes) }
        var escaped: [UInt8] = []
        LogText.append(bytes, as: .json, to: &escaped)
        append(escaped.span)
    }

    /// Appends a word from lupin's own source.
    @inlinable package mutating func append(literal: String) { append(literal.utf8Span.span) }

    /// Replaces the last byte.
    package mutating func replaceLast(with byte: UInt8) {
        guard count > 0 else { return }
        count &-= 1
        append(byte)
    }

    /// Closes `objects` objects, at most eight.
    @inlinable @inline(__always) package mutating func close(_ objects: Int) {
        store(0x7D7D_7D7D_7D7D_7D7D as UInt64, kept: objects)
    }

    /// Appends the first `kept` bytes of `word`, the lowest first.
    @inlinable @inline(__always) mutating func append(word: UInt64, kept: Int) {
        store(word.littleEndian, kept: kept)
    }

    @inlinable @inline(__always) mutating func store<Block: BitwiseCopyable>(
        _ block: Block,
        kept: Int
    ) {
        guard hasRoom else {
            isFull = true
            return
        }
        memory.storeBytes(of: block, toByteOffset: count, as: Block.self)
        count &+= kept
    }

    /// Whether the longest block fits.
    ///
    /// Written as `storeBytes` writes its own check, so that the compiler drops the latter.
    @inlinable @inline(__always) var hasRoom: Bool {
        UInt(bitPattern: count) <= UInt(bitPattern: memory.byteCount)
            && Self.slack <= memory.byteCount &- count
    }
}

// MARK: Numbers

extension TextCursor {
    /// Appends `value` in decimal: at most 20 bytes.
    @inlinable package mutating func append(decimal value: UInt64) {
        if value < 10_000 { return append(short: value) }
        append(long: value)
    }

    /// Apart from short numbers, which need fewer registers.
    @usableFromInline @inline(never) mutating func append(long value: UInt64) {
        guard value < 100_000_000 else {
            append(decimal: value / 100_000_000)
            let rest = UInt32(truncatingIfNeeded: value % 100_000_000)
            append(word: decimalDigits(rest) | asciiZeros, kept: 8)
            return
        }
        let digits = decimalDigits(UInt32(truncatingIfNeeded: value))
        // The first digit is in the lowest byte; a number of only zeros keeps one.
        let zeros = min(digits.trailingZeroBitCount &>> 3, 7)
        append(word: (digits | asciiZeros) &>> UInt64(zeros &* 8), kept: 8 &- zeros)
    }

    /// Appends a number below 10,000.
    @inlinable @inline(__always) mutating func append(short value: UInt64) {
        let digits = fourDigits(value)
        let zeros = min(digits.trailingZeroBitCount &>> 3, 3)
        append(word: (digits | asciiZeros) &>> UInt64(zeros &* 8), kept: 4 &- zeros)
    }

    /// Appends µs as ms with three decimals: at most 20 bytes; a negative duration counts as 0.
    @inlinable package mutating func append(milliseconds microseconds: Int64) {
        let (whole, rest) = UInt64(max(0, microseconds)).quotientAndRemainder(dividingBy: 1000)
        // The first of four digits gives way to the point.
        let decimals = (fourDigits(rest) | asciiZeros) & 0xFFFF_FF00 | 0x2E
        // Most phases take less than 10 ms.
        if whole < 10 { return append(word: 0x30 | whole | decimals &<< 8, kept: 5) }
        append(decimal: whole)
        append(word: decimals, kept: 4)
    }

    /// Appends a number below 1,000,000 as six digits.
    mutating func append(sixDigits value: UInt32) {
        append(word: (decimalDigits(value) | asciiZeros) &>> 16, kept: 6)
    }

    /// Appends `value` as 16 hex digits, lower case.
    @inlinable package mutating func append(hex value: UInt64) {
        append(word: hexDigits(UInt32(truncatingIfNeeded: value &>> 32)).byteSwapped, kept: 8)
        append(word: hexDigits(UInt32(truncatingIfNeeded: value)).byteSwapped, kept: 8)
    }

    /// Appends an IPv4 address: at most 15 bytes.
    @inlinable package mutating func append(quad value: UInt32) {
        append(octet: value &>> 24, isLast: false)
        append(octet: value &>> 16, isLast: false)
        append(octet: value &>> 8, isLast: false)
        append(octet: value, isLast: true)
    }

    /// Appends the lowest eight bits in decimal, and a dot behind all but the last of an address.
    @inlinable @inline(__always) mutating func append(octet value: UInt32, isLast: Bool) {
        let digits = fourDigits(UInt64(value & 0xFF))
        let zeros = min(digits.trailingZeroBitCount &>> 3, 3)
        // The dot is in the byte behind the four digits.
        let text = (digits | 0x2E_3030_3030) &>> UInt64(zeros &* 8)
        append(word: text, kept: (isLast ? 4 : 5) &- zeros)
    }
}

@inlinable var asciiZeros: UInt64 { 0x3030_3030_3030_3030 }

/// Returns the eight decimal digits of a number below 100,000,000, one per byte, the first lowest.
///
/// All halves are split at once. The multiplications divide by 100 and by 10, exactly for numbers
/// this small.
private func decimalDigits(_ value: UInt32) -> UInt64 {
    let fours = UInt64(value / 10_000) | UInt64(value % 10_000) &<< 32
    let hundreds = (fours &* 10_486) &>> 20 & 0x0000_007F_0000_007F
    let twos = hundreds | (fours &- hundreds &* 100) &<< 16
    let tens = (twos &* 103) &>> 10 & 0x000F_000F_000F_000F
    return tens | (twos &- tens &* 10) &<< 8
}

/// Returns the four decimal digits of a number below 10,000, one per byte, the first lowest.
@inlinable @inline(__always) func fourDigits(_ value: UInt64) -> UInt64 {
    let hundreds = (value &* 10_486) &>> 20
    let twos = hundreds | (value &- hundreds &* 100) &<< 16
    let tens = (twos &* 103) &>> 10 & 0x000F_000F
    return tens | (twos &- tens &* 10) &<< 8
}

/// Returns the eight hex digits of `value`, one per byte, all at once: four bits to each byte, plus
/// 0x27 for letters.
@inlinable func hexDigits(_ value: UInt32) -> UInt64 {
    var word = UInt64(value)
    word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
    word = (word | word &<< 8) & 0x00FF_00FF_00FF_00FF
    word = (word | word &<< 4) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (word &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
    return word &+ asciiZeros &+ letters &* 0x27
}

// MARK: Where it goes

/// A piece of lupin's own text of at most 64 bytes, such as `,"bytes":{"client_in":`.
///
/// The bytes are in the value itself: no retain, and a copy takes four stores.
@usableFromInline package struct Fragment: Sendable {
    @usableFromInline typealias Block = SIMD64<UInt8>
    @inlinable static var blockBytes: Int { 64 }

    @usableFromInline let block: Block
    @usableFromInline let count: Int

    /// Creates a fragment of lupin's own text, which must not be longer than a block.
    package init(_ text: String) {
        guard let fragment = Fragment(Array(text.utf8)) else {
            preconditionFailure("a fragment is a block at most")
        }
        self = fragment
    }

    /// Returns nil for more bytes than a block.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Fragment.blockBytes else { return nil }
        var block = Block()
        for i in bytes.indices { block[i] = bytes[i] }
        self.block = block
        count = bytes.count
    }
}

extension Array where Element == UInt8 {
    /// Appends text of at most `limit` bytes, with a single check of the array for all its parts.
    @inlinable @inline(__always)
    package mutating func appendText(atMost limit: Int, _ body: (inout TextCursor) -> Void) {
        _ = write(into: limit, body)
    }

    /// Appends text that is probably no longer than `guess`; when it is, `body` is called again
    /// with more room.
    @inlinable @inline(__always)
    package mutating func appendText(about guess: Int, _ body: (inout TextCursor) -> Void) {
        var room = guess
        while !write(into: room, body) { room *= 4 }
    }

    /// Returns false, and appends nothing, when the text is longer than `room`.
    @inlinable @inline(__always)
    mutating func write(into room: Int, _ body: (inout TextCursor) -> Void) -> Bool {
        var isWritten = false
        append(addingCapacity: room &+ TextCursor.slack) { output in
            output.append(repeating: 0, count: room &+ TextCursor.slack)
            var span = output.mutableSpan
            // Not `mutableBytes`, which counts as unsafe because it serves other element types too.
            var cursor = TextCursor(MutableRawSpan(_elements: &span))
            body(&cursor)
            isWritten = !cursor.isFull
            let surplus = room + TextCursor.slack - (isWritten ? cursor.count : 0)
            output.removeLast(surplus)
        }
        return isWritten
    }
}
