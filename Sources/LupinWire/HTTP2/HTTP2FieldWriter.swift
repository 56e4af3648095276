// How a head becomes the fields of a header block (RFC 9113 §8.2, §8.3).
import CNghttp2
import LupinCore

/// A header block that is being written; kept by its connection for the memory.
///
/// nghttp2 copies names and values when a message is submitted, and turns names to lower case.
@safe
final class HTTP2FieldWriter {
    private struct Entry {
        var name: ByteRange
        var value: ByteRange
        /// Both lie in the fields that are written, not in `text`.
        var isInFields: Bool
        var isSecret: Bool
    }

    private var entries: [Entry] = []
    /// What doesn't stand in the fields.
    private var text: [UInt8] = []
    private var pairs = unsafe [nghttp2_nv]()

    /// What HTTP/2 says by other means or not at all (RFC 9113 §8.2.2), and what is said anew.
    private static let left = FieldNameSet().with(.connection).with(.keepAlive)
        .with(.proxyConnection).with(.transferEncoding).with(.upgrade).with(.http2Settings)
        .with(.te).with(.host).with(.contentLength)
    /// Never kept in the peer's table (RFC 7541 §7.1.3).
    private static let secrets = FieldNameSet().with(.authorization).with(.proxyAuthorization)
    /// A short cookie could be guessed by its length (RFC 7541 §7.1.3).
    private static let shortCookieBytes = 20

    // MARK: Messages

    /// Writes a request and hands it to `submit`.
    func request(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        protocolName: String?,
        _ submit: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        begin()
        let isTunnel = options.target == .authority
        if protocolName != nil {
            add(":method", "CONNECT")
        } else {
            add(":method", head.method.token)
        }
        if let protocolName { add(":protocol", protocolName) }
        if !isTunnel {
            add(":scheme", "https")
            if !head.pathAndQuery.isEmpty {
                add(":path", head.fields.storage.span.extracting(head.pathAndQuery.range))
            } else {
                let isWhole = head.form == .asterisk || head.method == .options
                add(":path", isWhole ? "*" : "/")
            }
        }
        add(":authority", options.authority)
        addLines(of: head.fields, without: Self.left.with(.expect), isWebSocket: protocolName != nil)
        // In the one spelling that every server knows: case means nothing here (RFC 9110 §10.1.1).
        if head.version != .http10, head.fields.first(.expect) != nil {
            add("expect", "100-continue")
        }
        if case .length(let count) = options.framing { add("content-length", decimal: count) }
        if options.acceptsTrailers { add("te", "trailers") }
        if let via = options.via { add(via) }
        return unsafe submitted(head.fields, submit)
    }

    /// Writes a response and hands it to `submit`; framing and date as HTTP/1.1 would say them.
    func response(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        status: UInt16? = nil,
        _ submit: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        begin()
        add(":status", decimal: UInt64(status ?? head.status))
        addLines(of: head.fields, without: Self.left, isWebSocket: status != nil)
        if case .length(let count) = options.framing, head.status >= 200, head.status != 204 {
            add("content-length", decimal: count)
        }
        if let date = options.date { add("date", date) }
        if let via = options.via { add(via) }
        return unsafe submitted(head.fields, submit)
    }

    /// Writes trailers and hands them to `submit`.
    func trailers(
        _ fields: borrowing FieldSection,
        _ submit: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        begin()
        addLines(of: fields, without: Self.left, isWebSocket: false)
        return unsafe submitted(fields, submit)
    }

    // MARK: Parts

    private func begin() {
        entries.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
    }

    private func addLines(
        of fields: borrowing FieldSection,
        without left: FieldNameSet,
        isWebSocket: Bool
    ) {
        let storage = fields.storage.span
        for line in fields.lines where !line.isHopByHop && !left.contains(line.known) {
            // In HTTP/2 the extended CONNECT itself is the handshake (RFC 8441 §5).
            if isWebSocket, line.known == .other,
                storage.extracting(line.name.range).isWebSocketProof
            {
                continue
            }
            let isShortCookie =
                line.known == .cookie && line.value.range.count < Self.shortCookieBytes
            entries.append(
                Entry(
                    name: line.name,
                    value: line.value,
                    isInFields: true,
                    isSecret: isShortCookie || Self.secrets.contains(line.known)
                )
            )
        }
    }

    private func add(_ via: borrowing ViaMember) {
        let version =
            switch via.receivedProtocol {
            case .http10: "1.0 "
            case .http11: "1.1 "
            case .http2: "2 "
            }
        add("via", version + via.pseudonym)
    }

    private func add(_ name: StaticString, _ value: String) {
        let start = text.count
        text.append(contentsOf: value.utf8)
        add(name, from: start)
    }

    private func add(_ name: StaticString, _ value: Span<UInt8>) {
        let start = text.count
        text.appendBulk(value)
        add(name, from: start)
    }

    private func add(_ name: StaticString, decimal number: UInt64) {
        add(name, String(number))
    }

    /// Adds a field whose value lies in `text` from `start` on.
    private func add(_ name: StaticString, from start: Int) {
        let value = ByteRange(start..<text.count)
        let nameStart = text.count
        // Safety: the bytes of the name live as long as the program.
        name.withUTF8Buffer { unsafe text.append(contentsOf: $0) }
        entries.append(
            Entry(
                name: ByteRange(nameStart..<text.count),
                value: value,
                isInFields: false,
                isSecret: false
            )
        )
    }

    /// Makes nghttp2's list of what was added.
    private func submitted(
        _ fields: borrowing FieldSection,
        _ submit: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        unsafe pairs.removeAll(keepingCapacity: true)
        // Safety: nghttp2 copies what the pointers lead to before `submit` returns, and reads only.
        return unsafe fields.storage.withUnsafeBufferPointer { stored in
            unsafe text.withUnsafeBufferPointer { own in
                for entry in entries {
                    let source = unsafe entry.isInFields ? stored : own
                    guard let base = source.baseAddress else { continue }
                    let flags = entry.isSecret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                    unsafe pairs.append(
                        nghttp2_nv(
                            name: UnsafeMutablePointer(mutating: base + entry.name.lowerBound),
                            value: UnsafeMutablePointer(mutating: base + entry.value.lowerBound),
                            namelen: entry.name.range.count,
                            valuelen: entry.value.range.count,
                            flags: UInt8(truncatingIfNeeded: flags.rawValue)
                        )
                    )
                }
                return unsafe pairs.withUnsafeBufferPointer { unsafe submit($0) }
            }
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes name a field with which HTTP/1.1 proves that both sides mean WebSocket.
    fileprivate var isWebSocketProof: Bool {
        spells("sec-websocket-key") || spells("sec-websocket-accept")
    }
}
