// How the fields of a header block become a head (RFC 9113 §8.2, §8.3).
import LupinCore

/// Collects the fields of the one header block that a connection can be in at a time.
///
/// nghttp2 has checked what RFC 9113 says of each field and of the pseudo-fields together; here are
/// the limits, and what the values must look like for lupin.
final class HTTP2HeadReader {
    private let limits: HTTP1Limits
    // Unchecked, because every field would look for others who read a head just then.
    // Safety: nothing that could reach the reader is called while its parts are accessed.
    @exclusivity(unchecked) private var fields = FieldSection()
    /// The crumbs of Cookie, joined as HTTP/1.1 has them (RFC 9113 §8.2.3).
    @exclusivity(unchecked) private var cookie: [UInt8] = []
    /// Memory of fields that nobody needs, for the heads that come together.
    @exclusivity(unchecked) private var spares: [FieldSection] = []
    @exclusivity(unchecked) private var pseudo = PseudoFields()
    private var listBytes = 0
    private var fieldCount = 0
    private(set) var isTrailers = false
    private var side = MessageSide.request
    private(set) var problem: MessageProblem?

    private struct PseudoFields {
        var method = ByteRange.empty
        var scheme = ByteRange.empty
        var authority = ByteRange.empty
        var path = ByteRange.empty
        var protocolName = ByteRange.empty
        var status: UInt16 = 0
    }

    /// Room for the heads of most messages.
    private static let usualBytes = 512
    private static let usualFields = 12
    /// As many heads as come at a time from who is busy; longer ones go back to the allocator.
    private static let sparesMax = 64
    private static let spareBytesMax = 2048

    init(limits: HTTP1Limits) { self.limits = limits }

    /// Whether the block is so much too large that reading on would only feed it.
    var isBomb: Bool { listBytes > HTTP2Parameters.bombFactor * limits.headerBytes }

    /// The status of a response that is under way; 0 when none came.
    var status: UInt16 { unsafe pseudo.status }

    func begin(_ side: MessageSide, isTrailers: Bool) {
        unsafe fields.removeAll()
        if unsafe fields.storage.capacity == 0 {
            if let spare = unsafe spares.popLast() {
                unsafe fields = spare
            } else {
                // Once, instead of a few times while they grow.
                unsafe fields.storage.reserveCapacity(Self.usualBytes)
                unsafe fields.lines.reserveCapacity(Self.usualFields)
            }
        }
        if unsafe !cookie.isEmpty { unsafe cookie.removeAll(keepingCapacity: true) }
        unsafe pseudo = PseudoFields()
        listBytes = 0
        fieldCount = 0
        problem = nil
        self.side = side
        self.isTrailers = isTrailers
    }

    /// Takes over the memory of fields that nobody needs any longer.
    func recycle(_ fields: consuming FieldSection) {
        let bytes = fields.storage.capacity
        guard unsafe spares.count < Self.sparesMax, 0 < bytes, bytes <= Self.spareBytesMax else {
            return
        }
        fields.removeAll()
        unsafe spares.append(fields)
    }

