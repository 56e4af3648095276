// Parses a client's request head, and rejects invalid ones.
package import LupinCore

/// A request head with the properties of its connection and its body.
///
/// A class, because several owners pass it on, and a copy retains each of its parts. Stored
/// properties are private: access to a property that other modules can see costs an exclusivity
/// check at run time, 90 instructions each.
package final class ParsedRequest {
    private var meaning = Meaning()
    // Unchecked, since an exclusivity check would run whenever a head is moved in or out.
    // Safety: nothing is called while the head is accessed, so accesses can't overlap.
    @exclusivity(unchecked) private var contents: RequestHead

    fileprivate init() { unsafe contents = RequestHead() }

    /// A request from an HTTP version other than 1; its head is moved in.
    init(
        taking head: inout RequestHead,
        framing: BodyFraming,
        expectsContinue: Bool,
        acceptsTrailers: Bool
    ) {
        meaning = Meaning(
            framing: framing,
            keepAlive: true,
            expectsContinue: expectsContinue,
            acceptsTrailers: acceptsTrailers
        )
        unsafe contents = RequestHead()
        unsafe swap(&head, &contents)
    }

    package var framing: BodyFraming { meaning.framing }
    /// Whether the client keeps the connection alive; never for HTTP/1.0 (RFC 9112 §9.3: “A proxy
    /// server MUST NOT maintain a persistent connection with an HTTP/1.0 client”).
    package var keepAlive: Bool { meaning.keepAlive }
    /// Whether a client of HTTP/1.0 asks for a connection that stays, as one that logs in needs it.
    package var asksToStay: Bool { meaning.asksToStay }
    /// `Expect: 100-continue` (RFC 9110 §10.1.1); never for HTTP/1.0.
    package var expectsContinue: Bool { meaning.expectsContinue }
    /// `TE: trailers`: trailers of the response may be forwarded (RFC 9110 §6.5.1).
    package var acceptsTrailers: Bool { meaning.acceptsTrailers }
    package var method: Method { unsafe contents.method }
    package var version: ProtocolVersion { unsafe contents.version }

    /// The head; reading it copies it, `takeHead` does not.
    package var head: RequestHead {
        get { unsafe contents }
        set { unsafe contents = newValue }
    }

    /// Notes that no body follows, although the head left that open.
    func dropBody() {
        if meaning.framing == .chunked { meaning.framing = .none }
    }

    /// Moves the head out: the caller is its only owner and may change it without a copy.
    package func takeHead() -> RequestHead {
        var taken = RequestHead()
        unsafe swap(&taken, &contents)
        return taken
    }

    /// The combined meaning of the fields.
    private struct Meaning {
        var framing = BodyFraming.none
        var keepAlive = false
        var asksToStay = false
        var expectsContinue = false
        var acceptsTrailers = false
    }
}

