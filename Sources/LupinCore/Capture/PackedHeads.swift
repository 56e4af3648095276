// The heads of a captured exchange in few bytes: packed for each exchange, made JSON for a reader.

/// The heads of an exchange with their secrets masked.
///
/// Every exchange is written, and few are read: so JSON is made when a head is read.
///
/// A head is the number of its side plus one, then method and target, or the status, then its field
/// lines. A text is its length and its bytes; the length of a name is one more, so that 0 ends the
/// lines.
package struct PackedHeads: Sendable {
    /// As the client sent it.
    package var request: RequestHead?
    /// As it went upstream; nil if nothing did.
    package var sent: RequestHead?
    /// As the origin sent it; nil if that is not known to differ.
    package var received: ResponseHead?
    /// As the client got it.
    package var response: ResponseHead?

    package init(
        request: RequestHead?,
        sent: RequestHead?,
        received: ResponseHead?,
        response: ResponseHead?
    ) {
        self.request = request
        self.sent = sent
        self.received = received
        self.response = response
    }

    /// The bytes to keep.
    package func bytes(_ redactor: Redactor) -> [UInt8] {
        var output: [UInt8] = []
        output.appendText(about: size) { cursor in
            if let request {
                Self.add(request, .request, redactor, skipsHopByHop: false, to: &cursor)
            }
            if let sent { Self.add(sent, .sent, redactor, skipsHopByHop: true, to: &cursor) }
            if let received { Self.add(received, .received, redactor, to: &cursor) }
            if let response { Self.add(response, .response, redactor, to: &cursor) }
        }
        return output
    }

    /// How many bytes they take, about: more only where marks are longer than what they hide.
    private var size: Int {
        Self.size(request?.fields) + Self.size(sent?.fields) + Self.size(received?.fields)
            + Self.size(response?.fields)
    }

    private static func size(_ fields: FieldSection?) -> Int {
        guard let fields else { return 0 }
        return 16 + fields.storage.count + fields.lines.count * 2
    }

    private static func add(
        _ head: RequestHead,
        _ side: CapturedSide,
        _ redactor: Redactor,
        skipsHopByHop: Bool,
        to cursor: inout TextCursor
    ) {
        let isClean = redactor.cleaned(head.fields.storage.span) == nil
        cursor.append(UInt8(side.rawValue + 1))
        if let method = isClean ? nil : redactor.cleaned(head.method.token.utf8Span.span) {
            cursor.append(packed: method.span)
        } else {
            cursor.append(packed: head.method.token.utf8Span.span)
        }
        if isClean, head.form != .asterisk, !head.pathAndQuery.isEmpty {
            cursor.append(packed: head.fields.storage.span.extracting(head.pathAndQuery.range))
        } else {
            cursor.append(packed: redactor.recordedPath(of: head).span)
        }
        add(head.fields, redactor, isClean, skipsHopByHop, to: &cursor)
    }

    private static func add(
        _ head: ResponseHead,
        _ side: CapturedSide,
        _ redactor: Redactor,
        to cursor: inout TextCursor
    ) {
        let isClean = redactor.cleaned(head.fields.storage.span) == nil
        cursor.append(UInt8(side.rawValue + 1))
        cursor.append(packed: Int(head.status))
        add(head.fields, redactor, isClean, true, to: &cursor)
    }

    /// Appends the lines; with `isClean`, no secret is anywhere among the bytes of all of them.
    private static func add(
        _ fields: FieldSection,
        _ redactor: Redactor,
        _ isClean: Bool,
        _ skipsHopByHop: Bool,
        to cursor: inout TextCursor
    ) {
        let storage = fields.storage.span
        for line in fields.lines where !(skipsHopByHop && line.isHopByHop) {
            let name = storage.extracting(line.name.range)
            let value = storage.extracting(line.value.range)
            if isClean {
                cursor.append(packed: name, more: 1)
            } else {
                add(cleaned: name, redactor, more: 1, to: &cursor)
            }
            if redactor.hides(field: name, known: line.known) {
                cursor.append(packed: redactor.mark(for: value).span)
            } else if isClean {
                cursor.append(packed: value)
            } else {
                add(cleaned: value, redactor, more: 0, to: &cursor)
            }
        }
        cursor.append(0 as UInt8)
    }

    private static func add(
        cleaned text: Span<UInt8>,
        _ redactor: Redactor,
        more: Int,
        to cursor: inout TextCursor
    ) {
        if let shown = redactor.cleaned(text) {
            cursor.append(packed: shown.span, more: more)
        } else {
            cursor.append(packed: text, more: more)
        }
    }
}

// MARK: JSON

extension PackedHeads {
    /// The members `request`, `sent`, `received` and `response` of an object, as far as they are
    /// there, in an object of their own.
    ///
    /// Bytes that are no heads end it early.
    package static func json(of packed: [UInt8]) -> [UInt8] {
        var reader = PackedReader(packed)
        var line = JSONLine(capacity: packed.count * 2)
        line.openObject()
        while let number = reader.number(), let side = CapturedSide(rawValue: number - 1) {
            line.openObject(side.word)
            switch side {
            case .request, .sent:
                guard let method = reader.text(), let target = reader.text() else { break }
                line.add("method", text: packed.span.extracting(method))
                line.add("target", text: packed.span.extracting(target))
            case .received, .response:
                guard let status = reader.number() else { break }
                line.add("status", UInt64(status))
            }
            line.openList("fields")
            while let name = reader.text(less: 1), let value = reader.text() {
                line.comma()
                line.bytes.append(0x5B)
                line.element(packed.span.extracting(name))
                line.element(packed.span.extracting(value))
                line.closeList()
            }
            line.closeList()
            line.closeObject()
        }
        line.closeObject()
        return line.bytes
    }
}
