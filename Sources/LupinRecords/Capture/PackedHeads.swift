// The heads of a captured exchange in few bytes: packed for each exchange, made JSON for a reader.

package import LupinCore

/// The heads of an exchange with their secrets masked.
///
/// Every exchange is written, and few are read: so JSON is made when a head is read.
///
/// A head is the number of its side plus one, then method and target, or the status, then its field
/// lines. A text is its length and its bytes; the length of a name is one more, so that 0 ends the
/// lines.
///
/// Most heads go on as they came, without the fields of the connection. Then the head is stored as
/// a difference: the number of its side plus five, then the numbers, from 1, of the lines of the
/// head before it that it lacks, then 0.
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
        Self.bytes(
            request: request,
            sent: sent,
            received: received,
            response: response,
            redactor
        )
    }

    /// The bytes to keep of these heads, which are not copied for it.
    package static func bytes(
        request: RequestHead?,
        sent: RequestHead?,
        received: ResponseHead?,
        response: ResponseHead?,
        _ redactor: Redactor
    ) -> [UInt8] {
        // More only where marks are longer than what they hide.
        let size =
            size(request?.fields) + size(sent?.fields) + size(received?.fields)
            + size(response?.fields)
        var output: [UInt8] = []
        output.appendText(about: size) { cursor in
            if let request {
                add(request, .request, redactor, skipsHopByHop: false, to: &cursor)
            }
            if let sent {
                if let request, sent.isAlike(request) {
                    add(rest: sent.fields, .sent, to: &cursor)
                } else {
                    add(sent, .sent, redactor, skipsHopByHop: true, to: &cursor)
                }
            }
            if let received { add(received, .received, redactor, to: &cursor) }
            if let response {
                if let received, response.isAlike(received), received.fields.isAllForwarded {
                    add(rest: response.fields, .response, to: &cursor)
                } else {
                    Self.add(response, .response, redactor, to: &cursor)
                }
            }
        }
        return output
    }

    /// Appends what a head lacks of the one before.
    private static func add(
        rest fields: FieldSection,
        _ side: CapturedSide,
        to cursor: inout TextCursor
    ) {
        cursor.append(UInt8(side.rawValue + 1 + CapturedSide.count))
        for i in fields.lines.indices where fields.lines[i].isHopByHop {
            cursor.append(packed: i + 1)
        }
        cursor.append(0 as UInt8)
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
            if redactor.hides(field: name, value, known: line.known) {
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

extension RequestHead {
    /// Whether it has the method, the target and the lines of another head, from the same bytes.
    fileprivate func isAlike(_ other: RequestHead) -> Bool {
        method == other.method && form == other.form && pathAndQuery == other.pathAndQuery
            && fields.isAlike(other.fields)
    }
}

extension ResponseHead {
    /// Whether it has the status and the lines of another head, from the same bytes.
    fileprivate func isAlike(_ other: ResponseHead) -> Bool {
        status == other.status && fields.isAlike(other.fields)
    }
}

extension FieldSection {
    fileprivate func isAlike(_ other: FieldSection) -> Bool {
        guard lines.count == other.lines.count, storage.span.isSame(as: other.storage.span) else {
            return false
        }
        for i in lines.indices {
            guard lines[i].name == other.lines[i].name, lines[i].value == other.lines[i].value
            else { return false }
        }
        return true
    }

    /// Whether no line belongs to the connection.
    fileprivate var isAllForwarded: Bool {
        for line in lines where line.isHopByHop { return false }
        return true
    }
}

// MARK: JSON

extension PackedHeads {
    /// A head that was read: where its texts are.
    private struct Read {
        var side: CapturedSide
        /// Method and target; fewer where the bytes end.
        var texts: [Range<Int>] = []
        var status: Int?
        var fields: [(name: Range<Int>, value: Range<Int>)] = []

        /// The next head; nil where the bytes are none.
        init?(_ reader: inout PackedReader, after last: Read?) {
            guard let number = reader.number(), number > 0,
                let side = CapturedSide(rawValue: (number - 1) % CapturedSide.count)
            else { return nil }
            guard number <= CapturedSide.count else {
                guard number <= 2 * CapturedSide.count, let last,
                    last.side.isRequest == side.isRequest
                else { return nil }
                self = last
                self.side = side
                leaveOut(&reader)
                return
            }
            self.side = side
            if side.isRequest {
                while texts.count < 2, let text = reader.text() { texts.append(text) }
                guard texts.count == 2 else { return }
            } else {
                status = reader.number()
                guard status != nil else { return }
            }
            while let name = reader.text(less: 1), let value = reader.text() {
                fields.append((name, value))
            }
        }

        /// Reads which lines are not in this head.
        private mutating func leaveOut(_ reader: inout PackedReader) {
            var left = 0
            while let line = reader.number(), line > left, line - left <= fields.count {
                fields.remove(at: line - left - 1)
                left += 1
            }
        }
    }

    /// The members `request`, `sent`, `received` and `response` of an object, as far as they are
    /// there, in an object of their own.
    ///
    /// Bytes that are no heads end it early.
    package static func json(of packed: [UInt8]) -> [UInt8] {
        var reader = PackedReader(packed)
        var line = JSONLine(capacity: packed.count * 2)
        line.openObject()
        var last: Read?
        while let head = Read(&reader, after: last) {
            line.openObject(head.side.word)
            for (text, key) in zip(head.texts, ["method", "target"]) {
                line.add(key, text: packed.span.extracting(text))
            }
            if let status = head.status { line.add("status", UInt64(status)) }
            line.openList("fields")
            for (name, value) in head.fields {
                line.comma()
                line.bytes.append(0x5B)
                line.element(packed.span.extracting(name))
                line.element(packed.span.extracting(value))
                line.closeList()
            }
            line.closeList()
            line.closeObject()
            last = head
        }
        line.closeObject()
        return line.bytes
    }
}
