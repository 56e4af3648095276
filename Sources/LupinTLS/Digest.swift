// Digests that lupin computes, with OpenSSL.
import COpenSSL

/// HMAC-SHA256 under a key that lives as long as the process.
///
/// Equal inputs have equal digests, and neither another run nor a reader of the log can guess the
/// input.
package struct KeyedDigest: Sendable {
    private let key: [UInt8]

    /// A digest under a new random key.
    package init() { key = RandomSource.bytes(count: 32) }

    /// A digest under a given key, for tests.
    package init(key: [UInt8]) { self.key = key }

    /// The first 16 bits of the digest of `bytes`.
    package func sha256Prefix16(_ bytes: Span<UInt8>) -> UInt16 {
        let digest = sha256(bytes)
        guard digest.count >= 2 else { return 0 }
        return UInt16(digest[0]) << 8 | UInt16(digest[1])
    }

    /// The first 64 bits of the digest of a text.
    package func number(of text: String) -> UInt64 {
        sha256(text.utf8Span.span).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The whole digest: 32 bytes; empty if OpenSSL fails.
    package func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let keyLength = Int32(truncatingIfNeeded: key.count)
        // Safety: HMAC reads the two spans and writes at most EVP_MAX_MD_SIZE bytes.
        let result = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe HMAC(
                EVP_sha256(),
                key,
                keyLength,
                input.baseAddress,
                input.count,
                &digest,
                &length
            )
        }
        guard unsafe result != nil else { return [] }
        return Array(digest.prefix(Int(length)))
    }
}

/// Digests without a key.
package enum MessageDigest {
    /// SHA-1, which WebSocket requires (RFC 6455 §4.2.2); it protects nothing.
    package static func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_sha1 is a constant of the library.
        unsafe digest(bytes, EVP_sha1())
    }

    /// SHA-256.
    package static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_sha256 is a constant of the library.
        unsafe digest(bytes, EVP_sha256())
    }

    /// MD5, which old Digest authentication requires (RFC 7616 §3.3).
    ///
    /// Empty on machines whose policy forbids it.
    package static func md5(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_md5 is a constant of the library.
        unsafe digest(bytes, EVP_md5())
    }

    /// The digest; empty if OpenSSL fails.
    private static func digest(_ bytes: Span<UInt8>, _ function: OpaquePointer?) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        // Safety: EVP_Digest reads the span and writes at most EVP_MAX_MD_SIZE bytes.
        let result = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe EVP_Digest(input.baseAddress, input.count, &digest, &length, function, nil)
        }
        return result == 1 ? Array(digest.prefix(Int(length))) : []
    }
}
