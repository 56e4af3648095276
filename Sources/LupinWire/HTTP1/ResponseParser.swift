// An upstream's response head: when it is complete, how its body ends, and why it is refused.
package import LupinCore

/// A response head with what the wire said about its connection and its body.
///
/// A class for the reasons that ``ParsedRequest`` names.
package final class ParsedResponse {
    private var meaning = Meaning()
    // Unchecked, because moving a head in or out would look for others who do the same just then.
    // Safety: nothing is called while the head is accessed, so no access can meet another.
    @exclusivity(unchecked) private var contents = ResponseHead()

    fileprivate init() {}

    /// A response that came in another version of HTTP than 1.
    init(_ head: consuming ResponseHead, framing: BodyFraming, contentLength: UInt64?) {
        meaning = Meaning(framing: framing, keepAlive: true, contentLength: contentLength)
        unsafe contents = head
    }

    package var framing: BodyFraming { meaning.framing }
    /// Whether the upstream lets the connection live on once the body is read.
    package var keepAlive: Bool { meaning.keepAlive }
    /// What Content-Length says, also where no body follows: what HEAD and 304 send on.
    package var contentLength: UInt64? { meaning.contentLength }
    /// The body carries a transfer coding that stays on it; framing is until close.
    package var hasForeignCoding: Bool { meaning.hasForeignCoding }
    package var status: UInt16 { unsafe contents.status }
    /// Whether more responses to the same request follow.
    package var isInterim: Bool { status < 200 && status != 101 }

    /// The head; reading it makes a copy, which `takeHead` does not.
    package var head: ResponseHead {
        get { unsafe contents }
        set { unsafe contents = newValue }
    }

    /// Moves the head out: whoever has it is its only owner and may change it without a copy.
    package func takeHead() -> ResponseHead {
        var taken = ResponseHead()
        unsafe swap(&taken, &contents)
        return taken
    }

    /// What the fields say together.
    private struct Meaning {
        var framing = BodyFraming.none
        var keepAlive = false
        var contentLength: UInt64?
        var hasForeignCoding = false
    }
}

/// Reads response heads, interim ones included, off a connection, one after the other.
///
/// After a problem the parser is spent, and so is the connection.
package final class ResponseParser {
    // Unchecked, because every step of a head would look for others who feed the parser just then.
    // Safety: nothing that could reach the parser is called while its parts are accessed.
    @exclusivity(unchecked) private var scanner: HeadScanner
    @exclusivity(unchecked) private var parsed = ParsedResponse()
    private var isWhole = false
    // Stored, because asking the scanner copies it.
    private var isUnderWay = false

    package init(limits: HTTP1Limits) {
        unsafe scanner = HeadScanner(side: .response, limits: limits)
    }

    /// Whether a whole head waits to be taken.
    package var isComplete: Bool { isWhole }

    /// Whether any byte of a head has come.
    package var hasBegun: Bool { isWhole || isUnderWay }

    /// Reads on, stops right behind the head and returns how many bytes were taken.
    ///
    /// `requestMethod` is the method that is answered; it decides whether there is a body.
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

    /// The head that was read; the parser is ready for the next one.
    ///
    /// To be called when `isComplete`.
    package func take() -> ParsedResponse {
        precondition(isWhole, "a response head is taken only when it is complete")
        isWhole = false
        return unsafe parsed
    }

    /// Takes over the memory of fields that nobody needs any longer, for a head to come.
    package func recycle(_ fields: consuming FieldSection) { unsafe scanner.recycle(fields) }

    private func interpret(_ method: Method) throws(MessageProblem) {
        // Used again unless somebody still holds it: an object costs more than the check.
        // Safety: each access ends before the next begins, and nothing else is called in one.
        if unsafe !isKnownUniquelyReferenced(&parsed) { unsafe parsed = ParsedResponse() }
        let parsed = unsafe parsed
        let line = unsafe scanner.startLine
        let fields = unsafe scanner.takeFields()
        try parsed.interpret(line, fields, method)
        isWhole = true
        isUnderWay = false
    }

    /// Whether RFC 9112 §6.3 rules a body out, whatever the fields say.
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
    /// Fills in what the parts of the head say together; whatever can be wrong is found here.
    fileprivate func interpret(
        _ line: HeadScanner.StartLine,
        _ fields: consuming FieldSection,
        _ method: Method
    ) throws(MessageProblem) {
        let storage = fields.storage.span
        let status = StatusLine.status(storage)
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
            framing = try notes.responseFraming(fields, minor: minor)
            if case .length(let bytes) = framing { length = bytes }
        }
        let isUntilClose = if case .untilClose = framing { true } else { false }
        let persists = minor > 0 ? !notes.closes : notes.keepsAlive && !notes.closes
        meaning = Meaning(
            framing: framing,
            keepAlive: persists && !isUntilClose,
            contentLength: length,
            hasForeignCoding: isUntilClose && notes.codingLines > 0
        )
        var head = ResponseHead()
        head.status = status
        head.reason = StatusLine.reason(lineEnd: line.end)
        head.version = minor == 0 ? .http10 : .http11
        head.fields = fields
        // Safety: nothing is called while the two are exchanged.
        unsafe swap(&contents, &head)
    }
}
