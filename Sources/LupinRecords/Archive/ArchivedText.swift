// The bytes of a text in an HTTP Archive: in the character set that its type names.

import LupinCore

/// A text of an archive, and the character set in which it came over the wire.
enum ArchivedText {
    /// The bytes of `text`; nil where the character set of the Content-Type `type` lacks some.
    static func bytes(_ text: String, of type: String?) -> [UInt8]? {
        guard let charset = type.flatMap(charset) else { return Array(text.utf8) }
        if windows1252.contains(charset) { return singleBytes(text) }
        // Nearly all of them write ASCII as it is.
        let isPlain = text.utf8.allSatisfy { $0 < 0x80 } && !charset.hasPrefix("utf-")
        return isPlain ? Array(text.utf8) : nil
    }

    /// The character set that a Content-Type names, in lower case; nil for none, and for UTF-8.
    static func charset(of type: String) -> String? {
        let named = MediaRange(type)?.parameters.first { $0.name == "charset" }?.value
        return named == "utf-8" || named == "utf8" ? nil : named
    }

    /// The same Content-Type with UTF-8 as its character set.
    static func inUTF8(_ type: String) -> String {
        let parts = type.split(separator: ";", omittingEmptySubsequences: false).map { part in
            let isCharset = part.lowercased().filter { $0 != " " }.hasPrefix("charset=")
            return isCharset ? " charset=utf-8" : String(part)
        }
        return parts.joined(separator: ";")
    }

    // MARK: One byte a character

    /// The labels that browsers read as windows-1252 (Encoding Standard §4.2).
    private static let windows1252: Set<String> = [
        "ansi_x3.4-1968", "ascii", "cp1252", "cp819", "ibm819", "iso-8859-1", "iso-ir-100",
        "iso8859-1", "iso88591", "iso_8859-1", "l1", "latin1", "us-ascii", "windows-1252",
        "x-cp1252",
    ]

    /// The bytes of a text that was read as windows-1252, or as ISO-8859-1; nil for any other text.
    private static func singleBytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if let byte = UInt8(exactly: scalar.value) {
                bytes.append(byte)
            } else if let byte = inWindows1252[scalar.value] {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return bytes
    }

    /// The characters that windows-1252 has in the place of the controls from 0x80 on.
    private static let inWindows1252: [UInt32: UInt8] = [
        0x20AC: 0x80, 0x201A: 0x82, 0x0192: 0x83, 0x201E: 0x84, 0x2026: 0x85, 0x2020: 0x86,
        0x2021: 0x87, 0x02C6: 0x88, 0x2030: 0x89, 0x0160: 0x8A, 0x2039: 0x8B, 0x0152: 0x8C,
        0x017D: 0x8E, 0x2018: 0x91, 0x2019: 0x92, 0x201C: 0x93, 0x201D: 0x94, 0x2022: 0x95,
        0x2013: 0x96, 0x2014: 0x97, 0x02DC: 0x98, 0x2122: 0x99, 0x0161: 0x9A, 0x203A: 0x9B,
        0x0153: 0x9C, 0x017E: 0x9E, 0x0178: 0x9F,
    ]
}
