// Decompresses a body for inspection, with limits against decompression bombs.

import CZlib
package import LupinCore

/// A body being decompressed, with limits on its output.
///
/// It reads `deflate` in zlib's format and as raw deflate, which many servers send under that name.
/// Several gzip members in a row are one body (RFC 1952 §2.2). An error is final.
package struct ContentDecoder: ~Copyable {
    /// The ratio is checked from this many bytes of output on: short bodies may have any ratio.
    package static let freeBytes = 64 << 10
    private static let stepBytes = 16 << 10

    /// untouched → inside → ended; ended → inside when another gzip member follows.
    private enum State { case untouched, inside, ended }

    private let coding: ContentCoding
    private let bytesMax: Int
    private let ratioMax: Int
    private var stream: ZlibStream?
    /// The first bytes, until two have arrived to distinguish the two kinds of deflate.
    private var beginning: [UInt8] = []
    private var state = State.untouched
    private var failure: CodingProblem?
    private var bytesIn = 0
    private var bytesOut = 0

    /// - Parameters:
    ///   - coding: The coding named in the head.
    ///   - bytesMax: The limit on the output.
    ///   - ratioMax: The limit on the ratio of output to input.
    package init(_ coding: ContentCoding, bytesMax: Int, ratioMax: Int = 200) {
        self.coding = coding
        self.bytesMax = max(0, bytesMax)
        self.ratioMax = max(1, ratioMax)
    }

    /// Decodes `input` and appends to `output`; with `isLast` the body must end there.
    ///
    /// An empty body decodes to nothing: servers send it under every coding.
    /// - Throws: Any problem. The content of `output`, at most `bytesMax` in all, can't be trusted
    ///   then.
    package mutating func decode(
        _ input: Span<UInt8>,
        isLast: Bool,
        into output: inout [UInt8]
    ) throws(CodingProblem) {
        if let failure { throw failure }
        do throws(CodingProblem) {
            try take(input, isLast: isLast, into: &output)
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func take(
        _ input: Span<UInt8>,
        isLast: Bool,
        into output: inout [UInt8]
    ) throws(CodingProblem) {
        let (total, isOverflow) = bytesIn.addingReportingOverflow(input.count)
        bytesIn = isOverflow ? .max : total
        if stream != nil {
            try inflate(input, into: &output)
        } else if !input.isEmpty {
            let first = input.extracting(first: 2 - beginning.count)
            state = .inside
            beginning.append(copying: first)
            if beginning.count == 2 {
                stream = try ZlibStream(.inflate, windowBits: windowBits)
                let start = beginning
                try inflate(start.span, into: &output)
                try inflate(input.extracting(droppingFirst: first.count), into: &output)
            }
        }
        if isLast, state == .inside { throw .truncated }
    }

    /// RFC 1950 §2.2: the first two bytes of zlib's format encode the method deflate and a window,
    /// and are a multiple of 31.
    private var windowBits: Int32 {
        if coding == .gzip { return 31 }
        let (method, flags) = (UInt16(beginning[0]), UInt16(beginning[1]))
        let isZlib = method & 0x0F == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0
        return isZlib ? 15 : -15
    }

    private mutating func inflate(
        _ input: Span<UInt8>,
        into output: inout [UInt8]
    ) throws(CodingProblem) {
        var done = 0
        var isFull = false
        while done < input.count || isFull {
            if state == .ended {
                guard coding == .gzip else { throw .corrupt }
                stream?.reset()
            }
            state = .inside
            // One byte beyond the limit shows that there is more.
            let room = min(Self.stepBytes - 1, bytesMax - bytesOut) + 1
            let before = output.count
            let step = stream?.run(
                input.extracting(droppingFirst: done),
                flush: Z_NO_FLUSH,
                into: &output,
                room: room
            )
            guard let step else { throw .memory }
            done += step.consumed
            bytesOut += output.count - before
            try check(trimming: &output)
            switch step.status {
            case Z_STREAM_END:
                state = .ended
                isFull = false
            case Z_OK:
                isFull = step.isFull
            case Z_BUF_ERROR:
                // The input is used up for now.
                isFull = false
                if done < input.count { throw .corrupt }
            case Z_MEM_ERROR: throw .memory
            default: throw .corrupt
            }
        }
    }

    private func check(trimming output: inout [UInt8]) throws(CodingProblem) {
        if bytesOut > bytesMax {
            output.removeLast(min(output.count, bytesOut - bytesMax))
            throw .tooLong(bytesMax: bytesMax)
        }
        let (bound, isOverflow) = bytesIn.multipliedReportingOverflow(by: ratioMax)
        if bytesOut > Self.freeBytes, !isOverflow, bytesOut > bound {
            throw .tooDense(ratioMax: ratioMax)
        }
    }
}
