// A response head as it goes to the client: said anew from its parts, never copied whole.
package import LupinCore

/// What the client needs to know that does not stand in the head, and what lupin says itself.
package struct ResponseOptions: Sendable {
    /// What Connection says.
    package enum Persistence: UInt8, Sendable, Hashable {
        /// Nothing: HTTP/1.1 connections live on.
        case implied
        case close
        /// For an HTTP/1.0 client that asked.
        case keepAlive
    }

    /// How the body will be framed; for HEAD and 304, `.length` repeats what GET would have had.
    package var framing: BodyFraming
    package var persistence = Persistence.implied
    package var via: ViaMember?
    /// The text of Date where the response has none (RFC 9110 §6.6.1).
    package var date: String?
    /// The protocol of `Upgrade` in a 101.
    package var upgrade: String?

    package init(framing: BodyFraming) { self.framing = framing }
}

/// Writes response heads.
package enum ResponseSerializer {
    /// Appends `head` as an HTTP/1.1 response, interim or final.
    ///
    /// Lines marked hop-by-hop stay behind; Content-Length and Transfer-Encoding are said anew from
    /// `options`, and never in a 1xx or 204 (RFC 9110 §8.6, RFC 9112 §6.1).
    package static func append(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        to output: inout [UInt8]
    ) {
        output.reserveCapacity(output.count + room(for: head, options))
        write(head, options, to: &output)
    }

    /// About how many bytes a head takes, so that the output grows once.
    ///
    /// 256 cover what is said in constant words and numbers.
    private static func room(
        for head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions
    ) -> Int {
        var room = 256 + head.fields.writtenBytes
        room += head.reason.range.count
        if let date = options.date { room += date.utf8.count }
        if let via = options.via { room += via.pseudonym.utf8.count }
        if let name = options.upgrade { room += name.utf8.count }
        return room
    }

    private static func write(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        to output: inout [UInt8]
    ) {
        output.append("HTTP/1.1 " as StaticString)
        output.appendDecimal(UInt64(head.status))
        output.append(0x20)
        if head.reason.isEmpty {
            output.append(StatusPhrases.phrase(head.status))
        } else {
            output.appendBulk(head.fields.storage.span.extracting(head.reason.range))
        }
        output.appendLineEnd()
        var hasDate = false
        output.appendLines(of: head.fields) { line in
            switch line.known {
            case .contentLength, .transferEncoding: return false
            case .date: hasDate = true
            default: break
            }
            return !line.isHopByHop
        }
        if head.status >= 200, head.status != 204 { output.appendFraming(options.framing) }
        if !hasDate, let date = options.date { output.appendField("Date: ", date) }
        if let via = options.via { output.appendVia(via) }
        if let name = options.upgrade {
            output.appendField("Upgrade: ", name)
            output.append("Connection: Upgrade\r\n" as StaticString)
        } else {
            switch options.persistence {
            case .implied: break
            case .close: output.append("Connection: close\r\n" as StaticString)
            case .keepAlive: output.append("Connection: keep-alive\r\n" as StaticString)
            }
        }
        output.appendLineEnd()
    }
}
