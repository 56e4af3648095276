// An upstream's response head: when it is complete, how its body ends, and why it is refused.
package import LupinCore

/// A response head with what the wire said about its connection and its body.
package struct ParsedResponse: Sendable {
    package var head = ResponseHead()
    package var framing = BodyFraming.none
    /// Whether the upstream lets the connection live on once the body is read.
    package var keepAlive = false
    /// What Content-Length says, also where no body follows: what HEAD and 304 send on.
    package var contentLength: UInt64?
    /// The body carries a transfer coding that stays on it; framing is until close.
    package var hasForeignCoding = false
}

/// Reads response heads, interim ones included, off a connection, one after the other.
///
/// After a problem the parser is spent, and so is the connection.
package struct ResponseParser: Sendable {
    private var scanner: HeadScanner
    private var parsed = ParsedResponse()
    // Stored, because another module copies the whole parser to ask it a computed property.
    /// Whether a whole head waits to be taken.
    package private(set) var isComplete = false
    /// Whether any byte of a head has come.
    package private(set) var hasBegun = false

    package init(limits: HTTP1Limits) {
        scanner = HeadScanner(side: .response, limits: limits)
    }

    /// Reads on, stops right behind the head and returns how many bytes were taken.
    ///
    /// `requestMethod` is the method that is answered; it decides whether there is a body.
    package mutating func feed(
        _ bytes: Span<UInt8>,
        requestMethod: Method
    ) throws(MessageProblem) -> Int {
        guard !isComplete else { return 0 }
        defer { hasBegun = isComplete || scanner.hasBegun }
        let taken = try scanner.feed(bytes)
        if scanner.isComplete { try interpret(requestMethod) }
        return taken
    }

    /// The head that was read; the parser is ready for the next one.
    ///
    /// To be called when `isComplete`.
    package mutating func take() -> ParsedResponse {
        precondition(isComplete, "a response head is taken only when it is complete")
        isComplete = false
        hasBegun = false
        var taken = ParsedResponse()
        swap(&taken, &parsed)
        return taken
    }

    /// Takes over the memory of fields that nobody needs any longer, for a head to come.
    package mutating func recycle(_ fields: consuming FieldSection) { scanner.recycle(fields) }

    private mutating func interpret(_ method: Method) throws(MessageProblem) {
        let line = scanner.startLine
        var fields = scanner.takeFields()
        let meaning = try ResponseMeaning(fields, method)
        // Filled in place: what is returned by value is copied, with its reference counts.
        parsed.framing = meaning.framing
        parsed.keepAlive = meaning.keepAlive
        parsed.contentLength = meaning.contentLength
        parsed.hasForeignCoding = meaning.hasForeignCoding
        parsed.head.status = meaning.status
        parsed.head.reason = StatusLine.reason(lineEnd: line.end)
        parsed.head.minorVersion = meaning.minor
        swap(&parsed.head.fields, &fields)
        isComplete = true
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

/// What the parts of a response head say together; everything that can be wrong is found here.
private struct ResponseMeaning {
    let status: UInt16
    let minor: UInt8
    private(set) var framing = BodyFraming.none
    private(set) var contentLength: UInt64?
    let keepAlive: Bool
    let hasForeignCoding: Bool

    init(_ fields: borrowing FieldSection, _ method: Method) throws(MessageProblem) {
        let storage = fields.storage.span
        status = StatusLine.status(storage)
        minor = storage[7] == 0x30 ? 0 : 1
        let notes = FramingFields(fields)
        if ResponseParser.hasNoBody(status: status, method: method) {
            let isHead = if case .head = method { true } else { false }
            let mayTellLength = status == 304 || (status >= 200 && isHead)
            if mayTellLength, status != 204, notes.codingLines == 0 {
                contentLength = notes.responseLength(fields)
            }
        } else {
            framing = try notes.responseFraming(fields, minor: minor)
            if case .length(let length) = framing { contentLength = length }
        }
        let isUntilClose = framing == .untilClose
        let persists = minor > 0 ? !notes.closes : notes.keepsAlive && !notes.closes
        keepAlive = persists && !isUntilClose
        hasForeignCoding = isUntilClose && notes.codingLines > 0
    }
}
