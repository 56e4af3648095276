// The heads of an exchange as JSON: what both sides sent, and what they got.
import LupinCore

/// The heads of an exchange, before they are redacted.
struct ExchangeHeads: Sendable {
    /// As the client sent it.
    var request: RequestHead?
    /// As it went upstream; nil if nothing did.
    var sent: RequestHead?
    /// As the origin sent it; nil if that is not known to differ.
    var received: ResponseHead?
    /// As the client got it.
    var response: ResponseHead?

    /// How many bytes `add` appends, about.
    var size: Int {
        let fields = [request?.fields, sent?.fields, received?.fields, response?.fields]
        return fields.reduce(256) { sum, fields in
            guard let fields else { return sum }
            return sum + 64 + fields.storage.count + fields.lines.count * 8
        }
    }

    /// Appends a member for each of them.
    func add(to line: inout JSONLine, _ redactor: Redactor) {
        if let request {
            line.openObject("request")
            line.add(request, redactor, skipsHopByHop: false)
            line.closeObject()
        }
        if let sent {
            line.openObject("sent")
            line.add(sent, redactor, skipsHopByHop: true)
            line.closeObject()
        }
        if let received { line.add("received", received, redactor) }
        if let response { line.add("response", response, redactor) }
    }
}

extension JSONLine {
    fileprivate mutating func add(
        _ name: String,
        _ head: ResponseHead,
        _ redactor: Redactor
    ) {
        openObject(name)
        add("status", UInt64(head.status))
        add(fieldsOf: head.fields, redactor, skipsHopByHop: true)
        closeObject()
    }

    fileprivate mutating func add(
        _ head: RequestHead,
        _ redactor: Redactor,
        skipsHopByHop: Bool
    ) {
        add("method", text: redactor.cleaned(head.method.token))
        add("target", text: redactor.recordedPath(of: head).span)
        add(fieldsOf: head.fields, redactor, skipsHopByHop: skipsHopByHop)
    }

    /// Appends `"fields":[["host","a.example"],…]`, in their order.
    mutating func add(
        fieldsOf fields: FieldSection,
        _ redactor: Redactor,
        skipsHopByHop: Bool
    ) {
        openList("fields")
        // What is nowhere among the bytes of all lines is in none of them.
        let isClean = redactor.cleaned(fields.storage.span) == nil
        for field in fields.lines where !(skipsHopByHop && field.isHopByHop) {
            let name = fields.storage.span.extracting(field.name.range)
            let value = fields.storage.span.extracting(field.value.range)
            comma()
            bytes.append(0x5B)
            if isClean { element(name) } else { add(cleaned: name, redactor) }
            if redactor.hides(field: name, known: field.known) {
                let mark = redactor.mark(for: value)
                element(mark.span)
            } else if isClean {
                element(value)
            } else {
                add(cleaned: value, redactor)
            }
            closeList()
        }
        closeList()
    }

    private mutating func add(cleaned text: Span<UInt8>, _ redactor: Redactor) {
        if let shown = redactor.cleaned(text) { element(shown.span) } else { element(text) }
    }
}
