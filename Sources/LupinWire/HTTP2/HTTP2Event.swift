// The events that result from a peer's frames.
package import LupinCore

/// An event on an HTTP/2 connection; events are in order of occurrence.
package enum HTTP2Event {
    /// The head of a client's request has arrived.
    case request(Int32, ParsedRequest, MessageFacts)
    /// The head of a server's response has arrived, interim or final.
    case response(Int32, ParsedResponse, MessageFacts)
    /// A request that must be answered by an error, or a response whose stream has been reset: it
    /// exceeds a limit, or breaks a rule.
    ///
    /// The method is the request's; GET if it has not been read.
    case refused(Int32, MessageProblem, Method)
    /// A malformed client request (RFC 9113 §8.1.1): its stream has been reset.
    case malformed(Int32)
    /// Payload of a stream's body, as a range of the bytes just received.
    case data(Int32, Range<Int>)
    /// The peer has sent all of its message.
    case end(Int32, trailers: FieldSection)
    /// The stream is closed; its number must not be used any more.
    case closed(Int32, HTTP2ErrorCode, isByPeer: Bool)
    /// The peer accepts more of a stream, or of all of them if the number is 0.
    case window(Int32)
    /// The peer's settings have changed.
    case settings
    /// The peer accepts no streams beyond the last one that it names.
    case goAway(HTTP2ErrorCode)
    /// The answer to a PING.
    case pong

    /// The size of a head, and whether a body follows it.
    package struct MessageFacts: Sendable {
        /// Bytes on the wire, including frame headers.
        package var bytes = 0
        /// Whether nothing follows the head.
        package var isEnd = false
        /// The protocol that an extended CONNECT requests (RFC 8441 §4).
        package var protocolName: String?

        package init() {}
    }
}

extension HTTP2Event {
    /// The client's request whose head this is.
    var request: ParsedRequest? {
        if case .request(_, let request, _) = self { request } else { nil }
    }

    /// Whether it is the head of a request that seldom has a body, and may have none: neither a
    /// length nor the end of the stream has said so.
    var mayProveEmpty: Bool {
        guard case .request(_, let request, let facts) = self, request.framing == .chunked,
            !request.expectsContinue, facts.protocolName == nil
        else { return false }
        return request.method.isSafe || request.method == .delete
    }
}

/// Why a connection failed; nothing more can be sent on it.
package struct HTTP2Failure: Error {
    /// nghttp2's text for it.
    package let text: String
}
