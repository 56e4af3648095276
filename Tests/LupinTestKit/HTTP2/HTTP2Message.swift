// What a test reads of an HTTP/2 message: all fields and bytes of one stream, and how it ended.

/// A request or a response.
package struct HTTP2Message: Sendable {
    package var stream: UInt32
    /// The heads of the interim responses before a response.
    package var interim: [HTTP2Fields] = []
    /// The head, pseudo-fields among them.
    package var fields = HTTP2Fields()
    package var body: [UInt8] = []
    package var trailers = HTTP2Fields()
    /// Set where the stream was reset before the message was complete.
    package var reset: HTTP2Frame.Code?

    package var bodyText: String { String(decoding: body, as: UTF8.self) }
    /// The status of a response; 0 without one.
    package var status: Int { fields[":status"].flatMap { Int($0) } ?? 0 }
    package var method: String { fields[":method"] ?? "" }
    package var path: String { fields[":path"] ?? "" }

    /// The value of the lines with this name, joined by `, `.
    package subscript(_ name: String) -> String? { fields[name] }
}

extension FrameStream {
    /// The rest of a message, to the end of its stream or its reset.
    ///
    /// - Parameters:
    ///   - stream: Where it comes.
    ///   - begun: What was read of it already.
    ///   - method: Of the request that a response answers.
    /// - Returns: The message; its `reset` is set where it came to no end.
    /// - Throws: When the body has another length than the head says.
    package func message(
        on stream: UInt32,
        begun: HTTP2Message? = nil,
        to method: String = "GET"
    ) throws -> HTTP2Message {
        var message = begun ?? HTTP2Message(stream: stream)
        var isOver = false
        while !isOver {
            switch try part(of: stream) {
            case .fields(_, let fields, let ends):
                if fields[":status"]?.hasPrefix("1") == true {
                    message.interim.append(fields)
                } else if message.fields.lines.isEmpty {
                    message.fields = fields
                } else {
                    message.trailers = fields
                }
                isOver = ends
            case .data(_, let bytes, let ends):
                message.body += bytes
                isOver = ends
            case .reset(_, let code):
                message.reset = code
                return message
            default: continue
            }
        }
        let isBodiless = method == "HEAD" || message.status == 304
        if let length = message["content-length"], !isBodiless, length != "\(message.body.count)" {
            throw SocketFailure("content-length \(length), but \(message.body.count) octets")
        }
        return message
    }

    /// The next head on `stream`, be it interim or final.
    package func head(on stream: UInt32) throws -> HTTP2Fields {
        let part = try part(of: stream)
        guard case .fields(_, let fields, _) = part else {
            throw SocketFailure("\(part), where a head was due")
        }
        return fields
    }

    /// Sends a message as the peer's windows allow; without a body, the head ends it.
    package func sendMessage(
        _ stream: UInt32,
        _ fields: HTTP2Fields,
        body: [UInt8]? = nil,
        trailers: HTTP2Fields? = nil
    ) throws {
        let block = HPACK.block(fields)
        let isOnlyHead = body == nil && trailers == nil
        try send(HTTP2Frame.headerFrames(stream, block: block, end: isOnlyHead))
        if let body { try sendData(stream, body, end: trailers == nil) }
        if let trailers {
            let block = HPACK.block(trailers)
            try send(HTTP2Frame.headerFrames(stream, block: block, end: true))
        }
    }
}