/// Parses request heads of a connection, one after the other.
///
/// After a problem neither the parser nor the connection can be used.
package final class RequestParser {
    /// The most empty lines ignored before a request line (RFC 9112 §2.2: “at least one”).
    private static let emptyLinesMax = 4

    // Unchecked, since an exclusivity check would run at every step of a head.
    // Safety: nothing that could reach the parser is called while its parts are accessed.
    @exclusivity(unchecked) private var scanner: HeadScanner
    private var emptyLines = 0
    private var isInsideEmptyLine = false
    @exclusivity(unchecked) private var parsed = ParsedRequest()
    private var isWhole = false
    // Stored, because a query of the scanner copies it.
    private var isUnderWay = false
    /// The method of a complete head that means nothing valid.
    private var refusedMethod: Method?

    package init(limits: HTTP1Limits) {
        unsafe scanner = HeadScanner(side: .request, limits: limits)
    }

    /// Whether a complete head is ready for `take`.
    package var isComplete: Bool { isWhole }

    /// Whether any byte of a head has arrived; empty lines before it don't count.
    package var hasBegun: Bool { isWhole || isUnderWay }

    /// The method of a head that is incomplete or refused; nil if it has not been read.
    package var methodRead: Method? { unsafe refusedMethod ?? scanner.method }

    /// Parses up to the end of the head at most, and returns how many bytes were consumed.
    package func feed(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
        guard !isWhole else { return 0 }
        var skipped = 0
        if !isUnderWay {
            skipped = try skipEmptyLines(bytes)
            guard skipped < bytes.count else { return skipped }
        }
        let (taken, isRead) = unsafe try scanner.feed(bytes.extracting(skipped...))
        isUnderWay = isUnderWay || taken > 0
        if isRead { try interpret() }
        return skipped + taken
    }

    /// Returns the parsed head; the parser is then ready for the next one.
    ///
    /// Call it only when `isComplete` is true.
    package func take() -> ParsedRequest {
        precondition(isWhole, "a request head is taken only when it is complete")
        isWhole = false
        return unsafe parsed
    }

    /// Takes ownership of the memory of unused fields, for a later head.
    package func recycle(_ fields: consuming FieldSection) { unsafe scanner.recycle(fields) }

    /// Releases the memory kept for the next head, which may be far away.
    package func rest() { unsafe scanner.rest() }

    private func skipEmptyLines(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
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
    /// Interprets the parts of the head together, and detects all problems.
    private func interpret() throws(MessageProblem) {
        // Reused unless another owner holds it: an allocation costs more than the check.
        // Safety: each access ends before the next begins, and nothing else is called in one.
        if unsafe !isKnownUniquelyReferenced(&parsed) { unsafe parsed = ParsedRequest() }
        let parsed = unsafe parsed
        emptyLines = 0
        let line = unsafe scanner.startLine
        var fields = unsafe scanner.takeFields()
        do throws(MessageProblem) {
            try parsed.interpret(line, &fields)
        } catch {
            refusedMethod = RequestLine.method(
                fields.storage.span.extracting(0..<line.firstSpace)
            )
            throw error
        }
        isWhole = true
        isUnderWay = false
    }
}

extension ParsedRequest {
    /// Interprets the parts of the head, and moves the fields into it.
    fileprivate func interpret(
        _ line: HeadScanner.StartLine,
        _ fields: inout FieldSection
    ) throws(MessageProblem) {
        var head = RequestHead()
        try interpret(line, fields, into: &head)
        swap(&head.fields, &fields)
        if line.isEncodingDue { head.encodePath() }
        if head.startsWithQuery { head.supplyPath() }
        // Safety: nothing is called during the swap.
        unsafe swap(&contents, &head)
    }

    /// Sets everything of the head but its fields, which the ranges in it refer to.
    private func interpret(
        _ line: HeadScanner.StartLine,
        _ fields: borrowing FieldSection,
        into head: inout RequestHead
    ) throws(MessageProblem) {
        let storage = fields.storage.span
        let minor: UInt8 = storage[line.end - 1] == 0x30 ? 0 : 1
        let method = RequestLine.method(storage.extracting(0..<line.firstSpace))
        let targetStart = line.firstSpace + 1
        let targetBytes = storage.extracting(targetStart..<line.lastSpace)
        let target = try RequestTarget(targetBytes, method: method)
        let framingFields = FramingFields(fields)
        let framing = try framingFields.requestFraming(fields, minor: minor)
        if target.form == .authority, !framing.isEmpty {
            // RFC 9110 §9.3.6: a CONNECT request has no content; what follows is the tunnel's.
            throw MessageProblem(.request, .connectWithBody)
        }
        let notes = try RequestNotes(
            fields,
            mustHaveHost: minor > 0 && target.form != .authority,
            minor: minor,
            authority: targetBytes.extracting(target.authority)
        )
        meaning = Meaning(
            framing: framing,
            keepAlive: minor > 0 && !framingFields.closes,
            asksToStay: minor == 0 && !framingFields.closes
                && (framingFields.keepsAlive || framingFields.keepsProxyAlive),
            expectsContinue: notes.expectsContinue,
            acceptsTrailers: notes.acceptsTrailers
        )
        head.method = method
        head.methodRange = ByteRange(start: 0, count: line.firstSpace)
        head.version = minor == 0 ? .http10 : .http11
        head.form = target.form
        head.scheme = target.scheme
        head.authority = target.authority.moved(by: targetStart)
        head.pathAndQuery = target.path.moved(by: targetStart)
    }
}

extension Range<Int> {
    /// The range relative to the start of the head; an empty range stays as it is.
    @inline(__always) fileprivate func moved(by distance: Int) -> ByteRange {
        isEmpty ? .empty : ByteRange(start: lowerBound &+ distance, count: count)
    }
}

extension RequestHead {
    /// Percent-encodes the bytes of path and query beyond ASCII, which no URI has (RFC 3986 §2).
    ///
    /// Servers read such a byte as its escape. What rules, the cache and the origin see is the
    /// same, so a filter can't be bypassed by it, which is why RFC 9112 §3.2 warns of corrections.
    mutating func encodePath() {
        let start = fields.storage.count
        for i in pathAndQuery.range {
            let byte = fields.storage[i]
            if byte < 0x80 {
                fields.storage.append(byte)
            } else {
                fields.storage.append(escaping: byte)
            }
        }
        pathAndQuery = ByteRange(start..<fields.storage.count)
    }

    /// Whether the target has a query and no path.
    fileprivate var startsWithQuery: Bool {
        !pathAndQuery.isEmpty && fields.storage[pathAndQuery.lowerBound] == 0x3F
    }

    /// For `http://host?query` sets the path to `/` (RFC 9110 §4.2.3).
    fileprivate mutating func supplyPath() {
        let query = fields.storage[pathAndQuery.range]
        let start = fields.storage.count
        fields.storage.append(0x2F)
        fields.storage.append(contentsOf: query)
        pathAndQuery = ByteRange(start..<fields.storage.count)
    }
}

/// The values of Host, Expect and TE, collected in one pass.
private struct RequestNotes {
    private(set) var expectsContinue = false
    private(set) var acceptsTrailers = false

    init(
        _ fields: borrowing FieldSection,
        mustHaveHost: Bool,
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
                // Most proxied requests repeat the target's authority; the target has been checked.
                if value.count > 0, value.equals(authority) { continue }
                // If the target has no authority, an empty Host leaves the request without one.
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
        // RFC 9112 §3.2: an HTTP/1.1 request without Host is a 400. Not so a CONNECT: lftp and
        // links send none, and the target of the tunnel is certain without it.
        guard hosts > 0 || !mustHaveHost else { throw MessageProblem(.request, .missingHost) }
    }
}
