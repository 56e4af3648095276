// Why bytes can't be encoded or decoded, with messages.

import LupinCore

/// A failure of a content coding; the sentence completes "the body can't be decoded: …".
package enum CodingProblem: Error, Sendable, Equatable {
    /// The library got no memory.
    case memory
    /// The bytes are not valid for the coding, or continue after its end.
    case corrupt
    /// The bytes end before the coding's end.
    case truncated
    /// The output is longer than the limit in bytes.
    case tooLong(bytesMax: Int)
    /// The ratio of output to input exceeds the limit.
    case tooDense(ratioMax: Int)
    /// zstd's window is longer than the 8 MiB of RFC 9659.
    case tooWide
    /// There are more codings than are undone.
    case tooManyCodings

    package var sentence: String {
        switch self {
        case .memory: "there is no memory for it"
        case .corrupt: "it is not in the coding that its head names"
        case .truncated: "it ends too early"
        case .tooLong(let bytesMax): "it has more than \(bytesMax) bytes once decoded"
        case .tooDense(let ratioMax): "it decodes to more than \(ratioMax) times its length"
        case .tooWide: "its window is longer than the 8 MiB of RFC 9659"
        case .tooManyCodings: "it has more than \(DecodableCoding.layersMax) codings"
        }
    }
}
