// Parses an upstream's response head, determines its framing, and rejects invalid ones.
package import LupinCore

/// A response head with the properties of its connection and its body.
///
/// A class for the same reasons as ``ParsedRequest``.
package final class ParsedResponse {
    private var meaning = Meaning()
    // Unchecked, since an exclusivity check would run whenever a head is moved in or out.
    // Safety: nothing is called while the head is accessed, so accesses can't overlap.
    @exclusivity(unchecked) private var contents = ResponseHead()

    fileprivate init() {}

    /// A response from an HTTP version other than 1, or one that was changed.
    package init(_ head: consuming ResponseHead, framing: BodyFraming, contentLength: UInt64?) {
        meaning = Meaning(framing: framing, keepAlive: true, contentLength: contentLength)
        unsafe contents = head
    }

    package var framing: BodyFraming { meaning.framing }
    /// Whether the upstream keeps the connection alive after the body.
    package var keepAlive: Bool { meaning.keepAlive }
    /// The value of Content-Length, also without a body: for HEAD and 304 it is forwarded.
    package var contentLength: UInt64? { meaning.contentLength }
    /// Whether the body has a transfer coding that is kept; its framing is until close.
    package var hasForeignCoding: Bool { meaning.hasForeignCoding }
    /// What is wrong with it; a response with flaws is quarantined.
    package var flaws: ResponseFlaws { meaning.flaws }
    package var status: UInt16 { unsafe contents.status }
    /// Whether more responses to the same request follow.
    package var isInterim: Bool { status < 200 && status != 101 }

    /// The head; reading it copies it, `takeHead` does not.
    package var head: ResponseHead {
        get { unsafe contents }
        set { unsafe contents = newValue }
    }

    /// Moves the head out: the caller is its only owner and may change it without a copy.
    package func takeHead() -> ResponseHead {
        var taken = ResponseHead()
        unsafe swap(&taken, &contents)
        return taken
    }

    /// The combined meaning of the fields.
    private struct Meaning {
        var framing = BodyFraming.none
        var keepAlive = false
        var contentLength: UInt64?
        var hasForeignCoding = false
        var flaws = ResponseFlaws()
    }
}

/// Parses response heads of a connection, including interim ones, one after the other.
///
/// After a problem neither the parser nor the connection can be used.
package final class ResponseParser {
    // Unchecked, since an exclusivity check would run at every step of a head.
    // Safety: nothing that could reach the parser is called while its parts are accessed.
    @exclusivity(unchecked) private var scanner: HeadScanner
    @exclusivity(unchecked) private var parsed = ParsedResponse()
    private var isWhole = false
    // Stored, because a query of the scanner copies it.
    private var isUnderWay = false
    /// What was wrong with the interim heads before: it counts for the final one.
    private var interimFlaws = ResponseFlaws()
    private let isLenient: Bool

    package init(limits: HTTP1Limits) {
        unsafe scanner = HeadScanner(side: .response, limits: limits)
        isLenient = !limits.isStrict
    }

    /// Whether a complete head is ready for `take`.
    package var isComplete: Bool { isWhole }

    /// Whether any byte of a head has arrived.
    package var hasBegun: Bool { isWhole || isUnderWay }

    /// Parses up to the end of the head at most, and returns how many bytes were consumed.
    ///
    /// `requestMethod` is the method of the request; it decides whether there is a body.
    package func feed(
        _ bytes: Span<UInt8>,
        requestMethod: Method
    ) throws(MessageProblem) -> Int {
        guard !isWhole else { return 0 }
        let (taken, isRead) = unsafe try scanner.feed(bytes)
        isUnderWay = isUnderWay || taken > 0
        if isRead { try interpret(requestMethod) }
        return taken
    }

    /// Notes that nothing more comes.
    /// - Throws: What is wrong, where it is more than that the head has no end.
    package func connectionClosed() throws(MessageProblem) {
        // A response of HTTP/0.9, or of another protocol, has no line that ends.
        if unsafe scanner.isForeign { throw MessageProblem(.response, .malformedStatusLine) }
    }

    /// Returns the parsed head; the parser is then ready for the next one.
    ///
    /// Call it only when `isComplete` is true.
    package func take() -> ParsedResponse {
        precondition(isWhole, "a response head is taken only when it is complete")
        isWhole = false
        return unsafe parsed
    }

    /// Takes ownership of the memory of unused fields, for a later head.
    package func recycle(_ fields: consuming FieldSection) { unsafe scanner.recycle(fields) }

    private func interpret(_ method: Method) throws(MessageProblem) {
        // Reused unless another owner holds it: an allocation costs more than the check.
        // Safety: each access ends before the next begins, and nothing else is called in one.
        if unsafe !isKnownUniquelyReferenced(&parsed) { unsafe parsed = ParsedResponse() }
        let parsed = unsafe parsed
        let line = unsafe scanner.startLine
        var flaws = unsafe scanner.flaws
        flaws.formUnion(interimFlaws)
        var fields = unsafe scanner.takeFields()
        try parsed.interpret(line, &fields, method, flaws, isLenient: isLenient)
        interimFlaws = parsed.isInterim ? parsed.flaws : ResponseFlaws()
        isWhole = true
        isUnderWay = false
    }

    /// Whether RFC 9112 §6.3 excludes a body, whatever the fields are.
    package static func hasNoBody(status: UInt16, method: Method) -> Bool {
        switch status {
        case 100..<200, 204, 304: return true
        default: break
        }
        // Patterns, because `==` would compare the tokens of methods.
        switch method {
        case .head: return true
        case .connect: return 200..<300 ~= status
        default: return false
        }
    }
}

