// The Proxy-Status field of a response that lupin sends.

/// The `Proxy-Status` field (RFC 9209 §2) of a response that lupin makes.
package enum ProxyStatus {
    /// The maximum number of bytes of `details`; the log has the rest.
    private static let detailBytesMax = 512

    /// Returns `lupin; error=connection_refused; details="…"`, with secrets redacted.
    package static func value(for error: LupinError, redactor: Redactor) -> String {
        var start = "lupin; error=\(error.kind.registeredToken)"
        if let parent = error.parent { start += "; next-hop=\(string(parent.endpoint))" }
        if let status = error.parent?.status { start += "; received-status=\(status)" }
        let detail = redactor.cleaned(error.detail)
        return detail.isEmpty ? start : "\(start); details=\(string(detail))"
    }

    /// Formats `text` as a String of structured fields (RFC 9651 §3.3.3): visible ASCII and space
    /// in quotation marks.
    ///
    /// Quotation marks of texts become apostrophes, other characters `?`.
    private static func string(_ text: String) -> String {
        var bytes: [UInt8] = [0x22]
        for scalar in LogText.plain(text).unicodeScalars {
            if bytes.count >= detailBytesMax { break }
            switch scalar {
            case "\u{22}", "\\": bytes += [0x5C, UInt8(ascii: scalar)]
            case "“", "”", "‘", "’": bytes.append(0x27)
            default: bytes.append(scalar.isASCII ? UInt8(ascii: scalar) : 0x3F)
            }
        }
        bytes.append(0x22)
        return String(decoding: bytes, as: UTF8.self)
    }
}
