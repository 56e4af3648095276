// What a client is told about a response that lupin made: the Proxy-Status field and the body.

/// The `Proxy-Status` field (RFC 9209 §2) of a response that lupin makes.
package enum ProxyStatus {
    /// Bytes of `details`; the log has the rest.
    private static let detailBytesMax = 512

    /// `lupin; error=connection_refused; details="…"`, secrets redacted.
    package static func value(for error: LupinError, redactor: Redactor) -> String {
        let start = "lupin; error=\(error.kind.token)"
        let detail = redactor.cleaned(error.detail)
        return detail.isEmpty ? start : "\(start); details=\(string(detail))"
    }

    /// `text` as a String of structured fields (RFC 9651 §3.3.3): visible ASCII and space in
    /// quotation marks.
    ///
    /// What that can't hold becomes `?`.
    private static func string(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for byte in LogText.plain(text).utf8 {
            // Of a character of several bytes the first stands for all.
            if byte & 0xC0 == 0x80 { continue }
            if bytes.count >= detailBytesMax { break }
            if byte == 0x22 || byte == 0x5C { bytes.append(0x5C) }
            bytes.append(byte < 0x80 ? byte : 0x3F)
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}
