// The content codings that lupin applies, and their names.

/// A content coding (RFC 9110 §8.4.1) that lupin can apply; ``DecodableCoding`` has those that it
/// can undo.
package enum ContentCoding: Sendable, Hashable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// The zlib format of RFC 1950 around deflate, in spite of the name (RFC 9110 §8.4.1.2).
    case deflate

    /// The coding's name in fields.
    package var token: String {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        }
    }

    /// The coding named `token` in any case; nil for all others, including `identity`.
    package init?(_ token: String) {
        switch token.lowercased() {
        // RFC 9110 §8.4.1.3: "A recipient SHOULD consider "x-gzip" to be equivalent to "gzip"."
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }
}
