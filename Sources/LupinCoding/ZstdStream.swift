// Calls zstd's decoder with its input and its room for output.

import CZstd

/// Frames of zstd being decoded, one behind the other.
@safe
struct ZstdStream: ~Copyable {
    /// RFC 9659 §3: "the Window_Size … MUST NOT exceed 8 MB".
    private static let windowBitsMax: Int32 = 23
    /// RFC 8878 §3.1.1: the magic number and the longest header.
    private static let headBytesMax = 18

    // Safety: made in init, freed in deinit, and never given away.
    private let context: OpaquePointer
    /// Bytes of the frame so far, up to those of the longest head.
    private var headBytes = 0

    /// - Throws: `memory`.
    init() throws(CodingProblem) {
        // Safety: it stands alone, and setting a parameter keeps no pointer.
        guard let context = unsafe ZSTD_createDCtx() else { throw .memory }
        unsafe self.context = context
        _ = unsafe ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowBitsMax)
    }

    deinit { _ = unsafe ZSTD_freeDCtx(context) }

    /// Makes one call: appends at most `room` bytes to `output`.
    ///
    /// A head is read byte by byte: a frame that lies whole in the input would be decoded without
    /// asking for its window, and formats older than RFC 8878 would be read.
    mutating func run(
        _ input: Span<UInt8>,
        into output: inout [UInt8],
        room: Int
    ) -> DecodingStream.Step {
        let lent = headBytes < Self.headBytesMax ? input.extracting(first: 1) : input
        var status = 0
        var consumed = 0
        var isFull = false
        output.append(addingCapacity: room) { target in
            // Safety: zstd reads at most `size` bytes of the input, writes at most `size` to the
            // room, and keeps neither pointer.
            unsafe target.withUnsafeMutableBufferPointer { bytes, count in
                unsafe lent.withUnsafeBufferPointer { source in
                    let start = unsafe bytes.baseAddress?.advanced(by: count)
                    var from = unsafe ZSTD_inBuffer(
                        src: source.baseAddress,
                        size: lent.count,
                        pos: 0
                    )
                    var to = unsafe ZSTD_outBuffer(dst: start, size: room, pos: 0)
                    status = unsafe ZSTD_decompressStream(context, &to, &from)
                    consumed = unsafe from.pos
                    isFull = unsafe to.pos == room
                    count += unsafe to.pos
                }
            }
        }
        headBytes = min(Self.headBytesMax, headBytes + consumed)
        if ZSTD_isError(status) != 0 {
            let outcome = DecodingStream.Outcome.failed(Self.problem(ZSTD_getErrorCode(status)))
            return DecodingStream.Step(outcome: outcome, consumed: consumed, isFull: false)
        }
        if status == 0 { headBytes = 0 }
        return DecodingStream.Step(
            outcome: status == 0 ? .ended : .more,
            consumed: consumed,
            isFull: isFull
        )
    }

    private static func problem(_ code: ZSTD_ErrorCode) -> CodingProblem {
        switch code {
        case ZSTD_error_memory_allocation: .memory
        case ZSTD_error_frameParameter_windowTooLarge: .tooWide
        default: .corrupt
        }
    }
}
