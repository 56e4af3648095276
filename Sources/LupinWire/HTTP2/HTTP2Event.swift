// What came of the frames that a peer sent.
package import LupinCore

/// What happened on an HTTP/2 connection, in the order in which it did.
package enum HTTP2Event {
    /// A client's request is there, but for its body.
    case request(Int32, ParsedRequest, MessageFacts)
    /// A server's response is there, interim or final, but for its body.
    case response(Int32, ParsedResponse, MessageFacts)
    /// A message that is well-formed and too much: it wants an answer, or is one that is refused.
    case refused(Int32, MessageProblem)
    /// A client's request that breaks the rules (RFC 9113 §8.1.1): its stream has been reset.
    case malformed(Int32)
    /// Payload of a stream's body; it lies there in the bytes that were just received.
    case data(Int32, Range<Int>)
    /// The peer has sent all of its message.
    case end(Int32, trailers: FieldSection)
    /// The stream is over; nobody may use it any more.
    case closed(Int32, HTTP2ErrorCode, isByPeer: Bool)
    /// The peer takes more of a stream, or of all of them where it is 0.
    case window(Int32)
    /// The peer's settings have changed.
    case settings
    /// The peer takes no streams beyond the last one that it names.
    case goAway(HTTP2ErrorCode)
    /// The answer to a PING.
    case pong

    /// What a head took and whether a body follows it.
    package struct MessageFacts: Sendable {
        /// Bytes on the wire, frame headers included.
        package var bytes = 0
        /// Nothing follows the head.
        package var isEnd = false
        /// The protocol that an extended CONNECT asks for (RFC 8441 §4).
        package var protocolName: String?

        package init() {}
    }
}

/// Why a connection can't go on; nothing more can be sent on it.
package struct HTTP2Failure: Error {
    /// What nghttp2 calls it.
    package let text: String
}
