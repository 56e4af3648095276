// An upstream's response head: when it is complete, how its body ends, and why it is refused.
package import LupinCore

/// A response head with what the wire said about its connection and its body.
package struct ParsedResponse: Sendable {
    package var head: ResponseHead
    package var framing: BodyFraming
    /// Whether the upstream lets the connection live on once the body is read.
    package var keepAlive: Bool
    /// What Content-Length says, also where no body follows: what HEAD and 304 send on.
    package var contentLength: UInt64?
    /// The body carries a transfer coding that stays on it; framing is until close.
    package var hasForeignCoding: Bool
}

/// Reads response heads, interim ones included, off a connection, one after the other.
///
/// After a problem the parser is spent, and so is the connection.
package struct ResponseParser: Sendable {
    private var scanner: HeadScanner
    private var parsed: ParsedResponse?

    package init(limits: HTTP1Limits) {
        scanner = HeadScanner(side: .response, limits: limits)
    }

    /// Whether any byte of a head has come.
    package var hasBegun: Bool { scanner.hasBegun || parsed != nil }
    /// Whether a whole head waits to be taken.
    package var isComplete: Bool { parsed != nil }

    /// Reads on, stops right behind the head and returns how many bytes were taken.
    ///
    /// `requestMethod` is the method that is answered; it decides whether there is a body.
    package mutating func feed(
        _ bytes: Span<UInt8>,
        requestMethod: Method
    ) throws(MessageProblem) -> Int {
        guard parsed == nil else { return 0 }
        let taken = try scanner.feed(bytes)
        if scanner.isComplete { parsed = try interpret(requestMethod) }
        return taken
    }

    /// The head that was read; the parser is ready for the next one.
    ///
    /// To be called when `isComplete`.
    package mutating func take() -> ParsedResponse {
        guard let taken = parsed.take() else {
            preconditionFailure("a response head is taken only when it is complete")
        }
        return taken
    }

    private mutating func interpret(_ method: Method) throws(MessageProblem) -> ParsedResponse {
        let line = scanner.startLine
        var head = ResponseHead()
        head.fields = scanner.takeFields()
        head.status = StatusLine.status(head.fields.storage.span)
        head.reason = StatusLine.reason(lineEnd: line.end)
        head.minorVersion = head.fields.storage[7] == 0x30 ? 0 : 1
        let fields = FramingFields(head.fields)
        let framing: BodyFraming
        var contentLength: UInt64?
        if ResponseParser.hasNoBody(status: head.status, method: method) {
            framing = .none
            let mayTellLength = head.status == 304 || (head.status >= 200 && method == .head)
            if mayTellLength, head.status != 204, fields.codingLines == 0 {
                contentLength = fields.responseLength(head.fields)
            }
        } else {
            framing = try fields.responseFraming(head.fields, minor: head.minorVersion)
            if case .length(let length) = framing { contentLength = length }
        }
        let persists = head.minorVersion > 0 ? !fields.closes : fields.keepsAlive && !fields.closes
        return ParsedResponse(
            head: head,
            framing: framing,
            keepAlive: persists && framing != .untilClose,
            contentLength: contentLength,
            hasForeignCoding: framing == .untilClose && fields.codingLines > 0
        )
    }

    /// Whether RFC 9112 §6.3 rules a body out, whatever the fields say.
    package static func hasNoBody(status: UInt16, method: Method) -> Bool {
        switch status {
        case 100..<200, 204, 304: true
        case 200..<300: method == .head || method == .connect
        default: method == .head
        }
    }
}
