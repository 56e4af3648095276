// Encodes a head as the fields of a header block (RFC 9113 §8.2, §8.3).
import CNghttp2
import LupinCore

/// Writes header blocks; the connection keeps it to reuse its memory.
///
/// nghttp2 copies names and values when a message is submitted, and lowercases names.
@safe
final class HTTP2FieldWriter {
    typealias Submit = (UnsafeBufferPointer<nghttp2_nv>) -> Int32

    /// Fields that HTTP/2 replaces or forbids (RFC 9113 §8.2.2), and fields that lupin sets itself.
    private static let left = FieldNameSet(of: .connection, .framing, .target).without(.trailer)
    /// The most fields that lupin adds to those of the head.
    private static let ownFieldsMax = 12
    /// An upper bound on the bytes of numbers and of the text around our own values.
    private static let ownBytesMax = 128

    // Safety: allocated and freed here, and lent inside `write` only.
    private var pairs: UnsafeMutableBufferPointer<nghttp2_nv>
    private var text: UnsafeMutableBufferPointer<UInt8>
    private let sent = RepeatedFields()

    init() {
        unsafe pairs = .allocate(capacity: 64)
        unsafe text = .allocate(capacity: 512)
    }

    deinit {
        unsafe pairs.deallocate()
        unsafe text.deallocate()
    }

    // MARK: Messages

    /// Encodes a request and passes it to `submit`.
    func request(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        protocolName: String?,
        _ submit: Submit
    ) -> Int32 {
        let method = head.method.token
        var bytes = method.utf8.count + options.authority.utf8.count
        bytes += (protocolName?.utf8.count ?? 0) + (options.via?.pseudonym.utf8.count ?? 0)
        let isTunnel = options.target == .authority
        return unsafe write(head.fields, ownBytes: bytes, submit) { block in
            if let protocolName {
                block.add(":method", "CONNECT" as StaticString)
                block.add(":protocol", protocolName)
            } else {
                block.add(":method", method)
            }
            if !isTunnel {
                // To an origin it is always https; to a proxy, the scheme is that of the whole URL.
                let isPlain = options.target == .absolute(.http)
                block.add(":scheme", isPlain ? "http" : "https" as StaticString)
                if !head.pathAndQuery.isEmpty {
                    block.add(":path", head.pathAndQuery)
                } else {
                    let isWhole = head.form == .asterisk || head.method == .options
                    block.add(":path", isWhole ? "*" : "/")
                }
            }
            block.add(":authority", options.authority)
            block.addLines(
                of: head.fields,
                without: Self.left.with(.expect),
                isWebSocket: protocolName != nil
            )
            // In the usual spelling, which every server knows: the value is case-insensitive (RFC
            // 9110 §10.1.1).
            if head.version != .http10, head.fields.first(.expect) != nil {
                block.add("expect", "100-continue" as StaticString)
            }
            if protocolName == nil, case .length(let count) = options.framing {
                block.add("content-length", count)
            }
            if options.acceptsTrailers { block.add("te", "trailers" as StaticString) }
            if let via = options.via { block.add(via) }
        }
    }

    /// Encodes a response and passes it to `submit`; framing and date are as in HTTP/1.1.
    func response(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        status: UInt16? = nil,
        _ submit: Submit
    ) -> Int32 {
        var bytes = options.via?.pseudonym.utf8.count ?? 0
        bytes += options.date?.utf8.count ?? 0
        return unsafe write(head.fields, ownBytes: bytes, submit) { block in
            block.add(":status", UInt64(status ?? head.status))
            block.addLines(of: head.fields, without: Self.left, isWebSocket: status != nil)
            if case .length(let count) = options.framing, head.status >= 200, head.status != 204 {
                block.add("content-length", count)
            }
            if let date = options.date { block.add("date", date) }
            if let via = options.via { block.add(via) }
        }
    }

    /// Encodes trailers and passes them to `submit`.
    func trailers(_ fields: borrowing FieldSection, _ submit: Submit) -> Int32 {
        unsafe write(fields, ownBytes: 0, submit) { block in
            block.addLines(of: fields, without: ChunkedEncoder.notTrailers, isWebSocket: false)
        }
    }

    /// Makes room for what `fill` adds, and passes nghttp2's list of it to `submit`.
    private func write(
        _ fields: borrowing FieldSection,
        ownBytes: Int,
        _ submit: Submit,
        _ fill: (inout HeaderBlock) -> Void
    ) -> Int32 {
        let pairsNeeded = fields.lines.count + Self.ownFieldsMax
        let bytesNeeded = ownBytes + Self.ownBytesMax
        if unsafe pairsNeeded > pairs.count {
            unsafe pairs.deallocate()
            unsafe pairs = .allocate(capacity: pairsNeeded * 2)
        }
        if unsafe bytesNeeded > text.count {
            unsafe text.deallocate()
            unsafe text = .allocate(capacity: bytesNeeded * 2)
        }
        // Safety: the block is used inside the closure only, and its pairs' targets are copied
        // before `submit` returns, by nghttp2 or by a prepared head.
        return unsafe fields.storage.withUnsafeBufferPointer { stored in
            var block = unsafe HeaderBlock(
                pairs: pairs,
                text: text,
                stored: stored,
                sent: sent
            )
            fill(&block)
            return unsafe submit(UnsafeBufferPointer(rebasing: pairs[..<block.count]))
        }
    }
}

