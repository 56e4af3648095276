// Calls brotli's decoder with its input and its room for output.

import CBrotli

/// A brotli stream being decoded.
///
/// The ring buffer grows with the content, to 16 MiB at most: large windows, which no RFC has, stay
/// off.
@safe
struct BrotliStream: ~Copyable {
    // Safety: made in init, destroyed in deinit, and never given away.
    private let state: OpaquePointer

    /// - Throws: `memory`.
    init() throws(CodingProblem) {
        // Safety: without functions of ours brotli uses malloc.
        guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else { throw .memory }
        unsafe self.state = state
    }

    deinit { unsafe BrotliDecoderDestroyInstance(state) }

    /// Makes one call: appends at most `room` bytes to `output`.
    mutating func run(
        _ input: Span<UInt8>,
        into output: inout [UInt8],
        room: Int
    ) -> DecodingStream.Step {
        var result = BROTLI_DECODER_RESULT_ERROR
        var left = input.count
        output.append(addingCapacity: room) { target in
            // Safety: brotli reads at most `left` bytes of the input and writes at most `free`
            // to the room, and keeps neither pointer.
            unsafe target.withUnsafeMutableBufferPointer { bytes, count in
                unsafe input.withUnsafeBufferPointer { source in
                    var free = room
                    var from = source.baseAddress
                    var to = unsafe bytes.baseAddress?.advanced(by: count)
                    result = unsafe BrotliDecoderDecompressStream(
                        state,
                        &left,
                        &from,
                        &free,
                        &to,
                        nil
                    )
                    count += room - free
                }
            }
        }
        var step = DecodingStream.Step(outcome: .more, consumed: input.count - left, isFull: false)
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS: step.outcome = .ended
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: break
        case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: step.isFull = true
        default: step.outcome = .failed(problem)
        }
        return step
    }

    private var problem: CodingProblem {
        // Safety: the state is alive.
        let code = unsafe BrotliDecoderGetErrorCode(state).rawValue
        let allocations =
            BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
            .rawValue...BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES.rawValue
        return allocations.contains(code) ? .memory : .corrupt
    }
}