extension ParsedResponse {
    /// Interprets the parts of the head together, detects all problems, and moves the fields into
    /// it.
    fileprivate func interpret(
        _ line: HeadScanner.StartLine,
        _ fields: inout FieldSection,
        _ method: Method,
        _ flaws: ResponseFlaws,
        isLenient: Bool
    ) throws(MessageProblem) {
        var head = ResponseHead()
        try interpret(line, fields, method, flaws, isLenient: isLenient, into: &head)
        swap(&head.fields, &fields)
        // Safety: nothing is called during the swap.
        unsafe swap(&contents, &head)
    }

    /// Sets everything of the head but its fields, which the ranges in it refer to.
    private func interpret(
        _ line: HeadScanner.StartLine,
        _ fields: borrowing FieldSection,
        _ method: Method,
        _ flaws: ResponseFlaws,
        isLenient: Bool,
        into head: inout ResponseHead
    ) throws(MessageProblem) {
        var flaws = flaws
        let storage = fields.storage.span
        let start = StatusLine.begin(storage)
        let status = StatusLine.status(storage, at: start)
        let minor: UInt8 = storage[7] == 0x30 ? 0 : 1
        let notes = FramingFields(fields)
        var framing = BodyFraming.none
        var length: UInt64?
        if ResponseParser.hasNoBody(status: status, method: method) {
            let isHead = if case .head = method { true } else { false }
            let mayTellLength = status == 304 || (status >= 200 && isHead)
            if mayTellLength, status != 204, notes.codingLines == 0 {
                length = notes.responseLength(fields)
            }
        } else {
            framing = try notes.responseFraming(
                fields,
                minor: minor,
                &flaws,
                isLenient: isLenient
            )
            if case .length(let bytes) = framing { length = bytes }
        }
        let isUntilClose = if case .untilClose = framing { true } else { false }
        let persists = minor > 0 ? !notes.closes : notes.keepsAlive && !notes.closes
        meaning = Meaning(
            framing: framing,
            keepAlive: persists && !isUntilClose && flaws.isEmpty,
            contentLength: length,
            hasForeignCoding: isUntilClose && notes.codingLines > 0 && !flaws.contains(.identity)
                && !flaws.contains(.coding),
            flaws: flaws
        )
        head.status = status
        head.reason = StatusLine.reason(behind: start, lineEnd: line.end)
        head.version = minor == 0 ? .http10 : .http11
    }
}