    func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        listBytes += name.count + value.count + 32
        let bytesMax = isTrailers ? limits.trailerBytes : limits.headerBytes
        if listBytes > bytesMax {
            problem =
                problem ?? MessageProblem(side, isTrailers ? .trailersTooLarge : .headerTooLarge)
        }
        guard problem == nil else { return }
        if name[0] == 0x3A { return addPseudo(name, value) }
        let known = FieldName(name)
        if known == .cookie, side == .request {
            if unsafe cookie.isEmpty {
                fieldCount += 1
            } else {
                unsafe cookie.append(contentsOf: [0x3B, 0x20])
            }
            unsafe cookie.appendBulk(value)
        } else {
            fieldCount += 1
            unsafe fields.addLine(name, value, known)
        }
        if fieldCount > limits.headerFields { problem = MessageProblem(side, .tooManyFields) }
    }

    private func addPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        let range = unsafe fields.store(value)
        if name.spells(":method") {
            unsafe pseudo.method = range
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
        }
        var taken = FieldSection()
        unsafe swap(&taken, &fields)
        return taken
    }

    private let cookieName = Array("cookie".utf8)

    // MARK: Results

    /// The trailers that were read.
    func takeTrailers() -> FieldSection { takeFields() }

    /// The response that was read; `isEnd` says that its head is all of it.
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

    /// The request that was read, and the protocol that an extended CONNECT asks for.
    ///
    /// - Throws: What makes it one that lupin answers instead of forwarding.
    /// - Returns: nil when it is malformed (RFC 9113 §8.1.1).
    func takeRequest(isEnd: Bool) throws(MessageProblem) -> (ParsedRequest, String?)? {
        let fields = takeFields()
        let pseudo = unsafe pseudo
        let storage = fields.storage.span
        var head = RequestHead()
        head.version = .http2
        head.method = RequestLine.method(storage.extracting(pseudo.method.range))
        head.methodRange = pseudo.method
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
            // What a CONNECT sends is the tunnel's (RFC 9113 §8.5).
            return (notes.request(&head, framing: .none), nil)
        }
        let path = storage.extracting(pseudo.path.range)
        guard path.isTargetPath(of: head.method) else { return nil }
        head.scheme = try scheme(storage.extracting(pseudo.scheme.range))
        if notes.hasOtherExpectation { throw MessageProblem(.request, .unsupportedExpectation) }
        head.form = .absolute
        // Of a server as a whole (RFC 9113 §8.3.1): an empty path, as absolute-form has it.
        let isAsterisk = path.count == 1 && path[0] == 0x2A
        if !isAsterisk { head.pathAndQuery = pseudo.path }
        if isExtended {
            // To the rules it is the GET that HTTP/1.1 would begin it with (RFC 8441 §5).
            let name = fields.text(pseudo.protocolName)
            head.method = .get
            head.methodRange = .empty
            head.fields = fields
            return (notes.request(&head, framing: .none), name)
        }
        var framing = BodyFraming.none
        if let length = fields.declaredLength {
            framing = .length(length)
        } else if !isEnd {
            framing = .chunked
        } else if head.method == .post || head.method == .put || head.method == .patch {
            framing = .length(0)
        }
        head.fields = fields
        return (notes.request(&head, framing: framing), nil)
    }

    private func scheme(_ name: Span<UInt8>) throws(MessageProblem) -> Scheme {
        if name.spells("https") { return .https }
        if name.spells("http") { return .http }
        throw MessageProblem(.request, .unsupportedScheme)
    }
}

/// What single fields say that the message as a whole must know.
private struct FieldNotes {
    private var expectsContinue = false
    private var acceptsTrailers = false
    var hasOtherExpectation = false
    /// Host says something else than `:authority`, or the length is said twice.
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
    /// What Content-Length says.
    fileprivate var declaredLength: UInt64? {
        first(.contentLength).flatMap {
            FramingFields.length(storage.span.extracting($0.value.range))
        }
    }

    /// `:authority`, or Host where there is none; nil when they differ or can't be read
    /// (RFC 9113 §8.3.1).
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

    /// Puts a line at the end, ready to be sent as HTTP/1.1.
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

    fileprivate mutating func store(_ bytes: Span<UInt8>) -> ByteRange {
        let start = storage.count
        storage.appendBulk(bytes)
        return ByteRange(start: start, count: bytes.count)
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes can be `:path`: what HTTP/1.1 takes in origin-form, or the asterisk.
    fileprivate func isTargetPath(of method: Method) -> Bool {
        guard count > 0 else { return false }
        if self[0] == 0x2A { return count == 1 && method == .options }
        guard self[0] == 0x2F else { return false }
        for i in indices where self[i] <= 0x20 || self[i] >= 0x7F || self[i] == 0x23 {
            return false
        }
        return true
    }
}
