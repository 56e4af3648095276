// Decompresses a body for inspection, with limits against decompression bombs.

package import LupinCore

/// A body being decompressed, with limits on its output.
///
/// It reads `deflate` in zlib's format and as raw deflate, which many servers send under that name.
/// Several gzip members or zstd frames in a row are one body. What follows a gzip stream and is no
/// other member is dropped, as everybody does: servers pad with it. An error is final.
package struct ContentDecoder: ~Copyable {
    /// The ratio is checked from this many bytes of output on: short bodies may have any ratio.
    package static let freeBytes = 64 << 10
    private static let stepBytes = 16 << 10

    /// untouched → inside → ended; ended → inside when another member or frame follows, and → over
    /// when something else does.
    private enum State { case untouched, inside, ended, over }

    private let coding: DecodableCoding
    private let bytesMax: Int
    private let ratioMax: Int
    private var stream: DecodingStream?
    /// The first bytes, until there are enough to distinguish the two kinds of deflate.
    private var beginning: [UInt8] = []
    private var state = State.untouched
    private var failure: CodingProblem?
    /// Bytes of a gzip member behind the first one, as long as they may be none; nil otherwise.
    private var doubtfulBytes: Int?
    private var bytesIn = 0
    private var bytesOut = 0
    /// What `bytesOut` may become by the input at hand.
    private var pieceEnd = Int.max

    /// - Parameters:
    ///   - coding: The coding named in the head.
    ///   - bytesMax: The limit on the output.
    ///   - ratioMax: The limit on the ratio of output to input.
    package init(_ coding: DecodableCoding, bytesMax: Int, ratioMax: Int = 200) {
        self.coding = coding
        self.bytesMax = max(0, bytesMax)
        self.ratioMax = max(1, ratioMax)
    }

    /// Decodes `input` and appends to `output`; with `isLast` the body must end there.
    ///
    /// An empty body decodes to nothing: servers send it under every coding. More than `pieceMax`
    /// bytes from this input are too dense, whatever came before.
    /// - Throws: Any problem. The content of `output`, at most `bytesMax` in all, can't be trusted
    ///   then.
    package mutating func decode(
        _ input: Span<UInt8>,
        isLast: Bool,
        pieceMax: Int = .max,
        into output: inout [UInt8]
    ) throws(CodingProblem) {
        if let failure { throw failure }
        let (end, isOverflow) = bytesOut.addingReportingOverflow(pieceMax)
        pieceEnd = isOverflow ? .max : end
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
            try run(input, into: &output)
        } else if !input.isEmpty {
            let wanted = DecodingStream.beginningBytes(of: coding)
            let first = input.extracting(first: wanted - beginning.count)
            state = .inside
            beginning.append(copying: first)
            if beginning.count == wanted {
                stream = try DecodingStream(coding, beginning: beginning)
                let start = beginning
                try run(start.span, into: &output)
                try run(input.extracting(droppingFirst: first.count), into: &output)
            }
        }
        // One byte may be the first of two that begin a member, and is the last of the body.
        if isLast, state == .inside, doubtfulBytes ?? 2 > 1 { throw .truncated }
    }

    private mutating func run(
        _ input: Span<UInt8>,
        into output: inout [UInt8]
    ) throws(CodingProblem) {
        var done = 0
        var isFull = false
        while done < input.count || isFull {
            if state == .over { return }
            if state == .ended {
                guard DecodingStream.mayRepeat(coding) else { throw .corrupt }
                stream?.restart()
                doubtfulBytes = coding == .gzip ? 0 : nil
            }
            state = .inside
            // One byte beyond the limit shows that there is more.
            let room = min(Self.stepBytes - 1, bytesMax - bytesOut) + 1
            let before = output.count
            let step = stream?.run(
                input.extracting(droppingFirst: done),
                into: &output,
                room: room
            )
            guard let step else { throw .memory }
            done += step.consumed
            let written = output.count - before
            bytesOut += written
            try check(trimming: &output)
            isFull = step.isFull
            doubtfulBytes = written > 0 ? nil : doubtfulBytes.map { $0 + step.consumed }
            switch step.outcome {
            case .more:
                // No coding leaves input and takes nothing.
                if step.consumed == 0, written == 0, done < input.count { throw .corrupt }
            case .ended:
                state = .ended
                isFull = false
            case .failed(let problem):
                guard doubtfulBytes != nil else { throw problem }
                state = .over
            }
        }
    }

    private func check(trimming output: inout [UInt8]) throws(CodingProblem) {
        if bytesOut > bytesMax {
            output.removeLast(min(output.count, bytesOut - bytesMax))
            throw .tooLong(bytesMax: bytesMax)
        }
        let (bound, isOverflow) = bytesIn.multipliedReportingOverflow(by: ratioMax)
        if bytesOut > pieceEnd || (bytesOut > Self.freeBytes && !isOverflow && bytesOut > bound) {
            throw .tooDense(ratioMax: ratioMax)
        }
    }
}
