// What a peer did on an HTTP/2 connection, as a test asks for it.

/// One frame, or one header block of several, understood.
package enum FrameEvent: Sendable {
    /// The head of a message, an interim response or trailers.
    case fields(stream: UInt32, HTTP2Fields, endsStream: Bool)
    case data(stream: UInt32, [UInt8], endsStream: Bool)
    case reset(stream: UInt32, HTTP2Frame.Code)
    case settings([HTTP2Frame.Setting])
    case settingsAcknowledged
    case ping([UInt8])
    case pingAnswered([UInt8])
    case goAway(last: UInt32, HTTP2Frame.Code, debug: String)
    case windowUpdate(stream: UInt32, UInt32)
    /// PRIORITY, and types that nobody has defined.
    case ignored(HTTP2Frame)

    /// The stream that it belongs to; 0 for the connection.
    package var stream: UInt32 {
        switch self {
        case .fields(let stream, _, _), .data(let stream, _, _), .reset(let stream, _),
            .windowUpdate(let stream, _):
            stream
        case .ignored(let frame): frame.stream
        case .settings, .settingsAcknowledged, .ping, .pingAnswered, .goAway: 0
        }
    }

    /// Whether it is part of a message or its end.
    package var isOfMessage: Bool {
        switch self {
        case .fields, .data, .reset: true
        default: false
        }
    }
}

extension FrameEvent: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fields(let stream, let fields, let ends):
            let lines = fields.lines.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
            return "fields on \(stream) [\(lines)]\(ends ? ", ends" : "")"
        case .data(let stream, let bytes, let ends):
            return "\(bytes.count) bytes on \(stream)\(ends ? ", ends" : "")"
        case .reset(let stream, let code): return "reset of \(stream): \(code)"
        case .settings(let settings):
            return "settings \(settings.map { "\($0.identifier): \($0.value)" })"
        case .settingsAcknowledged: return "settings acknowledged"
        case .ping: return "ping"
        case .pingAnswered: return "ping answered"
        case .goAway(let last, let code, let debug):
            return "GOAWAY \(code) last \(last) \(debug.debugDescription)"
        case .windowUpdate(let stream, let count): return "window of \(stream) + \(count)"
        case .ignored(let frame): return "\(frame)"
        }
    }
}
