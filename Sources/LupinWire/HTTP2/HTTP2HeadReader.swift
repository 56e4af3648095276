// Decodes the fields of a header block into a head (RFC 9113 §8.2, §8.3).
import LupinCore

/// Collects the fields of the one header block that a connection can be receiving.
///
/// nghttp2 has checked the rules of RFC 9113 for each field and for the pseudo-fields together;
/// this class checks the limits, and the syntax that lupin requires of values.
final class HTTP2HeadReader {
    private let limits: HTTP1Limits
    // Unchecked, since an exclusivity check would run for every field.
    // Safety: nothing that could reach the reader is called while its parts are accessed.
    @exclusivity(unchecked) private var fields = FieldSection()
    /// The parts of Cookie, joined as in HTTP/1.1 (RFC 9113 §8.2.3).
    @exclusivity(unchecked) private var cookie: [UInt8] = []
    /// Whether a part of it must be in no table.
    private var hasSecretCookie = false
    /// Memory of unused fields, for heads that arrive together.
    @exclusivity(unchecked) private var spares: [FieldSection] = []
    @exclusivity(unchecked) private var pseudo = PseudoFields()
    private var listBytes = 0
    private var fieldCount = 0
    private(set) var isTrailers = false
    private var side = MessageSide.request
    private(set) var problem: MessageProblem?
    /// The method of the request in progress; GET before it has arrived.
    private(set) var method = Method.get

    private struct PseudoFields {
        var methodRange = ByteRange.empty
        var scheme = ByteRange.empty
        var authority = ByteRange.empty
        var path = ByteRange.empty
        var protocolName = ByteRange.empty
        var status: UInt16 = 0
    }

    /// Initial capacity, enough for the heads of most messages.
    private static let usualBytes = 512
    private static let usualFields = 12
    /// As many heads as a busy peer sends at a time; longer ones go back to the allocator.
    private static let sparesMax = 64
    private static let spareBytesMax = 2048

    init(limits: HTTP1Limits) { self.limits = limits }

    /// Whether the block exceeds the limit so far that reading must stop.
    var isBomb: Bool { listBytes > HTTP2Parameters.bombFactor * limits.headerBytes }

    /// The status of the response in progress; 0 before it has arrived.
    var status: UInt16 { unsafe pseudo.status }

    func begin(_ side: MessageSide, isTrailers: Bool) {
        unsafe fields.removeAll()
        if unsafe fields.storage.capacity == 0 {
            if let spare = unsafe spares.popLast() {
                unsafe fields = spare
            } else {
                // Once, instead of several times while they grow.
                unsafe fields.storage.reserveCapacity(Self.usualBytes)
                unsafe fields.lines.reserveCapacity(Self.usualFields)
            }
        }
        if unsafe !cookie.isEmpty { unsafe cookie.removeAll(keepingCapacity: true) }
        hasSecretCookie = false
        unsafe pseudo = PseudoFields()
        listBytes = 0
        fieldCount = 0
        problem = nil
        method = .get
        self.side = side
        self.isTrailers = isTrailers
    }

    /// Takes ownership of the memory of unused fields.
    func recycle(_ fields: consuming FieldSection) {
        let bytes = fields.storage.capacity
        guard unsafe spares.count < Self.sparesMax, 0 < bytes, bytes <= Self.spareBytesMax else {
            return
        }
        fields.removeAll()
        unsafe spares.append(fields)
    }

    /// Adds a field; `isNeverIndexed` is what its representation says (RFC 7541 §6.2.3).
    func add(_ name: Span<UInt8>, _ value: Span<UInt8>, isNeverIndexed: Bool = false) {
        listBytes += name.count + value.count + 32
        let bytesMax = isTrailers ? limits.trailerBytes : limits.headerBytes
        if listBytes > bytesMax {
            problem =
                problem ?? MessageProblem(side, isTrailers ? .trailersTooLarge : .headerTooLarge)
        }
        guard problem == nil else { return }
        if name[0] == 0x3A { return addPseudo(name, value) }
        let value = value.extracting(value.trimmedRange)
        let known = FieldName(name)
        if known == .cookie, side == .request {
            if unsafe cookie.isEmpty {
                fieldCount += 1
            } else {
                unsafe cookie.append(contentsOf: [0x3B, 0x20])
            }
            unsafe cookie.appendBulk(value)
            if isNeverIndexed { hasSecretCookie = true }
        } else {
            fieldCount += 1
            unsafe fields.addLine(name, value, known)
            if isNeverIndexed { unsafe fields.markNeverIndexed() }
        }
        guard fieldCount > limits.headerFields else { return }
        if side == .response, fieldCount <= limits.responseFields { return }
        problem = MessageProblem(side, .tooManyFields)
    }

