// Matches a secret in hexadecimal and base64, whatever surrounds it.

/// A form that reveals a secret: the secret itself, or an encoding of it.
///
/// Each character is computed on demand, so that a pattern takes no memory.
enum SecretPattern: Sendable {
    case plain
    case hex
    /// Base64 of a text with `offset` bytes, modulo 3, before the secret.
    case base64(offset: Int)
    /// Base64 of a base64 text; `isURL` selects the inner alphabet. The outer alphabet does not
    /// matter: encoding base64 text never produces the characters in which the alphabets differ.
    case base64Twice(inner: Int, isURL: Bool, outer: Int)

    static let base64 = (0..<3).map { SecretPattern.base64(offset: $0) }

    static let all: [SecretPattern] =
        [.plain, .hex] + base64
        + (0..<9).flatMap { offset in
            [false, true].map { isURL in
                .base64Twice(inner: offset / 3, isURL: isURL, outer: offset % 3)
            }
        }

    /// The number of certain characters for a secret of `count` bytes.
    func length(count: Int) -> Int {
        switch self {
        case .plain: count
        case .hex: count * 2
        case .base64(let offset): Sextets(offset: offset, count: count).certain.count
        case .base64Twice(let inner, _, let outer):
            Sextets(
                offset: outer,
                count: Sextets(offset: inner, count: count).certain.count
            ).certain.count
        }
    }

    /// Returns the certain character at `index`: hexadecimal in lower case, base64 by RFC 4648 §4.
    func character(at index: Int, of secret: Span<UInt8>) -> UInt8 {
        switch self {
        case .plain: return secret[index]
        case .hex:
            let byte = secret[index / 2]
            let digit = index.isMultiple(of: 2) ? byte >> 4 : byte & 15
            return digit < 10 ? digit + 0x30 : digit + 0x57
        case .base64(let offset):
            return Sextets(offset: offset, count: secret.count).character(at: index) { secret[$0] }
        case .base64Twice(let inner, let isURL, let outer):
            let first = Sextets(offset: inner, count: secret.count)
            let second = Sextets(offset: outer, count: first.certain.count)
            return second.character(at: index) { position in
                let character = first.character(at: position) { secret[$0] }
                return isURL ? character.inURLAlphabet : character
            }
        }
    }

    /// Whether `byte` of a text may stand for `character`.
    private func accepts(_ byte: UInt8, as character: UInt8) -> Bool {
        switch self {
        case .plain: byte == character
        case .hex: byte == character || byte | 0x20 == character
        case .base64, .base64Twice: byte == character || byte == character.inURLAlphabet
        }
    }

    /// Whether `text` has all certain characters at `start`; at its end, those of `missing` bytes
    /// may lack.
    func matches(
        _ secret: Span<UInt8>,
        in text: Span<UInt8>,
        at start: Int,
        missing: Int
    ) -> Bool {
        var length = length(count: secret.count)
        if start + length > text.count {
            guard missing > 0 else { return false }
            let least = self.length(count: secret.count - missing)
            length = text.count - start
            guard length >= least else { return false }
        }
        for i in 0..<length where !accepts(text[start + i], as: character(at: i, of: secret)) {
            return false
        }
        return true
    }

    /// Returns the words of the first four characters, the first lowest, in either alphabet or
    /// case; nil when there are fewer than four.
    func beginnings(of secret: Span<UInt8>) -> (UInt32, UInt32)? {
        guard length(count: secret.count) >= 4 else { return nil }
        var words: (UInt32, UInt32) = (0, 0)
        for i in 0..<4 {
            let (usual, other) = variants(at: i, of: secret)
            words = (words.0 >> 8 | UInt32(usual) << 24, words.1 >> 8 | UInt32(other) << 24)
        }
        return words
    }

    /// The two bytes that may stand for the character at `index`; often they are the same.
    func variants(at index: Int, of secret: Span<UInt8>) -> (usual: UInt8, other: UInt8) {
        let character = character(at: index, of: secret)
        let other =
            switch self {
            case .plain: character
            case .hex: character.asciiUppercased
            case .base64, .base64Twice: character.inURLAlphabet
            }
        return (character, other)
    }

    /// The number of characters before the certain ones that hold a part of the secret.
    var lead: Int {
        switch self {
        case .plain, .hex: 0
        case .base64(let offset): offset == 0 ? 0 : 1
        case .base64Twice(let inner, _, let outer): inner > 0 ? 2 : outer > 0 ? 1 : 0
        }
    }

    /// The number of characters behind the certain ones that hold a part of the secret.
    func tail(count: Int) -> Int {
        switch self {
        case .plain, .hex: 0
        case .base64(let offset): Sextets(offset: offset, count: count).tail
        case .base64Twice(let inner, _, let outer):
            Sextets(offset: inner, count: count).tail(inside: outer)
        }
    }

    var isBase64: Bool {
        switch self {
        case .plain, .hex: false
        case .base64, .base64Twice: true
        }
    }
}

/// The characters of a base64 text that depend only on a part of its bytes.
private struct Sextets {
    /// The number of bytes, modulo 3, before the part.
    let offset: Int
    /// The number of bytes of the part.
    let count: Int

    /// Their positions, counted from the group of four in which the part begins.
    ///
    /// One byte before the part affects two characters, two bytes affect three.
    var certain: Range<Int> {
        let start = offset == 0 ? 0 : offset + 1
        return start..<max(start, (offset + count) * 8 / 6)
    }

    /// Whether one more character holds the last bits, none or one.
    var tail: Int { (offset + count).isMultiple(of: 3) ? 0 : 1 }

    /// How many characters behind the certain ones of base64 of the base64 hold a part, with so
    /// many characters, modulo 3, before the inner certain ones.
    func tail(inside outer: Int) -> Int {
        let end = outer + certain.count
        // Rounded up: the last one holds other bits, too.
        return ((end + tail) * 8 + 5) / 6 - end * 8 / 6
    }

    func character(at index: Int, byte: (Int) -> UInt8) -> UInt8 {
        let bit = (certain.lowerBound + index) * 6
        let position = bit / 8 - offset
        let next = position + 1 < count ? byte(position + 1) : 0
        let bits = UInt16(byte(position)) << 8 | UInt16(next)
        return UInt8(truncatingIfNeeded: bits >> UInt16(10 - bit % 8) & 63).base64Character
    }
}

extension UInt8 {
    /// The character of RFC 4648 §4 for a value below 64.
    fileprivate var base64Character: UInt8 {
        switch self {
        case 0..<26: self + 0x41
        case 26..<52: self + 0x47
        case 52..<62: self - 4
        case 62: 0x2B
        default: 0x2F
        }
    }

    /// The character of RFC 4648 §5 that corresponds to one of §4.
    fileprivate var inURLAlphabet: UInt8 {
        switch self {
        case 0x2B: 0x2D
        case 0x2F: 0x5F
        default: self
        }
    }

    var asciiUppercased: UInt8 { self &- 0x61 < 26 ? self - 0x20 : self }

    /// Whether it is a character of either alphabet, or padding.
    var isBase64: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F, 0x2D, 0x5F, 0x3D: true
        default: false
        }
    }
}
