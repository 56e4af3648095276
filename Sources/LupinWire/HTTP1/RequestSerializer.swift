// A request head as it goes to the next hop: said anew from its parts, never copied whole.
package import LupinCore

/// What the next hop needs that does not stand in the head, and what lupin says itself.
package struct RequestOptions: Sendable {
    /// What follows the method.
    package enum Target: Sendable, Hashable {
        /// Path and query, for an origin (RFC 9112 §3.2.1).
        case origin
        /// The whole URL, for a parent proxy (RFC 9112 §3.2.2).
        case absolute(Scheme)
        /// `host:port`, for a CONNECT to a parent proxy (RFC 9112 §3.2.3).
        case authority
    }

    package var target: Target
    /// Host and port of the target, as Host and an absolute target say them.
    package var authority: String
    /// How the body will be framed.
    package var framing: BodyFraming
    package var via: ViaMember?
    /// Sends `TE: trailers`.
    package var acceptsTrailers = false
    /// The protocol of `Upgrade`, such as `websocket`.
    package var upgrade: String?
    /// Sends `Connection: close`.
    package var closes = false
    /// The credentials for a parent proxy.
    package var proxyAuthorization: String?

    package init(
        target: Target,
        authority: String,
        framing: BodyFraming,
        via: ViaMember? = nil
    ) {
        self.target = target
        self.authority = authority
        self.framing = framing
        self.via = via
    }
}

/// Writes request heads.
package enum RequestSerializer {
    /// Appends `head` as an HTTP/1.1 request.
    ///
    /// Host comes first and once. Lines marked hop-by-hop stay behind; Host, Content-Length and
    /// Transfer-Encoding are said anew from `options`, exactly one of the latter two.
    package static func append(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to output: inout [UInt8]
    ) {
        output.reserveCapacity(output.count + room(for: head, options))
        write(head, options, to: &output)
    }

    /// About how many bytes a head takes, so that the output grows once.
    ///
    /// 256 cover what is said in constant words and numbers.
    private static func room(
        for head: borrowing RequestHead,
        _ options: borrowing RequestOptions
    ) -> Int {
        var room = 256 + head.fields.writtenBytes
        room +=
            head.methodRange.range.count + head.pathAndQuery.range.count + 2
            * options.authority.utf8.count
        if let via = options.via { room += via.pseudonym.utf8.count }
        if let name = options.upgrade { room += name.utf8.count }
        if let credentials = options.proxyAuthorization { room += credentials.utf8.count }
        return room
    }

    private static func write(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to output: inout [UInt8]
    ) {
        if head.methodRange.isEmpty {
            output.append(head.method.token)
        } else {
            output.appendBulk(head.fields.storage.span.extracting(head.methodRange.range))
        }
        output.append(0x20)
        appendTarget(head, options, to: &output)
        output.append(" HTTP/1.1\r\nHost: " as StaticString)
        output.append(options.authority)
        output.appendLineEnd()
        let isHTTP10 = head.minorVersion == 0
        output.appendLines(of: head.fields) { line in
            switch line.known {
            case .host, .contentLength, .transferEncoding: false
            // What HTTP/1.0 expects is to be ignored (RFC 9110 §10.1.1), so it isn't passed on
            // under the name of HTTP/1.1.
            case .expect: !isHTTP10 && !line.isHopByHop
            default: !line.isHopByHop
            }
        }
        output.appendFraming(options.framing)
        if let via = options.via { output.appendVia(via) }
        if let credentials = options.proxyAuthorization {
            output.appendField("Proxy-Authorization: ", credentials)
        }
        appendConnection(options, to: &output)
        output.appendLineEnd()
    }

    private static func appendTarget(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        to output: inout [UInt8]
    ) {
        var isBareAuthority = false
        switch options.target {
        case .authority:
            output.append(options.authority)
            return
        case .absolute(let scheme):
            output.append(scheme == .https ? "https://" as StaticString : "http://")
            output.append(options.authority)
            isBareAuthority = true
        case .origin: break
        }
        guard head.pathAndQuery.isEmpty else {
            output.appendBulk(head.fields.storage.span.extracting(head.pathAndQuery.range))
            return
        }
        // RFC 9112 §3.2.4: OPTIONS of an empty path means the server as a whole. A parent gets
        // it as an empty path, the origin as an asterisk.
        switch (head.form, head.method) {
        case (.asterisk, _), (_, .options): if !isBareAuthority { output.append(0x2A) }
        default: output.append(0x2F)
        }
    }

    private static func appendConnection(
        _ options: borrowing RequestOptions,
        to output: inout [UInt8]
    ) {
        if options.acceptsTrailers { output.append("TE: trailers\r\n" as StaticString) }
        if let name = options.upgrade { output.appendField("Upgrade: ", name) }
        // RFC 9110 §10.1.4, §7.8: who sends TE or Upgrade MUST name it in Connection.
        let line: StaticString
        switch (options.upgrade != nil, options.acceptsTrailers, options.closes) {
        case (true, true, _): line = "Connection: Upgrade, TE\r\n"
        case (true, false, _): line = "Connection: Upgrade\r\n"
        case (false, true, true): line = "Connection: close, TE\r\n"
        case (false, true, false): line = "Connection: TE\r\n"
        case (false, false, true): line = "Connection: close\r\n"
        case (false, false, false): return
        }
        output.append(line)
    }
}
