// Encodes bytes as base64 text, and decodes it (RFC 4648 §4).

/// Base64 with padding.
package enum Base64Text {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let number = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for i in 0..<4 {
                text.append(i <= group.count ? alphabet[number >> (18 - 6 * i) & 63] : 0x3D)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes `text`, which must have all of its padding; nil when it is not base64.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.suffix(2).filter { $0 == UInt8(ascii: "=") }.count
        return decode(digits: text.dropLast(padding))
    }

    /// Decodes the part before the padding.
    package static func decode(digits: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for character in digits {
            guard let value = value(of: character) else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character - 0x41)
        case 0x61...0x7A: UInt32(character - 0x61) + 26
        case 0x30...0x39: UInt32(character - 0x30) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
