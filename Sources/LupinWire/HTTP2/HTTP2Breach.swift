// Which rule a message breaks that nghttp2 has refused, for who has to look for the fault.
import CNghttp2
import LupinCore

extension MessageProblem.Reason {
    /// The rule of RFC 9113 §8.2 or §8.3 that forbids a field.
    static func forbidding(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Self {
        if !name.isEmpty, name[0] == 0x3A { return .invalidPseudoField }
        for i in name.indices where 0x41...0x5A ~= name[i] { return .uppercaseFieldName }
        guard name.isToken else { return .invalidFieldName }
        switch FieldName(name) {
        case .contentLength: return value.isDigits ? .severalLengths : .invalidLength
        case .host: return .invalidHost
        case .transferEncoding: return .connectionField
        case let known where known.scope == .connection: return .connectionField
        default: return .controlByte
        }
    }
}

extension HTTP2Connection {
    /// Takes nghttp2's text about an error: of a field that it refuses it tells nowhere else.
    ///
    /// Its form is not promised: with another one the message is told as malformed, no more.
    func explained(_ text: String, code: Int32) {
        guard role == .client, code == NGHTTP2_ERR_HTTP_HEADER.rawValue,
            let start = text.firstRange(of: "name: [")?.upperBound,
            let middle = text[start...].firstRange(of: "], value: [")
        else { return }
        let name = Array(text[start..<middle.lowerBound].utf8)
        let value = Array(text[middle.upperBound...].dropLast().utf8)
        breach = .forbidding(name.span, value.span)
    }

    /// Reports a message that was abandoned because it breaks a rule.
    ///
    /// A client's request is known by then only if its head was in progress.
    func noteMalformed(_ stream: Int32, _ reason: MessageProblem.Reason) {
        switch role {
        case .server where head?.stream == stream && !reader.isTrailers: queue(.malformed(stream))
        case .server: break
        case .client: queue(.refused(stream, MessageProblem(.response, reason), .get))
        }
        head = nil
    }

    /// Reports a message that an invalid frame made malformed, if `code` of nghttp2 says so.
    func noteMalformed(_ frame: nghttp2_frame_hd, code: Int32) {
        let isHead = head?.stream == frame.stream_id && !reader.isTrailers
        let other = isHead && reader.status == 0 ? MessageProblem.Reason.missingStatus : nil
        switch (role, code) {
        case (.server, _): noteMalformed(frame.stream_id, .malformedMessage)
        case (.client, NGHTTP2_ERR_HTTP_HEADER.rawValue),
            (.client, NGHTTP2_ERR_HTTP_MESSAGING.rawValue):
            noteMalformed(frame.stream_id, breach.take() ?? other ?? .malformedMessage)
        case (.client, _): head = nil
        }
    }
}

extension Span<UInt8> {
    fileprivate var isDigits: Bool {
        for i in indices where !(0x30...0x39 ~= self[i]) { return false }
        return !isEmpty
    }
}
