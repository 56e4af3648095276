// The heads of a captured exchange in few bytes: packed for each exchange, made JSON for a reader.

/// The heads of an exchange with their secrets masked.
///
/// Every exchange is written, and few are read: so JSON is made when a head is read.
///
/// A head is the number of its side plus one, then method and target, or the status, then its field
/// lines. A text is its length and its bytes; the length of a name is one more, so that 0 ends the
/// lines. Numbers have seven bits a byte, the lowest first.
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
            add(method.span, to: &cursor)
        } else {
            add(head.method.token.utf8Span.span, to: &cursor)
        }
        if isClean, head.form != .asterisk, !head.pathAndQuery.isEmpty {
            add(head.fields.storage.span.extracting(head.pathAndQuery.range), to: &cursor)
        } else {
            add(redactor.recordedPath(of: head).span, to: &cursor)
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
        add(number: Int(head.status), to: &cursor)
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
                add(name, more: 1, to: &cursor)
            } else {
                add(cleaned: name, redactor, more: 1, to: &cursor)
            }
            if redactor.hides(field: name, known: line.known) {
                add(redactor.mark(for: value).span, to: &cursor)
            } else if isClean {
                add(value, to: &cursor)
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
            add(shown.span, more: more, to: &cursor)
        } else {
            add(text, more: more, to: &cursor)
        }
    }

    @inline(__always)
    private static func add(_ text: Span<UInt8>, more: Int = 0, to cursor: inout TextCursor) {
        add(number: text.count + more, to: &cursor)
        cursor.append(text)
    }

    @inline(__always)
    private static func add(number: Int, to cursor: inout TextCursor) {
        var rest = number
        while rest >= 0x80 {
            cursor.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest &>>= 7
        }
        cursor.append(UInt8(truncatingIfNeeded: rest))
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

/// Reads numbers and texts that were packed.
package struct PackedReader: ~Copyable {
    private let bytes: [UInt8]
    private var place = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next number; nil at the end, and where it is none.
    package mutating func number() -> Int? {
        var number = 0
        // Bounded: nine bytes have 63 bits.
        for shift in stride(from: 0, to: 63, by: 7) {
            guard place < bytes.count else { return nil }
            let byte = bytes[place]
            place += 1
            number |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    /// Where the next text is, whose length was written with `less` more; nil for a shorter one,
    /// and where there is not so much.
    package mutating func text(less: Int = 0) -> Range<Int>? {
        guard let number = number(), number >= less, number - less <= bytes.count - place else {
            return nil
        }
        let start = place
        place += number - less
        return start..<place
    }
}
