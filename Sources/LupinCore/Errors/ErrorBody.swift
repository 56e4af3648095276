// The body of an error response from lupin, as text, JSON or HTML, by the client's Accept.

/// The body that a client gets for an error: what failed, what to try, and the command for details.
package enum ErrorBody {
    /// The form of a body.
    package enum Form: Sendable, CaseIterable {
        case text, json, html

        package var contentType: String {
            switch self {
            case .text: "text/plain; charset=utf-8"
            case .json: "application/json"
            case .html: "text/html; charset=utf-8"
            }
        }
    }

    /// Formats the body; secrets are redacted.
    package static func text(
        for error: LupinError,
        as form: Form,
        id: ExchangeID,
        redactor: Redactor
    ) -> String {
        let sentence = redactor.cleaned(error.sentence)
        let detail = redactor.cleaned(error.detail)
        if form == .json { return json(error, sentence: sentence, detail: detail, id: id) }
        let said = [sentence, detail].filter { !$0.isEmpty }.map { LogText.plain($0) }
        return form == .text ? text(error, said, id) : html(error, said, id)
    }

    private static func text(_ error: LupinError, _ said: [String], _ id: ExchangeID) -> String {
        said.joined(separator: "\n")
            + "\n\nlupin: \(error.kind.token); `lupin explain \(id.short)` tells more\n"
    }

    private static func html(_ error: LupinError, _ said: [String], _ id: ExchangeID) -> String {
        let paragraphs = said.map { "<p>\(HTMLPage.escaped($0))</p>" }.joined(separator: "\n")
        let body = """
            <h1>\(error.status): lupin could not deliver this page</h1>
            \(paragraphs)
            <p>Error type: <code>\(error.kind.token)</code>. For more, run
            <code>lupin explain \(id.short)</code>.</p>
            """
        return HTMLPage(title: "\(error.status) by lupin", body: body).text
    }

    private static func json(
        _ error: LupinError,
        sentence: String,
        detail: String,
        id: ExchangeID
    ) -> String {
        var line = JSONLine()
        line.openObject()
        // Many tools (npm) print `error` of a body as text.
        line.add("error", text: sentence)
        line.add("type", literal: error.kind.token)
        line.add("status", UInt64(error.status))
        line.add("side", literal: error.side.rawValue)
        if !detail.isEmpty { line.add("detail", text: detail) }
        line.add("id", literal: id.text)
        line.closeObject()
        line.endLine()
        return String(decoding: line.bytes, as: UTF8.self)
    }
}

// MARK: Content negotiation

extension ErrorBody.Form {
    /// Chooses the form that a request's Accept prefers (RFC 9110 §12.5.1).
    ///
    /// JSON or HTML is chosen only when it is named: with a higher weight than the others, or
    /// before them with the same weight.
    package init(acceptedBy fields: FieldSection) {
        var best = (form: ErrorBody.Form.text, weight: 0)
        fields.forEachMember(of: .accept) { member in
            let parts = String(copying: member).lowercased().split(separator: ";")
            let type = parts.first.map { Self.trimmed($0) } ?? ""
            let weight = parts.dropFirst().lazy.compactMap(Self.weight).first ?? 1000
            guard let form = Self.form(of: type), weight > best.weight else { return }
            best = (form, weight)
        }
        self = best.form
    }

    private static func form(of type: Substring) -> ErrorBody.Form? {
        switch type {
        case "application/json": .json
        case "text/html", "application/xhtml+xml": .html
        case _ where type.hasPrefix("text/"): .text
        case _ where type.hasPrefix("application/") && type.hasSuffix("+json"): .json
        default: nil
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// Returns the thousandths of `q=0.5`; nil for other parameters.
    private static func weight(_ parameter: Substring) -> Int? {
        let text = trimmed(parameter)
        guard text.hasPrefix("q="), let value = Double(text.dropFirst(2)), value >= 0, value <= 1
        else { return nil }
        // Bounded: from 0 to 1.
        return Int(value * 1000)
    }
}
