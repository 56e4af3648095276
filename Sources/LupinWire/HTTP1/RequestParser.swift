// A client's request head: when it is complete, what it asks for, and why it is refused.
package import LupinCore

/// A request head with what the wire said about its connection and its body.
package struct ParsedRequest: Sendable {
    package var head: RequestHead
    package var framing: BodyFraming
    /// Whether the client lets the connection live on; never for HTTP/1.0 (RFC 9112 §9.3: “A proxy
    /// server MUST NOT maintain a persistent connection with an HTTP/1.0 client”).
    package var keepAlive: Bool
    /// `Expect: 100-continue` (RFC 9110 §10.1.1); never for HTTP/1.0.
    package var expectsContinue: Bool
    /// `TE: trailers`: trailers of the response may be forwarded (RFC 9110 §6.5.1).
    package var acceptsTrailers: Bool
}

/// Reads request heads off a connection, one after the other.
///
/// After a problem the parser is spent, and so is the connection.
package struct RequestParser: Sendable {
    /// Empty lines that are forgiven before a request line (RFC 9112 §2.2: “at least one”).
    private static let emptyLinesMax = 4

    private var scanner: HeadScanner
    private var emptyLines = 0
    private var isInsideEmptyLine = false
    private var parsed: ParsedRequest?

    package init(limits: HTTP1Limits) {
        scanner = HeadScanner(side: .request, limits: limits)
    }

    /// Whether any byte of a head has come; empty lines before it don't count.
    package var hasBegun: Bool { scanner.hasBegun || parsed != nil }
    /// Whether a whole head waits to be taken.
    package var isComplete: Bool { parsed != nil }

    /// Reads on, stops right behind the head and returns how many bytes were taken.
    package mutating func feed(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
        guard parsed == nil else { return 0 }
        var skipped = 0
        if !scanner.hasBegun {
            skipped = try skipEmptyLines(bytes)
            guard skipped < bytes.count else { return skipped }
        }
        let taken = try scanner.feed(bytes.extracting(skipped...))
        if scanner.isComplete { parsed = try interpret() }
        return skipped + taken
    }

    /// The head that was read; the parser is ready for the next one.
    ///
    /// To be called when `isComplete`.
    package mutating func take() -> ParsedRequest {
        guard let taken = parsed.take() else {
            preconditionFailure("a request head is taken only when it is complete")
        }
        return taken
    }

    private mutating func skipEmptyLines(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
        var i = 0
        while i < bytes.count {
            if isInsideEmptyLine {
                guard bytes[i] == 0x0A else {
                    throw MessageProblem(.request, .bareCarriageReturn)
                }
                isInsideEmptyLine = false
                emptyLines += 1
            } else if bytes[i] == 0x0D {
                guard emptyLines < RequestParser.emptyLinesMax else {
                    throw MessageProblem(.request, .tooManyEmptyLines)
                }
                isInsideEmptyLine = true
            } else {
                break
            }
            i += 1
        }
        return i
    }
}

// MARK: Meaning

extension RequestParser {
    private mutating func interpret() throws(MessageProblem) -> ParsedRequest {
        let line = scanner.startLine
        var head = RequestHead()
        head.fields = scanner.takeFields()
        emptyLines = 0
        head.methodRange = ByteRange(0..<line.firstSpace)
        head.method = RequestLine.method(
            head.fields.storage.span.extracting(head.methodRange.range)
        )
        head.minorVersion = head.fields.storage[line.end - 1] == 0x30 ? 0 : 1
        place(try readTarget(line, of: head), at: line.firstSpace + 1, in: &head)
        let framingFields = FramingFields(head.fields)
        let framing = try framingFields.requestFraming(head.fields, minor: head.minorVersion)
        if head.form == .authority, !framing.isEmpty {
            // RFC 9110 §9.3.6: a CONNECT request has no content; what follows is the tunnel's.
            throw MessageProblem(.request, .connectWithBody)
        }
        let notes = try readNotes(head)
        return ParsedRequest(
            head: head,
            framing: framing,
            keepAlive: head.minorVersion > 0 && !framingFields.closes,
            expectsContinue: notes.expectsContinue,
            acceptsTrailers: notes.acceptsTrailers
        )
    }

    private func readTarget(
        _ line: HeadScanner.StartLine,
        of head: borrowing RequestHead
    ) throws(MessageProblem) -> RequestTarget {
        let bytes = head.fields.storage.span
        return try RequestTarget(
            bytes.extracting((line.firstSpace + 1)..<line.lastSpace),
            method: head.method
        )
    }

    private func place(
        _ target: RequestTarget,
        at targetStart: Int,
        in head: inout RequestHead
    ) {
        head.form = target.form
        head.scheme = target.scheme
        if !target.authority.isEmpty {
            head.authority = ByteRange(
                start: targetStart + target.authority.lowerBound,
                count: target.authority.count
            )
        }
        guard !target.path.isEmpty else { return }
        head.pathAndQuery = ByteRange(
            start: targetStart + target.path.lowerBound,
            count: target.path.count
        )
        if head.fields.storage[head.pathAndQuery.lowerBound] == 0x3F {
            // `http://host?query`: the path that is meant is `/` (RFC 9110 §4.2.3).
            let query = head.fields.storage[head.pathAndQuery.range]
            let start = head.fields.storage.count
            head.fields.storage.append(0x2F)
            head.fields.storage.append(contentsOf: query)
            head.pathAndQuery = ByteRange(start..<head.fields.storage.count)
        }
    }

    /// Host, Expect and TE, in one walk.
    private func readNotes(
        _ head: borrowing RequestHead
    ) throws(MessageProblem) -> (expectsContinue: Bool, acceptsTrailers: Bool) {
        let storage = head.fields.storage.span
        let lines = head.fields.lines.span
        var hosts = 0
        var expectsContinue = false
        var acceptsTrailers = false
        for i in lines.indices {
            let value = storage.extracting(lines[i].value.range)
            switch lines[i].known {
            case .host:
                hosts += 1
                guard hosts == 1 else { throw MessageProblem(.request, .severalHosts) }
                // Where the target has no authority, an empty Host leaves nowhere to go.
                guard let shape = AuthorityShape(value),
                    !(shape.isHostEmpty && (value.count > 0 || head.authority.isEmpty)),
                    shape.port != 0
                else { throw MessageProblem(.request, .invalidHost) }
            case .expect where head.minorVersion > 0:
                guard value.spells("100-continue") else {
                    throw MessageProblem(.request, .unsupportedExpectation)
                }
                expectsContinue = true
            case .te:
                if value.listContains("trailers") { acceptsTrailers = true }
            default: break
            }
        }
        // RFC 9112 §3.2: an HTTP/1.1 request without Host is a 400, whatever its target says.
        guard hosts > 0 || head.minorVersion == 0 else {
            throw MessageProblem(.request, .missingHost)
        }
        return (expectsContinue, acceptsTrailers)
    }
}
