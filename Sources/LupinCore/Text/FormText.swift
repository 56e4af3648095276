// Form encoding, for bodies and for the ID and secret of an OAuth 2.0 client.

/// `application/x-www-form-urlencoded` (RFC 6749 Appendix B).
package enum FormText {
    package static let contentType = "application/x-www-form-urlencoded"

    /// Encodes names and values, joined with `=` and `&`.
    package static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Percent-encodes the UTF-8 of all but letters, digits and `*-._`; a space becomes `+`.
    package static func encode(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            let isLetter = byte.asciiLowercased &- 0x61 < 26
            if isLetter || byte.isASCIIDigit || plain.contains(byte) {
                result.append(byte)
            } else if byte == 0x20 {
                result.append(UInt8(ascii: "+"))
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let plain = Array("*-._".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)
}
