// How a body is compressed piece by piece, into as much room as the caller has.

import CZlib
package import LupinCore

/// A body being compressed; some 270 KB of memory until it goes out of scope.
///
/// open → flushing → open, until `finish` has made it ending → ended. A flush or an end that didn't
/// fit goes on with the next call of the same kind.
package struct ContentEncoder: ~Copyable {
    /// What follows the input of a call.
    package enum Ending: Sendable {
        /// More input: the encoder may keep what it has.
        case more
        /// A pause: all that was taken comes out, and the receiver can decode it (at the price of
        /// some bytes).
        case pause
        /// Nothing: the coding's end is written.
        case end
    }

    /// What a call did.
    package struct Progress: Sendable, Equatable {
        /// Bytes of the input that were taken.
        package var consumed: Int
        /// All input was taken and all that was asked for is in the output; otherwise there was no
        /// room for it.
        package var isDone: Bool
    }

    private var stream: ZlibStream
    /// Whether the coding's end has been written.
    package private(set) var isEnded = false
    /// Whether the receiver may still lack some of what was taken.
    package private(set) var holdsInput = false

    /// An encoder of zlib's usual level.
    /// - Throws: `memory`.
    package init(_ coding: ContentCoding, level: Int = 6) throws(CodingProblem) {
        stream = try ZlibStream(
            .deflate,
            windowBits: coding == .gzip ? 31 : 15,
            level: Int32(max(1, min(9, level)))
        )
    }

    /// Compresses as much of `input` as goes into `room` more bytes of `output`.
    ///
    /// Behind the end nothing is taken and nothing written.
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
