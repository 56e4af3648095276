// Bytes as hexadecimal digits, and bytes of URLs as `%XX`.

/// Digests, serial numbers and fingerprints as text.
package enum HexText {
    /// `0f3a…`.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        for byte in bytes { digits.append(hex: UInt64(byte), digits: 2) }
        return String(decoding: digits, as: UTF8.self)
    }

    /// `0F:3A:…`, as browsers and keytool have it.
    package static func colons(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { text([$0]).uppercased() }.joined(separator: ":")
    }
}

extension String {
    /// The text with `%XX` (RFC 3986 §2.1) for every byte that `keeps` does not hold for.
    package func percentEncoded(except keeps: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        for byte in utf8 {
            if keeps(byte) { encoded.append(byte) } else { encoded.append(escaping: byte) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
