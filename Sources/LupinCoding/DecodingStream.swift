// One decoder of a foreign library for each coding, called in one way.

import CZlib
import LupinCore

/// The decoder of one coding; it sets no limit on its output.
struct DecodingStream: ~Copyable {
    enum Outcome: Equatable {
        case more
        /// The coding's end, behind which another member or frame may begin.
        case ended
        case failed(CodingProblem)
    }

    /// The result of a call.
    struct Step {
        var outcome: Outcome
        /// Bytes of the input that were consumed.
        var consumed: Int
        /// Whether there may be more output without more input.
        var isFull: Bool
    }

    private var zlib: ZlibStream?
    private var brotli: BrotliStream?
    private var zstd: ZstdStream?

    /// - Parameters:
    ///   - coding: The coding to undo.
    ///   - beginning: The first bytes of the body, as many as `beginningBytes` says.
    /// - Throws: `memory`.
    init(_ coding: DecodableCoding, beginning: [UInt8]) throws(CodingProblem) {
        switch coding {
        case .gzip: zlib = try ZlibStream(.inflate, windowBits: 31)
        case .deflate:
            zlib = try ZlibStream(.inflate, windowBits: Self.isZlib(beginning) ? 15 : -15)
        case .brotli: brotli = try BrotliStream()
        case .zstd: zstd = try ZstdStream()
        }
    }

    /// How many bytes must have come to choose the decoder.
    static func beginningBytes(of coding: DecodableCoding) -> Int {
        switch coding {
        case .deflate: 2
        case .gzip, .brotli, .zstd: 1
        }
    }

    /// Whether what follows an end is more of the same body (RFC 1952 §2.2, RFC 8878 §3).
    static func mayRepeat(_ coding: DecodableCoding) -> Bool {
        switch coding {
        case .gzip, .zstd: true
        case .deflate, .brotli: false
        }
    }

    /// RFC 1950 §2.2: the first two bytes of zlib's format encode the method deflate and a window,
    /// and are a multiple of 31.
    private static func isZlib(_ beginning: [UInt8]) -> Bool {
        guard beginning.count >= 2 else { return false }
        let (method, flags) = (UInt16(beginning[0]), UInt16(beginning[1]))
        return method & 0x0F == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0
    }

    /// Goes on behind an end, which zstd does by itself.
    mutating func restart() { zlib?.reset() }

    /// Makes one call: appends at most `room` bytes to `output`.
    mutating func run(
        _ input: Span<UInt8>,
        into output: inout [UInt8],
        room: Int
    ) -> Step {
        if let step = brotli?.run(input, into: &output, room: room) { return step }
        if let step = zstd?.run(input, into: &output, room: room) { return step }
        guard let step = zlib?.run(input, flush: Z_NO_FLUSH, into: &output, room: room) else {
            return Step(outcome: .failed(.memory), consumed: 0, isFull: false)
        }
        switch step.status {
        case Z_OK: return Step(outcome: .more, consumed: step.consumed, isFull: step.isFull)
        case Z_STREAM_END: return Step(outcome: .ended, consumed: step.consumed, isFull: false)
        // The input is used up for now.
        case Z_BUF_ERROR: return Step(outcome: .more, consumed: step.consumed, isFull: false)
        case Z_MEM_ERROR: return Step(outcome: .failed(.memory), consumed: 0, isFull: false)
        default: return Step(outcome: .failed(.corrupt), consumed: 0, isFull: false)
        }
    }
}
