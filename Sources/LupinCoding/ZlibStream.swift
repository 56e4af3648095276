// Calls zlib with its input and its room for output.

import CZlib

/// A z_stream at a fixed address, because zlib keeps a pointer to it.
@safe
struct ZlibStream: ~Copyable {
    enum Direction { case deflate, inflate }

    /// The result of a call.
    struct Step {
        var status: Int32
        /// Bytes of the input that were consumed.
        var consumed: Int
        /// Whether all the room was used: there may be more output.
        var isFull: Bool
    }

    // Safety: allocated in init, freed in deinit after zlib's own end, and never given away.
    private let stream: UnsafeMutablePointer<z_stream>
    private let direction: Direction

    /// - Parameters:
    ///   - direction: Whether it compresses.
    ///   - windowBits: 15 for zlib's format, 31 for gzip's, -15 for raw deflate.
    ///   - level: 1 (fast) to 9 (small), when it compresses.
    /// - Throws: `memory`.
    init(_ direction: Direction, windowBits: Int32, level: Int32 = 6) throws(CodingProblem) {
        self.direction = direction
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // Safety: a z_stream of zeros asks zlib to use malloc, and has no input yet.
        let status =
            unsafe direction == .deflate
            ? zlib_deflate_init(stream, level, windowBits) : zlib_inflate_init(stream, windowBits)
        guard status == Z_OK else { throw .memory }
    }

    deinit {
        // Safety: both end functions accept a stream whose init failed.
        switch direction {
        case .deflate: _ = unsafe deflateEnd(stream)
        case .inflate: _ = unsafe inflateEnd(stream)
        }
        unsafe stream.deallocate()
    }

    /// Starts over with the same settings.
    mutating func reset() {
        // Safety: the stream is initialised and has no input lent.
        switch direction {
        case .deflate: _ = unsafe deflateReset(stream)
        case .inflate: _ = unsafe inflateReset(stream)
        }
    }

    /// Makes one call: appends at most `room` bytes to `output`.
    mutating func run(
        _ input: Span<UInt8>,
        flush: Int32,
        into output: inout [UInt8],
        room: Int
    ) -> Step {
        let lent = input.extracting(first: Int(UInt32(clamping: input.count)))
        let limit = UInt32(clamping: room)
        var status = Z_BUF_ERROR
        var consumed = 0
        var isFull = true
        guard limit > 0 else { return Step(status: status, consumed: 0, isFull: true) }
        output.append(addingCapacity: Int(limit)) { target in
            // Safety: zlib reads at most avail_in bytes of the input and writes at most avail_out
            // to the room; both pointers are cleared before their buffers' lifetimes end.
            unsafe target.withUnsafeMutableBufferPointer { bytes, count in
                unsafe lent.withUnsafeBufferPointer { source in
                    unsafe stream.pointee.next_in = source.baseAddress
                    unsafe stream.pointee.avail_in = UInt32(lent.count)
                    unsafe stream.pointee.next_out = bytes.baseAddress?.advanced(by: count)
                    unsafe stream.pointee.avail_out = limit
                    status =
                        unsafe direction == .deflate
                        ? deflate(stream, flush) : inflate(stream, flush)
                    consumed = lent.count - Int(unsafe stream.pointee.avail_in)
                    let left = unsafe stream.pointee.avail_out
                    isFull = left == 0
                    count += Int(limit - left)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.avail_in = 0
                    unsafe stream.pointee.next_out = nil
                    unsafe stream.pointee.avail_out = 0
                }
            }
        }
        return Step(status: status, consumed: consumed, isFull: isFull)
    }
}
