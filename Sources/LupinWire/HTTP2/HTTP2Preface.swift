// Detects HTTP/2 with prior knowledge (RFC 9113 §3.4).

package enum HTTP2Preface {
    /// The part that no other protocol begins with; nghttp2 checks the rest.
    private static let beginning = Array("PRI * HTTP/2.0\r\n\r\n".utf8)

    /// Whether `bytes` begin HTTP/2; nil while they are too few to decide.
    package static func isThere(_ bytes: Span<UInt8>) -> Bool? {
        let count = min(bytes.count, beginning.count)
        for i in 0..<count where bytes[i] != beginning[i] { return false }
        return count == beginning.count ? true : nil
    }
}
