// Writes a request head for the next hop: rebuilt from its parts, never copied whole.
public import LupinCore

/// What the next hop needs beyond the head, and the fields that lupin sets itself.
///
/// It can't be copied: made for one head, it is lent to the code that writes the head.
@usableFromInline package struct RequestOptions: Sendable, ~Copyable {
    /// The request target, which follows the method.
    @usableFromInline package enum Target: Sendable, Hashable {
        /// Path and query, for an origin (RFC 9112 §3.2.1).
        case origin
        /// The whole URL, for a parent proxy (RFC 9112 §3.2.2).
        case absolute(Scheme)
        /// `host:port`, for a CONNECT to a parent proxy (RFC 9112 §3.2.3).
        case authority
    }

    @usableFromInline package var target: Target
    /// Host and port of the target, for Host and an absolute target.
    @usableFromInline package var authority: String
    /// How the body will be framed.
    @usableFromInline package var framing: BodyFraming
    @usableFromInline package var via: ViaMember?
    /// Sends `TE: trailers`.
    @usableFromInline package var acceptsTrailers: Bool
    /// The protocol of `Upgrade`, such as `websocket`.
    @usableFromInline package var upgrade: String?
    /// Sends `Connection: close`.
    @usableFromInline package var closes: Bool
    /// The credentials for a parent proxy, an ``OctetText``.
    @usableFromInline package var proxyAuthorization: String?

    // Inlinable, because a call across modules would return a copy.
    @inlinable package init(
        target: Target,
        authority: String,
        framing: BodyFraming,
        via: ViaMember? = nil,
        acceptsTrailers: Bool = false,
        upgrade: String? = nil,
        proxyAuthorization: String? = nil
    ) {
        self.target = target
        self.authority = authority
        self.framing = framing
        self.via = via
        self.acceptsTrailers = acceptsTrailers
        self.upgrade = upgrade
        closes = false
        self.proxyAuthorization = proxyAuthorization
    }
}

/// Writes request heads.
package enum RequestSerializer {
    /// Appends `head` as an HTTP/1.1 request.
    ///
    /// Host comes first and once. Lines marked hop-by-hop are left out. Host, Content-Length and
    /// Transfer-Encoding are set from `options`, exactly one of the latter two.
    package static func append(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to output: inout [UInt8]
    ) {
        output.appendHead(room: room(for: head, options)) { cursor in
            write(head, options, to: &cursor)
        }
    }

    /// An upper bound on the bytes of a head.
    ///
    /// 256 cover the constant words and numbers.
    private static func room(
        for head: borrowing RequestHead,
        _ options: borrowing RequestOptions
    ) -> Int {
        var room = 256 + head.fields.writtenBytes + head.pathAndQuery.range.count
        room +=
            head.methodRange.isEmpty
            ? head.method.token.utf8.count : head.methodRange.range.count
        room += 2 * options.authority.utf8.count
        room += options.via?.line.count ?? 0
        room += options.upgrade?.utf8.count ?? 0
        room += options.proxyAuthorization?.utf8.count ?? 0
        return room
    }

    private static let saidAnew = FieldNameSet().with(.host).with(.contentLength)
        .with(.transferEncoding)

    private static func write(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to cursor: inout HeadCursor
    ) {
        if head.methodRange.isEmpty {
            cursor.append(head.method.token)
        } else {
            cursor.append(head.fields.storage.span.extracting(head.methodRange.range))
        }
        cursor.append(0x20)
        appendTarget(head, options, to: &cursor)
        cursor.append(" HTTP/1.1\r\nHost: " as StaticString)
        cursor.append(options.authority)
        cursor.appendLineEnd()
        // An expectation in HTTP/1.0 must be ignored (RFC 9110 §10.1.1), so it isn't forwarded in
        // an HTTP/1.1 request.
        let isHTTP10 = head.version == .http10
        cursor.appendLines(
            of: head.fields,
            without: isHTTP10 ? saidAnew.with(.expect) : saidAnew
        )
        cursor.appendFraming(options.framing)
        if let via = options.via { cursor.appendVia(via) }
        if let credentials = options.proxyAuthorization {
            cursor.append("Proxy-Authorization: " as StaticString)
            cursor.append(OctetText.bytes(credentials).span)
            cursor.appendLineEnd()
        }
        appendConnection(options, to: &cursor)
        cursor.appendLineEnd()
    }

    private static func appendTarget(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to cursor: inout HeadCursor
    ) {
        var isBareAuthority = false
        switch options.target {
        case .authority:
            cursor.append(options.authority)
            return
        case .absolute(let scheme):
            cursor.append("http" as StaticString)
            if scheme == .https { cursor.append(0x73) }
            cursor.append("://" as StaticString)
            cursor.append(options.authority)
            isBareAuthority = true
        case .origin: break
        }
        guard head.pathAndQuery.isEmpty else {
            cursor.append(head.fields.storage.span.extracting(head.pathAndQuery.range))
            return
        }
        // RFC 9112 §3.2.4: OPTIONS with an empty path means the whole server. A parent gets an
        // empty path, the origin an asterisk.
        switch (head.form, head.method) {
        case (.asterisk, _), (_, .options): if !isBareAuthority { cursor.append(0x2A) }
        default: cursor.append(0x2F)
        }
    }

    private static func appendConnection(
        _ options: borrowing RequestOptions,
        to cursor: inout HeadCursor
    ) {
        if options.acceptsTrailers { cursor.append("TE: trailers\r\n" as StaticString) }
        if let name = options.upgrade { cursor.appendField("Upgrade: ", name) }
        // RFC 9110 §10.1.4, §7.8: a sender of TE or Upgrade MUST name it in Connection.
        let line: StaticString
        switch (options.upgrade != nil, options.acceptsTrailers, options.closes) {
        case (true, true, _): line = "Connection: Upgrade, TE\r\n"
        case (true, false, _): line = "Connection: Upgrade\r\n"
        case (false, true, true): line = "Connection: close, TE\r\n"
        case (false, true, false): line = "Connection: TE\r\n"
        case (false, false, true): line = "Connection: close\r\n"
        case (false, false, false): return
        }
        cursor.append(line)
    }
}
