// How constant and bounded text gets into a line at the cost of a few stores.

/// A piece of lupin's own text, such as `,"bytes":{"client_in":`.
///
/// As an array it is appended in 6 ns; a String literal takes 8 ns.
struct Fragment: Sendable {
    fileprivate let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }
}

// All of these need room for what they append.
extension OutputSpan<UInt8> {
    mutating func append(_ fragment: Fragment) { append(copying: fragment.bytes.span) }

    /// Appends a word from lupin's own source.
    mutating func append(literal: String) {
        let text = literal.utf8Span.span
        for i in text.indices { append(text[i]) }
    }

    /// Appends a copy of `bytes`.
    mutating func append(copying bytes: Span<UInt8>) {
        for i in bytes.indices { append(bytes[i]) }
    }

    /// Appends `value` in decimal: at most 20 bytes.
    mutating func append(decimal value: UInt64) {
        guard value < 10_000 else {
            append(decimal: value / 10_000)
            let rest = UInt32(truncatingIfNeeded: value % 10_000)
            append(twoDigits: rest / 100)
            append(twoDigits: rest % 100)
            return
        }
        let value = UInt32(truncatingIfNeeded: value)
        if value >= 100 {
            let hundreds = value / 100
            if hundreds >= 10 { append(twoDigits: hundreds) } else { append(digit: hundreds) }
            append(twoDigits: value % 100)
        } else if value >= 10 {
            append(twoDigits: value)
        } else {
            append(digit: value)
        }
    }

    /// Appends a number below 1000 as three digits.
    mutating func append(threeDigits value: UInt32) {
        append(digit: value / 100)
        append(twoDigits: value % 100)
    }

    @inline(__always)
    private mutating func append(twoDigits value: UInt32) {
        append(digit: value / 10)
        append(digit: value % 10)
    }

    @inline(__always)
    private mutating func append(digit value: UInt32) {
        append(0x30 &+ UInt8(truncatingIfNeeded: value))
    }

    /// Appends µs as ms with three decimals: at most 20 bytes; a negative duration counts as 0.
    mutating func append(milliseconds microseconds: Int64) {
        let (whole, rest) = UInt64(max(0, microseconds)).quotientAndRemainder(dividingBy: 1000)
        append(decimal: whole)
        append(0x2E)
        append(threeDigits: UInt32(truncatingIfNeeded: rest))
    }

    /// Appends `value` as 16 hex digits, lower case.
    mutating func append(hex value: UInt64) {
        append(word: hexDigits(UInt32(truncatingIfNeeded: value &>> 32)))
        append(word: hexDigits(UInt32(truncatingIfNeeded: value)))
    }

    /// Appends the bytes of `word`, the highest first.
    private mutating func append(word: UInt64) {
        var shift: UInt64 = 64
        while shift > 0 {
            shift &-= 8
            append(UInt8(truncatingIfNeeded: word &>> shift))
        }
    }

    /// Appends an IPv4 address: at most 15 bytes.
    mutating func append(quad value: UInt32) {
        append(decimal: UInt64(value &>> 24))
        append(0x2E)
        append(decimal: UInt64(value &>> 16 & 0xFF))
        append(0x2E)
        append(decimal: UInt64(value &>> 8 & 0xFF))
        append(0x2E)
        append(decimal: UInt64(value & 0xFF))
    }
}

/// The eight hex digits of `value`, one a byte, all at once: four bits to each byte, and 0x27 more
/// than for a digit where they make a letter.
private func hexDigits(_ value: UInt32) -> UInt64 {
    var word = UInt64(value)
    word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
    word = (word | word &<< 8) & 0x00FF_00FF_00FF_00FF
    word = (word | word &<< 4) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (word &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
    return word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
}
