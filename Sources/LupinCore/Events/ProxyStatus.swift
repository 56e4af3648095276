// The Proxy-Status field of a response that lupin sends.

/// The `Proxy-Status` field (RFC 9209 §2) of a response that lupin makes.
package enum ProxyStatus {
    /// The maximum number of bytes of `details`; the log has the rest.
    private static let detailBytesMax = 512

    /// Returns `lupin; error=connection_refused; details="…"`, with secrets redacted.
    package static func value(for error: LupinError, redactor: Redactor) -> String {
        let start = "lupin; error=\(error.kind.registeredToken)"
        let detail = redactor.cleaned(error.detail)
        return detail.isEmpty ? start : "\(start); details=\(string(detail))"
    }

    /// Formats `text` as a String of structured fields (RFC 9651 §3.3.3): visible ASCII and space
    /// in quotation marks.
    ///
    /// Other characters become `?`.
    private static func string(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for byte in LogText.plain(text).utf8 {
            // The first byte of a multi-byte character stands for the whole character.
            if byte & 0xC0 == 0x80 { continue }
            if bytes.count >= detailBytesMax { break }
            if byte == 0x22 || byte == 0x5C { bytes.append(0x5C) }
            bytes.append(byte < 0x80 ? byte : 0x3F)
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}