    private func addPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        let range = unsafe fields.store(value)
        if name.spells(":method") {
            unsafe pseudo.methodRange = range
            method = RequestLine.method(value)
        } else if name.spells(":path") {
            unsafe pseudo.path = range
            if value.count > limits.requestLineBytes {
                problem = MessageProblem(side, .startLineTooLong)
            }
        } else if name.spells(":authority") {
            unsafe pseudo.authority = range
        } else if name.spells(":scheme") {
            unsafe pseudo.scheme = range
        } else if name.spells(":protocol") {
            unsafe pseudo.protocolName = range
        } else if name.spells(":status") {
            unsafe pseudo.status =
                NumberReader.unsigned(value, max: 9999)
                .map { UInt16(truncatingIfNeeded: $0) } ?? 0
        }
    }

    private func takeFields() -> FieldSection {
        if unsafe !cookie.isEmpty {
            let (name, joined) = unsafe (cookieName, cookie)
            unsafe fields.addLine(name.span, joined.span, .cookie)
            if hasSecretCookie { unsafe fields.markNeverIndexed() }
        }
        var taken = FieldSection()
        unsafe swap(&taken, &fields)
        return taken
    }

    private let cookieName = Array("cookie".utf8)

    // MARK: Results

    /// Returns the trailers that were read.
    func takeTrailers() -> FieldSection { takeFields() }

    /// Returns the response that was read; with `isEnd` it has no body.
    func takeResponse(isEnd: Bool, to method: Method) -> ParsedResponse {
        var head = ResponseHead()
        head.status = status
        head.version = .http2
        head.fields = takeFields()
        let length = head.fields.declaredLength
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: method)
        var framing = BodyFraming.none
        if !isBodiless {
            framing = isEnd ? .length(0) : length.map(BodyFraming.length) ?? .chunked
        }
        let mayTellLength =
            !isBodiless || head.status == 304 || (method == .head && head.status >= 200)
        return ParsedResponse(
            head,
            framing: framing,
            contentLength: mayTellLength && head.status != 204 ? length : nil
        )
    }

    /// Returns the request that was read, and the protocol that an extended CONNECT requests.
    ///
    /// - Throws: A problem for which lupin answers the request itself.
    /// - Returns: nil when it is malformed (RFC 9113 §8.1.1).
    func takeRequest(isEnd: Bool) throws(MessageProblem) -> (ParsedRequest, String?)? {
        let fields = takeFields()
        let pseudo = unsafe pseudo
        let storage = fields.storage.span
        var head = RequestHead()
        head.version = .http2
        head.method = method
        head.methodRange = pseudo.methodRange
        let isExtended = !pseudo.protocolName.isEmpty
        guard let authority = fields.authority(or: pseudo.authority) else { return nil }
        head.authority = authority
        let notes = FieldNotes(fields)
        guard !notes.contradicts else { return nil }
        if head.method == .connect, !isExtended {
            guard AuthorityShape(storage.extracting(authority.range))?.port ?? 0 > 0 else {
                throw MessageProblem(.request, .invalidConnectTarget)
            }
            head.form = .authority
            head.fields = fields
            // The data of a CONNECT belongs to the tunnel (RFC 9113 §8.5).
            return (notes.request(&head, framing: .none), nil)
        }
        let path = storage.extracting(pseudo.path.range)
        guard let form = path.targetPath(of: head.method) else { return nil }
        head.scheme = try scheme(storage.extracting(pseudo.scheme.range))
        if notes.hasOtherExpectation { throw MessageProblem(.request, .unsupportedExpectation) }
        head.form = .absolute
        // For a server as a whole (RFC 9113 §8.3.1): an empty path, as in absolute-form.
        if form != .asterisk { head.pathAndQuery = pseudo.path }
        if isExtended {
            // For rules it counts as the GET that begins a WebSocket in HTTP/1.1 (RFC 8441 §5).
            let name = fields.text(pseudo.protocolName)
            head.method = .get
            head.methodRange = .empty
            head.fields = fields
            if form == .beyondASCII { head.encodePath() }
            return (notes.request(&head, framing: .none), name)
        }
        var framing = BodyFraming.none
        if let length = fields.declaredLength {
            framing = .length(length)
        } else if !isEnd {
            framing = .chunked
        } else if head.method.anticipatesContent {
            framing = .length(0)
        }
        head.fields = fields
        if form == .beyondASCII { head.encodePath() }
        return (notes.request(&head, framing: framing), nil)
    }

    private func scheme(_ name: Span<UInt8>) throws(MessageProblem) -> Scheme {
        if name.spells("https") { return .https }
        if name.spells("http") { return .http }
        throw MessageProblem(.request, .unsupportedScheme)
    }
}

