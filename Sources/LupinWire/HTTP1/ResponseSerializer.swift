// Writes a response head for the client: rebuilt from its parts, never copied whole.
package import LupinCore

/// What the client needs beyond the head, and the fields that lupin sets itself.
///
/// It can't be copied: made for one head, it is lent to the code that writes the head.
@usableFromInline package struct ResponseOptions: Sendable, ~Copyable {
    /// The value of Connection.
    @usableFromInline package enum Persistence: UInt8, Sendable, Hashable {
        /// No field: HTTP/1.1 connections are persistent by default.
        case implied
        case close
        /// For an HTTP/1.0 client that requested it.
        case keepAlive
    }

    /// How the body will be framed; for HEAD and 304, `.length` is the length for GET.
    @usableFromInline package var framing: BodyFraming
    @usableFromInline package var persistence: Persistence
    @usableFromInline package var via: ViaMember?
    /// The value of Date if the response has none (RFC 9110 §6.6.1).
    @usableFromInline package var date: String?
    /// The protocol of `Upgrade` in a 101, or those in a 426.
    @usableFromInline package var upgrade: String?

    // Inlinable, because a call across modules would return a copy.
    @inlinable package init(
        framing: BodyFraming,
        persistence: Persistence = .implied,
        via: ViaMember? = nil,
        date: String? = nil,
        upgrade: String? = nil
    ) {
        self.framing = framing
        self.persistence = persistence
        self.via = via
        self.date = date
        self.upgrade = upgrade
    }
}

/// Writes response heads.
package enum ResponseSerializer {
    /// Appends `head` as an HTTP/1.1 response, interim or final.
    ///
    /// Lines marked hop-by-hop are left out. Content-Length and Transfer-Encoding are set from
    /// `options`, and never in a 1xx or 204 (RFC 9110 §8.6, RFC 9112 §6.1).
    package static func append(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
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
        for head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions
    ) -> Int {
        var room = 256 + head.fields.writtenBytes + head.reason.range.count
        room += options.date?.utf8.count ?? 0
        room += options.via?.line.count ?? 0
        room += options.upgrade?.utf8.count ?? 0
        return room
    }

    private static let saidAnew = FieldNameSet().with(.contentLength).with(.transferEncoding)

    private static func write(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        to cursor: inout HeadCursor
    ) {
        cursor.append("HTTP/1.1 " as StaticString)
        cursor.append(decimal: UInt64(head.status))
        cursor.append(0x20)
        if head.reason.isEmpty {
            cursor.append(StatusPhrases.phrase(head.status))
        } else {
            cursor.append(head.fields.storage.span.extracting(head.reason.range))
        }
        cursor.appendLineEnd()
        cursor.appendLines(of: head.fields, without: saidAnew)
        if head.status >= 200, head.status != 204 { cursor.appendFraming(options.framing) }
        if let date = options.date, head.fields.first(.date) == nil {
            cursor.appendField("Date: ", date)
        }
        if let via = options.via { cursor.appendVia(via) }
        if let name = options.upgrade {
            cursor.appendField("Upgrade: ", name)
            cursor.append("Connection: Upgrade\r\n" as StaticString)
        }
        switch options.persistence {
        case .implied: break
        case .close: cursor.append("Connection: close\r\n" as StaticString)
        case .keepAlive: cursor.append("Connection: keep-alive\r\n" as StaticString)
        }
        cursor.appendLineEnd()
    }
}
