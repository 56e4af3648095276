// Decompresses the messages of a WebSocket (permessage-deflate, RFC 7692).

import CZlib

/// The decompressor of one direction.
///
/// It keeps its window from message to message, which is also right if the peer resets its own.
package struct MessageInflater: ~Copyable {
    private var stream: ZlibStream
    private let bytesMax: Int

    /// - Parameter bytesMax: How much of a message's text is returned.
    /// - Throws: `memory`.
    package init(bytesMax: Int) throws(CodingProblem) {
        stream = try ZlibStream(.inflate, windowBits: -15)
        self.bytesMax = max(0, bytesMax)
    }

    /// Decompresses a whole message.
    /// - Returns: At most `bytesMax` bytes of it, and its length.
    /// - Throws: `corrupt`, or `tooLong` beyond 64 MiB; the stream can't be read on.
    package mutating func inflate(
        _ payload: Span<UInt8>
    ) throws(CodingProblem) -> (text: [UInt8], bytes: Int) {
        var text: [UInt8] = []
        var bytes = 0
        // RFC 7692 §7.2.2: the sender took these four bytes off.
        let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
        try run(payload, &text, &bytes)
        try run(tail.span, &text, &bytes)
        return (text, bytes)
    }

    /// The text is read to its end for the window's sake, which takes its time.
    private static let messageBytesMax = 64 << 20
    private static let stepBytes = 16 << 10

    private mutating func run(
        _ input: Span<UInt8>,
        _ text: inout [UInt8],
        _ bytes: inout Int
    ) throws(CodingProblem) {
        var done = 0
        var isFull = false
        while done < input.count || isFull {
            var output: [UInt8] = []
            let step = stream.run(
                input.extracting(droppingFirst: done),
                flush: Z_SYNC_FLUSH,
                into: &output,
                room: Self.stepBytes
            )
            done += step.consumed
            bytes += output.count
            guard bytes <= Self.messageBytesMax else {
                throw .tooLong(bytesMax: Self.messageBytesMax)
            }
            text.append(contentsOf: output.prefix(bytesMax - text.count))
            isFull = step.isFull
            switch step.status {
            case Z_OK: break
            // The input is used up, or the message ended with a final block (§7.2.3.5).
            case Z_BUF_ERROR where done == input.count: return
            case Z_STREAM_END: stream.reset()
            default: throw .corrupt
            }
            if step.consumed == 0, output.isEmpty { return }
        }
    }
}