/// Properties of single fields that concern the whole message.
private struct FieldNotes {
    private var expectsContinue = false
    private var acceptsTrailers = false
    var hasOtherExpectation = false
    /// Host differs from `:authority`, or the length is given twice.
    var contradicts = false

    init(_ fields: borrowing FieldSection) {
        let storage = fields.storage.span
        var lengths = 0
        for line in fields.lines {
            switch line.known {
            case .expect:
                if storage.extracting(line.value.range).spells("100-continue") {
                    expectsContinue = true
                } else {
                    hasOtherExpectation = true
                }
            case .te: acceptsTrailers = true
            case .contentLength:
                lengths += 1
                if FramingFields.length(storage.extracting(line.value.range)) == nil {
                    contradicts = true
                }
            default: break
            }
        }
        if lengths > 1 { contradicts = true }
    }

    func request(_ head: inout RequestHead, framing: BodyFraming) -> ParsedRequest {
        ParsedRequest(
            taking: &head,
            framing: framing,
            expectsContinue: expectsContinue,
            acceptsTrailers: acceptsTrailers
        )
    }
}

extension FieldSection {
    /// The value of Content-Length.
    fileprivate var declaredLength: UInt64? {
        first(.contentLength).flatMap {
            FramingFields.length(storage.span.extracting($0.value.range))
        }
    }

    /// `:authority`, or Host where there is none; nil when they differ or are invalid (RFC 9113
    /// §8.3.1).
    fileprivate func authority(or pseudo: ByteRange) -> ByteRange? {
        let bytes = storage.span
        let hosts = count(of: .host)
        guard hosts <= 1 else { return nil }
        var authority = pseudo
        if hosts == 1, let host = first(.host)?.value {
            if pseudo.isEmpty {
                authority = host
            } else {
                let named = bytes.extracting(pseudo.range)
                guard bytes.extracting(host.range).equalsIgnoringCase(named) else { return nil }
            }
        }
        guard !authority.isEmpty else { return nil }
        guard let shape = AuthorityShape(bytes.extracting(authority.range)), !shape.isHostEmpty,
            shape.port != 0
        else { return nil }
        return authority
    }

    /// Appends a line in HTTP/1.1 wire form.
    fileprivate mutating func addLine(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>,
        _ known: FieldName
    ) {
        let start = storage.count
        storage.appendLine(name, value)
        names.insert(known)
        lines.append(
            Line(
                name: ByteRange(start: start, count: name.count),
                value: ByteRange(start: start + name.count + 2, count: value.count),
                known: known,
                isContiguous: true
            )
        )
    }

    /// Marks the last line.
    fileprivate mutating func markNeverIndexed() {
        lines[lines.count - 1].isNeverIndexed = true
    }

    fileprivate mutating func store(_ bytes: Span<UInt8>) -> ByteRange {
        let start = storage.count
        storage.appendBulk(bytes)
        return ByteRange(start: start, count: bytes.count)
    }
}

extension Span where Element == UInt8 {
    /// What the bytes are as `:path`: an HTTP/1.1 origin-form, or the asterisk; nil if neither.
    fileprivate func targetPath(of method: Method) -> TargetPath? {
        guard count > 0 else { return nil }
        if self[0] == 0x2A { return count == 1 && method == .options ? .asterisk : nil }
        guard self[0] == 0x2F, offset(of: 0x23) == count else { return nil }
        var form = TargetPath.plain
        var i = endOfVisible(from: 0, to: count)
        while i < count {
            guard self[i] >= 0x80 else { return nil }
            form = .beyondASCII
            i = endOfVisible(from: i &+ 1, to: count)
        }
        return form
    }
}

/// The forms of `:path`.
private enum TargetPath {
    case plain, beyondASCII
    /// For a server as a whole.
    case asterisk
}
