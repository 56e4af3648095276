// The content codings that lupin can undo, and their names.

/// A content coding (RFC 9110 §8.4.1) that lupin can undo: each ``ContentCoding``, and those that
/// it never applies itself, and so never asks for.
package enum DecodableCoding: Sendable, Hashable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// RFC 1950 or, from many servers, bare RFC 1951.
    case deflate
    /// RFC 7932.
    case brotli
    /// RFC 8878, with windows of up to 8 MiB (RFC 9659).
    case zstd

    /// How many codings of one body are undone: each has a decoder of its own.
    package static let layersMax = 5

    package init(_ coding: ContentCoding) {
        switch coding {
        case .gzip: self = .gzip
        case .deflate: self = .deflate
        }
    }

    /// The coding named `token` in any case; nil for all others, including `identity`.
    package init?(_ token: String) {
        if let coding = ContentCoding(token) {
            self.init(coding)
            return
        }
        switch token.lowercased() {
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }

    /// Whether a name stands for a coding: one that can be undone, or another one in use.
    ///
    /// Servers write many words there that change nothing.
    package static func isCoding(_ token: String) -> Bool {
        DecodableCoding(token) != nil || others.contains(token.lowercased())
    }

    /// The other codings that IANA has registered, and those in use without.
    private static let others: Set<String> = [
        "aes128gcm", "aesgcm", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip",
        "bzip2", "x-bzip2", "bz2", "lzma", "xz", "lz4", "snappy", "x-snappy", "x-snappy-framed",
        "sdch", "peerdist", "xpress",
    ]

    /// Whether a word is neither a coding in use nor one that servers write for none: the content
    /// may be anything.
    package static func isUnknown(_ token: String) -> Bool {
        !isCoding(token) && !meaningless.contains(token.lowercased())
    }

    private static let meaningless: Set<String> = [
        "", "identity", "none", "null", "utf-8", "utf8", "us-ascii", "iso-8859-1", "binary",
        "7bit", "8bit", "text", "plain", "aws-chunked", "chunked",
    ]

    /// The coding's name in fields.
    package var token: String {
        switch self {
        case .gzip: ContentCoding.gzip.token
        case .deflate: ContentCoding.deflate.token
        case .brotli: "br"
        case .zstd: "zstd"
        }
    }
}
