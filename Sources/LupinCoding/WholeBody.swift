// Whole bodies without their content codings, and with them again.

import LupinCore

package enum WholeBody {
    /// Why a body can't be decoded or encoded.
    package enum Problem: Error, Sendable, Equatable {
        /// A coding that lupin can't undo, or can't apply.
        case unknown(coding: String)
        case tooLong
        case coding(CodingProblem)
    }

    /// A body without its codings, the last of which comes off first (RFC 9110 §8.4).
    ///
    /// `codings` are those of Content-Encoding, in its order; no step may yield more than
    /// `bytesMax` bytes.
    package static func decoded(
        _ body: [UInt8],
        from codings: [String],
        bytesMax: Int
    ) throws(Problem) -> [UInt8] {
        var body = body
        guard codings.count <= DecodableCoding.layersMax else { throw .coding(.tooManyCodings) }
        for name in codings.reversed() {
            guard let coding = DecodableCoding(name) else { throw .unknown(coding: name) }
            var plain: [UInt8] = []
            var decoder = ContentDecoder(coding, bytesMax: bytesMax)
            do throws(CodingProblem) {
                try decoder.decode(body.span, isLast: true, into: &plain)
            } catch .tooLong {
                throw .tooLong
            } catch {
                throw .coding(error)
            }
            body = plain
        }
        return body
    }

    /// A body with codings, in the order of Content-Encoding.
    package static func encoded(
        _ body: [UInt8],
        with codings: [String]
    ) throws(Problem) -> [UInt8] {
        var body = body
        for name in codings {
            guard let coding = ContentCoding(name) else { throw .unknown(coding: name) }
            do throws(CodingProblem) {
                body = try encoded(body, with: coding)
            } catch {
                throw .coding(error)
            }
        }
        return body
    }

    private static let pieceBytes = 64 << 10

    private static func encoded(
        _ body: [UInt8],
        with coding: ContentCoding
    ) throws(CodingProblem) -> [UInt8] {
        var encoder = try ContentEncoder(coding)
        var output: [UInt8] = []
        var start = 0
        while !encoder.isEnded {
            let rest = body.span.extracting(start..<body.count)
            let progress = encoder.encode(rest, .end, into: &output, room: pieceBytes)
            start += progress.consumed
        }
        return output
    }
}
