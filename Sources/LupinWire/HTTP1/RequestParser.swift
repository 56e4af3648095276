// A client's request head: when it is complete, what it asks for, and why it is refused.
package import LupinCore

/// A request head with what the wire said about its connection and its body.
package struct ParsedRequest: Sendable {
    package var head = RequestHead()
    package var framing = BodyFraming.none
    /// Whether the client lets the connection live on; never for HTTP/1.0 (RFC 9112 §9.3: “A proxy
    /// server MUST NOT maintain a persistent connection with an HTTP/1.0 client”).
    package var keepAlive = false
    /// `Expect: 100-continue` (RFC 9110 §10.1.1); never for HTTP/1.0.
    package var expectsContinue = false
    /// `TE: trailers`: trailers of the response may be forwarded (RFC 9110 §6.5.1).
    package var acceptsTrailers = false
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
    private var parsed = ParsedRequest()
    // Stored, because another module copies the whole parser to ask it a computed property.
    /// Whether a whole head waits to be taken.
    package private(set) var isComplete = false
    /// Whether any byte of a head has come; empty lines before it don't count.
    package private(set) var hasBegun = false

    package init(limits: HTTP1Limits) {
        scanner = HeadScanner(side: .request, limits: limits)
    }

    /// Reads on, stops right behind the head and returns how many bytes were taken.
    package mutating func feed(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
        guard !isComplete else { return 0 }
        defer { hasBegun = isComplete || scanner.hasBegun }
        var skipped = 0
        if !scanner.hasBegun {
            skipped = try skipEmptyLines(bytes)
            guard skipped < bytes.count else { return skipped }
        }
        let taken = try scanner.feed(bytes.extracting(skipped...))
        if scanner.isComplete { try interpret() }
        return skipped + taken
    }

    /// The head that was read; the parser is ready for the next one.
    ///
    /// To be called when `isComplete`.
    package mutating func take() -> ParsedRequest {
        precondition(isComplete, "a request head is taken only when it is complete")
        isComplete = false
        hasBegun = false
        var taken = ParsedRequest()
        swap(&taken, &parsed)
        return taken
    }

    /// Takes over the memory of fields that nobody needs any longer, for a head to come.
    package mutating func recycle(_ fields: consuming FieldSection) { scanner.recycle(fields) }

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
    private mutating func interpret() throws(MessageProblem) {
        let line = scanner.startLine
        var fields = scanner.takeFields()
        emptyLines = 0
        let meaning = try RequestMeaning(fields, line)
        // Filled in place: what is returned by value is copied, with its reference counts.
        parsed.framing = meaning.framing
        parsed.keepAlive = meaning.keepAlive
        parsed.expectsContinue = meaning.notes.expectsContinue
        parsed.acceptsTrailers = meaning.notes.acceptsTrailers
        parsed.head.method = meaning.method
        parsed.head.methodRange = ByteRange(start: 0, count: line.firstSpace)
        parsed.head.minorVersion = meaning.minor
        swap(&parsed.head.fields, &fields)
        place(meaning.target, at: line.firstSpace + 1)
        isComplete = true
    }

    private mutating func place(_ target: RequestTarget, at start: Int) {
        parsed.head.form = target.form
        parsed.head.scheme = target.scheme
        if !target.authority.isEmpty {
            parsed.head.authority = ByteRange(
                start: start + target.authority.lowerBound,
                count: target.authority.count
            )
        }
        guard !target.path.isEmpty else { return }
        parsed.head.pathAndQuery = ByteRange(
            start: start + target.path.lowerBound,
            count: target.path.count
        )
        if parsed.head.fields.storage[parsed.head.pathAndQuery.lowerBound] == 0x3F {
            parsed.head.supplyPath()
        }
    }
}

extension RequestHead {
    /// `http://host?query`: the path that is meant is `/` (RFC 9110 §4.2.3).
    fileprivate mutating func supplyPath() {
        let query = fields.storage[pathAndQuery.range]
        let start = fields.storage.count
        fields.storage.append(0x2F)
        fields.storage.append(contentsOf: query)
        pathAndQuery = ByteRange(start..<fields.storage.count)
    }
}

/// What the parts of a request head say together; everything that can be wrong is found here.
private struct RequestMeaning {
    let method: Method
    let minor: UInt8
    let target: RequestTarget
    let framing: BodyFraming
    let keepAlive: Bool
    let notes: RequestNotes

    init(
        _ fields: borrowing FieldSection,
        _ line: HeadScanner.StartLine
    ) throws(MessageProblem) {
        let storage = fields.storage.span
        minor = storage[line.end - 1] == 0x30 ? 0 : 1
        method = RequestLine.method(storage.extracting(0..<line.firstSpace))
        let targetBytes = storage.extracting((line.firstSpace + 1)..<line.lastSpace)
        target = try RequestTarget(targetBytes, method: method)
        let framingFields = FramingFields(fields)
        framing = try framingFields.requestFraming(fields, minor: minor)
        if target.form == .authority, !framing.isEmpty {
            // RFC 9110 §9.3.6: a CONNECT request has no content; what follows is the tunnel's.
            throw MessageProblem(.request, .connectWithBody)
        }
        keepAlive = minor > 0 && !framingFields.closes
        notes = try RequestNotes(
            fields,
            minor: minor,
            authority: targetBytes.extracting(target.authority)
        )
    }
}

/// What Host, Expect and TE say, in one walk.
private struct RequestNotes {
    private(set) var expectsContinue = false
    private(set) var acceptsTrailers = false

    init(
        _ fields: borrowing FieldSection,
        minor: UInt8,
        authority: Span<UInt8>
    ) throws(MessageProblem) {
        let storage = fields.storage.span
        let lines = fields.lines.span
        var hosts = 0
        for i in lines.indices {
            switch lines[i].known {
            case .host:
                hosts += 1
                guard hosts == 1 else { throw MessageProblem(.request, .severalHosts) }
                let value = storage.extracting(lines[i].value.range)
                // Most proxied requests say the same twice; the target has been checked.
                if value.count > 0, value.equals(authority) { continue }
                // Where the target has no authority, an empty Host leaves nowhere to go.
                guard let shape = AuthorityShape(value),
                    !(shape.isHostEmpty && (value.count > 0 || authority.isEmpty)),
                    shape.port != 0
                else { throw MessageProblem(.request, .invalidHost) }
            case .expect where minor > 0:
                guard storage.extracting(lines[i].value.range).spells("100-continue") else {
                    throw MessageProblem(.request, .unsupportedExpectation)
                }
                expectsContinue = true
            case .te:
                let value = storage.extracting(lines[i].value.range)
                if value.listContains("trailers") { acceptsTrailers = true }
            default: break
            }
        }
        // RFC 9112 §3.2: an HTTP/1.1 request without Host is a 400, whatever its target says.
        guard hosts > 0 || minor == 0 else { throw MessageProblem(.request, .missingHost) }
    }
}
