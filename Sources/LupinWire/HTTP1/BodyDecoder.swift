// A message body as the relay sees it: payload bytes, and whether that was all of them.
package import LupinCore

/// Decodes a body of any framing by the same call.
///
/// A class, kept by its connection from body to body: its owner reads it at every step, and a
/// struct would be copied each time.
package final class BodyDecoder {
    private var bodyFraming: BodyFraming
    private let side: MessageSide
    private let limits: HTTP1Limits
    /// Bytes that are due where the length is known; `.max` until close.
    private var due: UInt64
    private var isClosed = false
    /// Kept from one chunked body to the next.
    private var chunks: ChunkedDecoder?

    package init(_ framing: BodyFraming, side: MessageSide, limits: HTTP1Limits) {
        self.side = side
        self.limits = limits
        bodyFraming = .none
        due = 0
        begin(framing)
    }

    /// How the body is framed.
    package var framing: BodyFraming { bodyFraming }

    /// Starts the next body.
    package func begin(_ framing: BodyFraming) {
        bodyFraming = framing
        isClosed = false
        switch framing {
        case .none: due = 0
        case .length(let count): due = count
        case .chunked:
            due = 0
            if let chunks, chunks.isComplete {
                chunks.restart()
            } else {
                chunks = ChunkedDecoder(side: side, limits: limits)
            }
        case .untilClose: due = .max
        }
    }

    /// Whether the body has ended as its framing says.
    package var isComplete: Bool {
        switch bodyFraming {
        case .none: true
        case .length: due == 0
        case .chunked: chunks?.isComplete ?? true
        case .untilClose: isClosed
        }
    }

    /// The trailers of a complete chunked body; else empty.
    package var trailers: FieldSection {
        guard case .chunked = bodyFraming, let chunks else { return FieldSection() }
        return chunks.trailers
    }

    /// Bytes that may go past the decoder: what is due of a length, `.max` until close; nil where
    /// every byte must be looked at.
    package var remaining: UInt64? {
        switch bodyFraming {
        case .none, .length: due
        case .untilClose: isClosed ? 0 : .max
        case .chunked: nil
        }
    }

    /// Decodes `bytes`; the payload stands at their front afterwards.
    ///
    /// - Returns: how many bytes belong to this body, and how many of payload they hold. What was
    ///   not consumed belongs to what follows; it is left where it was.
    package func decode(
        _ bytes: inout MutableSpan<UInt8>
    ) throws(MessageProblem) -> (consumed: Int, produced: Int) {
        guard let remaining else { return try chunks?.decode(&bytes) ?? (0, 0) }
        let count = Int(min(remaining, UInt64(bytes.count)))
        pass(UInt64(count))
        return (count, count)
    }

    /// Counts bytes that went from socket to socket without passing here.
    package func spliced(_ count: UInt64) {
        precondition(count <= remaining ?? 0, "more bytes were spliced than the body has")
        pass(count)
    }

    /// The peer ended the connection cleanly.
    ///
    /// - Throws: `truncatedBody` unless the body is complete with that (RFC 9112 §8).
    package func connectionClosed() throws(MessageProblem) {
        if case .untilClose = bodyFraming { isClosed = true }
        guard isComplete else { throw MessageProblem(side, .truncatedBody) }
    }

    private func pass(_ count: UInt64) {
        if case .length = bodyFraming { due -= count }
    }
}