/// A header block being built: a list of pairs that point to existing bytes.
@safe
private struct HeaderBlock: ~Copyable {
    private let pairs: UnsafeMutableBufferPointer<nghttp2_nv>
    /// Bytes that are neither in the fields nor constants.
    private let text: UnsafeMutableBufferPointer<UInt8>
    private let stored: UnsafeBufferPointer<UInt8>
    private let sent: RepeatedFields
    private(set) var count = 0
    private var used = 0

    /// Never stored in the peer's dynamic table (RFC 7541 §7.1.3).
    private static let secrets = FieldNameSet().with(.authorization).with(.proxyAuthorization)
    /// A short cookie could be guessed by its length (RFC 7541 §7.1.3).
    private static let shortCookieBytes = 20

    init(
        pairs: UnsafeMutableBufferPointer<nghttp2_nv>,
        text: UnsafeMutableBufferPointer<UInt8>,
        stored: UnsafeBufferPointer<UInt8>,
        sent: RepeatedFields
    ) {
        self.sent = sent
        unsafe self.pairs = pairs
        unsafe self.text = text
        unsafe self.stored = stored
    }

    mutating func addLines(
        of fields: borrowing FieldSection,
        without left: FieldNameSet,
        isWebSocket: Bool
    ) {
        let storage = fields.storage.span
        let lines = fields.lines.span
        for i in lines.indices {
            let line = lines[i]
            if line.isHopByHop || left.contains(line.known) { continue }
            // In HTTP/2 the extended CONNECT itself is the handshake (RFC 8441 §5).
            if isWebSocket, line.known == .other,
                storage.extracting(line.name.range).isWebSocketProof
            {
                continue
            }
            // What came without a place in a table goes on without one (RFC 7541 §6.2.3).
            let isSecret =
                line.isNeverIndexed || Self.secrets.contains(line.known)
                || (line.known == .cookie && line.value.range.count < Self.shortCookieBytes)
            let isIndexed =
                !isSecret
                && sent.note(
                    storage.extracting(line.name.range),
                    storage.extracting(line.value.range)
                )
            guard let base = unsafe stored.baseAddress else { return }
            // Safety: the ranges lie in the fields' storage.
            unsafe append(
                base + line.name.lowerBound,
                line.name.range.count,
                base + line.value.lowerBound,
                line.value.range.count,
                isIndexed: isIndexed
            )
        }
    }

    mutating func add(_ name: StaticString, _ value: StaticString) {
        // Safety: both live as long as the program.
        unsafe append(
            name.utf8Start,
            name.utf8CodeUnitCount,
            value.utf8Start,
            value.utf8CodeUnitCount
        )
    }

    /// Adds a field whose value is in the storage of the head being written.
    mutating func add(_ name: StaticString, _ value: ByteRange) {
        guard let base = unsafe stored.baseAddress else { return }
        // Safety: the name lives as long as the program, the range lies in the storage.
        unsafe append(
            name.utf8Start,
            name.utf8CodeUnitCount,
            base + value.lowerBound,
            value.range.count
        )
    }

    mutating func add(_ name: StaticString, _ value: String) {
        let start = used
        store(value)
        append(name, from: start)
    }

    mutating func add(_ name: StaticString, _ number: UInt64) {
        let start = used
        var rest = number
        var digits = 1
        while rest >= 10 {
            rest /= 10
            digits += 1
        }
        precondition(unsafe used + digits <= text.count, "a block is longer than was computed")
        rest = number
        for i in (start..<(start + digits)).reversed() {
            // Safety: there is room, see above.
            unsafe text[i] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        used += digits
        append(name, from: start)
    }

    mutating func add(_ via: ViaMember) {
        let start = used
        switch via.receivedProtocol {
        case .http10: store("1.0 ")
        case .http11: store("1.1 ")
        case .http2: store("2 ")
        }
        store(via.pseudonym)
        append("via", from: start)
    }

    private mutating func store(_ value: String) {
        let utf8 = value.utf8.span
        precondition(unsafe used + utf8.count <= text.count, "a block is longer than was computed")
        // Safety: there is room, and the two don't overlap.
        unsafe utf8.withUnsafeBufferPointer { source in
            guard let from = source.baseAddress, let to = unsafe text.baseAddress else { return }
            unsafe (to + used).update(from: from, count: source.count)
        }
        used += utf8.count
    }

    /// Adds a field whose value is in `text` from `start` on.
    private mutating func append(_ name: StaticString, from start: Int) {
        guard let base = unsafe text.baseAddress else { return }
        // Safety: the value has just been written there.
        unsafe append(name.utf8Start, name.utf8CodeUnitCount, base + start, used - start)
    }

    private mutating func append(
        _ name: UnsafePointer<UInt8>,
        _ nameCount: Int,
        _ value: UnsafePointer<UInt8>,
        _ valueCount: Int,
        isIndexed: Bool = true
    ) {
        precondition(unsafe count < pairs.count, "a block has more fields than were counted")
        let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        // Safety: nghttp2 writes through neither pointer.
        unsafe pairs[count] = nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name),
            value: UnsafeMutablePointer(mutating: value),
            namelen: nameCount,
            valuelen: valueCount,
            flags: UInt8(truncatingIfNeeded: flags.rawValue)
        )
        count += 1
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes name a field of the HTTP/1.1 WebSocket handshake.
    fileprivate var isWebSocketProof: Bool {
        spells("sec-websocket-key") || spells("sec-websocket-accept")
    }
}
