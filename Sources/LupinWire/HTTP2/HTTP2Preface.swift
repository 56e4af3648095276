// How a client begins HTTP/2 that nobody has agreed on before (RFC 9113 §3.4).
import LupinCore

package enum HTTP2Preface {
    /// The part by which nothing else begins; nghttp2 reads on and checks the rest.
    private static let beginning = Array("PRI * HTTP/2.0\r\n\r\n".utf8)

    /// Whether `bytes` begin HTTP/2; nil while they are too few to say.
    package static func isThere(_ bytes: Span<UInt8>) -> Bool? {
        let count = min(bytes.count, beginning.count)
        for i in 0..<count where bytes[i] != beginning[i] { return false }
        return count == beginning.count ? true : nil
    }
}
