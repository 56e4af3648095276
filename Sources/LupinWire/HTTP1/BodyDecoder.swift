// Decodes a message body: its payload bytes, and whether it is complete.
package import LupinCore

/// Decodes a body with any framing.
///
/// A class that its connection reuses for every body: its owner reads it at every step, and a
/// struct would be copied each time.
package final class BodyDecoder {
    private var bodyFraming: BodyFraming
    private let side: MessageSide
    private let limits: HTTP1Limits
    /// Bytes still expected where the length is known; `.max` until close.
    private var due: UInt64
    private var isClosed = false
    /// Reused for every chunked body.
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

    /// Whether the body has ended according to its framing.
    package var isComplete: Bool {
        switch bodyFraming {
        case .none: true
        case .length: due == 0
        case .chunked: chunks?.isComplete ?? true
        case .untilClose: isClosed
        }
    }

    /// What was read over in a chunked body so far.
    package var flaws: ResponseFlaws {
        guard case .chunked = bodyFraming, let chunks else { return ResponseFlaws() }
        return chunks.flaws
    }

    /// The trailers of a complete chunked body; otherwise empty.
    package var trailers: FieldSection {
        guard case .chunked = bodyFraming, let chunks else { return FieldSection() }
        return chunks.trailers
    }

    /// Bytes that may bypass the decoder: the rest of a known length, `.max` until close; nil where
    /// every byte must be parsed.
    package var remaining: UInt64? {
        switch bodyFraming {
        case .none, .length: due
        case .untilClose: isClosed ? 0 : .max
        case .chunked: nil
        }
    }

    /// Decodes `bytes` in place: moves the payload to their front.
    ///
    /// - Returns: How many bytes belong to this body, and how many bytes of payload they contain.
    ///   Unconsumed bytes belong to the next message, and stay where they are.
    package func decode(
        _ bytes: inout MutableSpan<UInt8>
    ) throws(MessageProblem) -> (consumed: Int, produced: Int) {
        guard let remaining else { return try chunks?.decode(&bytes) ?? (0, 0) }
        let count = Int(min(remaining, UInt64(bytes.count)))
        pass(UInt64(count))
        return (count, count)
    }

    /// Counts bytes that were spliced from socket to socket and bypassed the decoder.
    package func spliced(_ count: UInt64) {
        precondition(count <= remaining ?? 0, "more bytes were spliced than the body has")
        pass(count)
    }

    /// Reports that the peer ended the connection cleanly.
    ///
    /// - Throws: `truncatedBody` unless that completes the body (RFC 9112 §8).
    package func connectionClosed() throws(MessageProblem) {
        if case .untilClose = bodyFraming { isClosed = true }
        guard isComplete else { throw MessageProblem(side, .truncatedBody) }
    }

    private func pass(_ count: UInt64) {
        if case .length = bodyFraming { due -= count }
    }
}
