// Undoes all content codings of a body that passes in pieces.

import LupinCore

/// The decoders of a body, the last coding first (RFC 9110 §8.4).
package final class CodingChain {
    private final class Layer {
        var decoder: ContentDecoder

        init(_ coding: DecodableCoding) {
            decoder = ContentDecoder(coding, bytesMax: .max, ratioMax: CodingChain.ratioMax)
        }
    }

    /// The longest piece to decode at once.
    package static let pieceBytes = 4 << 10
    /// More than deflate can do (1032); brotli, zstd, and several codings do more with nothing but
    /// zeros.
    private static let ratioMax = 1100
    /// The length that a piece may have in any layer: a caller that keeps all of it in memory must
    /// have the room.
    private static let pieceMax = pieceBytes * ratioMax

    private let layers: [Layer]

    /// Whether there is nothing to undo.
    package var isEmpty: Bool { layers.isEmpty }

    /// nil when one of `codings`, in the order of Content-Encoding, can't be undone, or there are
    /// too many.
    package init?(_ codings: [String]) {
        guard codings.count <= DecodableCoding.layersMax else { return nil }
        let known = codings.compactMap { DecodableCoding($0) }
        guard known.count == codings.count else { return nil }
        layers = known.reversed().map(Layer.init)
    }

    /// The plain bytes of the next piece; with `isLast` the body must end there.
    /// - Throws: `tooDense` where it becomes more than 1,100 times a piece's length, for one.
    package func decode(
        _ bytes: Span<UInt8>,
        isLast: Bool
    ) throws(CodingProblem) -> [UInt8] {
        var content = [UInt8](copying: bytes)
        for layer in layers {
            var output: [UInt8] = []
            try layer.decoder.decode(
                content.span,
                isLast: isLast,
                pieceMax: Self.pieceMax,
                into: &output
            )
            content = output
        }
        return content
    }
}
