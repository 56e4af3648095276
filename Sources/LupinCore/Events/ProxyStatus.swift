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

/// The body of a response that lupin makes for an error.
package enum ErrorBody {
    /// The media type of `text(for:acceptsJSON:id:redactor:)`.
    package static func contentType(acceptsJSON: Bool) -> String {
        acceptsJSON ? "application/json" : "text/plain; charset=utf-8"
    }

    /// What failed, what to try, and the id under which the log has more.
    package static func text(
        for error: LupinError,
        acceptsJSON: Bool,
        id: ExchangeID,
        redactor: Redactor
    ) -> String {
        let sentence = redactor.cleaned(error.sentence)
        let detail = redactor.cleaned(error.detail)
        if acceptsJSON { return json(error, sentence: sentence, detail: detail, id: id) }
        var lines = [LogText.plain(sentence)]
        if !detail.isEmpty { lines.append(LogText.plain(detail)) }
        lines.append("")
        lines.append("lupin: \(error.kind.token), exchange \(id.text)")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Whether the client would rather have JSON than text (RFC 9110 §12.5.1): it names a JSON
    /// type, and no text type that weighs more or, weighing the same, comes before it.
    package static func prefersJSON(_ fields: FieldSection) -> Bool {
        var json = 0
        var text = 0
        fields.forEachMember(of: .accept) { member in
            let parts = String(copying: member).lowercased().split(separator: ";")
            let type = parts.first.map { trimmed($0) } ?? ""
            let weight = parts.dropFirst().lazy.compactMap(weight).first ?? 1000
            if type == "application/json" || (type.hasPrefix("application/") && isJSON(type)) {
                // At equal weight the earlier one wins: text that came first keeps its lead.
                if weight > text { json = max(json, weight) }
            } else if type.hasPrefix("text/") {
                if weight > json { text = max(text, weight) }
            }
        }
        return json > text
    }

    private static func isJSON(_ type: Substring) -> Bool { type.hasSuffix("+json") }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// The thousandths of `q=0.5`; nil for other parameters.
    private static func weight(_ parameter: Substring) -> Int? {
        let text = trimmed(parameter)
        guard text.hasPrefix("q="), let value = Double(text.dropFirst(2)), value >= 0, value <= 1
        else { return nil }
        // Bounded: from 0 to 1.
        return Int(value * 1000)
    }

    private static func json(
        _ error: LupinError,
        sentence: String,
        detail: String,
        id: ExchangeID
    ) -> String {
        var line = JSONLine()
        line.openObject()
        line.openObject("error")
        line.add("type", literal: error.kind.token)
        line.add("status", UInt64(error.status))
        line.add("side", literal: error.side.rawValue)
        line.add("message", text: sentence)
        if !detail.isEmpty { line.add("detail", text: detail) }
        line.closeObject()
        line.add("id", literal: id.text)
        line.closeObject()
        line.endLine()
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
