// Compresses a body piece by piece, into as much room as the caller has.

import CZlib
package import LupinCore

/// A body being compressed; it uses some 270 KB of memory.
///
/// open → flushing → open, until a call with `.end` makes it ending → ended. A flush or an end that
/// didn't fit continues with the next call of the same kind.
package struct ContentEncoder: ~Copyable {
    /// What follows the input of a call.
    package enum Ending: Sendable {
        /// More input: the encoder may buffer data.
        case more
        /// A pause: all consumed input is written out, and the receiver can decode it (at the cost
        /// of some bytes).
        case pause
        /// Nothing: the coding's end is written.
        case end
    }

    /// The result of a call.
    package struct Progress: Sendable, Equatable {
        /// Bytes of the input that were consumed.
        package var consumed: Int
        /// Whether all input was consumed and all requested output written; otherwise the room was
        /// too small.
        package var isDone: Bool
    }

    private var stream: ZlibStream
    /// Whether the coding's end has been written.
    package private(set) var isEnded = false
    /// Whether the receiver may still lack some of the consumed input.
    package private(set) var holdsInput = false

    /// Makes an encoder; zlib's usual level is the default.
    /// - Throws: `memory`.
    package init(_ coding: ContentCoding, level: Int = 6) throws(CodingProblem) {
        stream = try ZlibStream(
            .deflate,
            windowBits: coding == .gzip ? 31 : 15,
            level: Int32(max(1, min(9, level)))
        )
    }

    /// Compresses as much of `input` as fits into `room` more bytes of `output`.
    ///
    /// After the end nothing is consumed and nothing written.
    package mutating func encode(
        _ input: Span<UInt8>,
        _ ending: Ending = .more,
        into output: inout [UInt8],
        room: Int
    ) -> Progress {
        guard !isEnded, room > 0 else { return Progress(consumed: 0, isDone: isEnded) }
        let flush =
            switch ending {
            case .more: Z_NO_FLUSH
            case .pause: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        let step = stream.run(input, flush: flush, into: &output, room: room)
        if step.consumed > 0 { holdsInput = true }
        isEnded = step.status == Z_STREAM_END
        let isTaken = step.consumed == input.count
        let isDone = ending == .end ? isEnded : isTaken && !step.isFull
        if isEnded || (isDone && ending == .pause) { holdsInput = false }
        return Progress(consumed: step.consumed, isDone: isDone)
    }
}
