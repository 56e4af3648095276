// Why bytes can't be encoded or decoded, in words for people.

/// A failure of a content coding; the sentence completes "the body can't be decoded: …".
package enum CodingProblem: Error, Sendable, Equatable {
    /// zlib got no memory.
    case memory
    /// The bytes aren't what the coding makes, or go on behind its end.
    case corrupt
    /// The bytes stop before the coding's end.
    case truncated
    /// What comes out is longer than so many bytes.
    case tooLong(bytesMax: Int)
    /// What comes out is more than so many times longer than what went in.
    case tooDense(ratioMax: Int)

    package var sentence: String {
        switch self {
        case .memory: "there is no memory for it"
        case .corrupt: "it is not in the coding that its head names"
        case .truncated: "it ends too early"
        case .tooLong(let bytesMax): "it has more than \(bytesMax) bytes once decoded"
        case .tooDense(let ratioMax): "it decodes to more than \(ratioMax) times its length"
        }
    }
}
