// A private key: generates it, reads and writes PEM, and computes the digest for pins.
import COpenSSL

/// A private key with its public half.
@safe
package final class PrivateKey: Sendable {
    package enum Algorithm: Sendable, Hashable {
        case p256, p384, p521, ed25519
        case rsa(bits: Int)
        /// Any other curve by its OpenSSL name, to test rejection.
        case curve(String)

        package static let rsa2048 = Algorithm.rsa(bits: 2048)
    }

    private let key: LibraryReference

    /// Takes ownership of a reference to an `EVP_PKEY`.
    init(owning key: OpaquePointer) {
        // Safety: the reference is released in deinit and nowhere else.
        unsafe self.key = LibraryReference(key)
    }

    deinit {
        // Safety: this is the reference that `init` took over.
        unsafe EVP_PKEY_free(key.pointer)
    }

    /// Generates a key.
    ///
    /// An elliptic-curve key takes some 20 µs, RSA of 2048 bits some 100 ms.
    package static func generate(
        _ algorithm: Algorithm
    ) throws(CertificateFailure) -> PrivateKey {
        ERR_clear_error()
        // Safety: the names live through the calls, which return a reference or null.
        let made: OpaquePointer? =
            switch algorithm {
            case .p256: unsafe openssl_generate_ec("P-256")
            case .p384: unsafe openssl_generate_ec("P-384")
            case .p521: unsafe openssl_generate_ec("P-521")
            case .ed25519: unsafe openssl_generate_ed25519()
            case .rsa(let bits): unsafe openssl_generate_rsa(UInt32(clamping: bits))
            case .curve(let name): unsafe openssl_generate_ec(name)
            }
        guard let made = unsafe made else { throw CertificateFailure.taken() }
        return unsafe PrivateKey(owning: made)
    }

    /// The first private key of a PEM text, in PKCS#8 or an older form, without passphrase.
    package static func parse(pem: Span<UInt8>) throws(CertificateFailure) -> PrivateKey {
        ERR_clear_error()
        let parsed = unsafe MemoryText.read(pem) { text in
            // Safety: without a callback OpenSSL would ask the terminal for a passphrase.
            unsafe PEM_read_bio_PrivateKey(text, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let parsed = unsafe parsed else {
            ERR_clear_error()
            throw isEncrypted(pem) ? .encryptedKey : .unreadableKey
        }
        return unsafe PrivateKey(owning: parsed)
    }

    /// Lends the key as PEM in PKCS#8, and wipes it when `body` has returned.
    package func withPEM<Result>(
        _ body: (Span<UInt8>) -> Result
    ) throws(CertificateFailure) -> Result {
        ERR_clear_error()
        // Safety: the writer changes the BIO only; freeing a memory BIO wipes what it held.
        let result = unsafe MemoryText.written { text in
            unsafe PEM_write_bio_PKCS8PrivateKey(text, key.pointer, nil, nil, 0, nil, nil) == 1
        } reading: { bytes in
            body(bytes)
        }
        guard let result else { throw CertificateFailure.taken() }
        return result
    }

    /// SHA-256 of the public key in DER (SubjectPublicKeyInfo), which pins contain: 32 bytes.
    package var publicKeyDigest: [UInt8] {
        // Safety: i2d_PUBKEY allocates the encoding, which is freed here.
        var encoding: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PUBKEY(key.pointer, &encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, length > 0 else { return [] }
        return unsafe LibraryDigest.sha256(
            UnsafeBufferPointer(start: encoding, count: Int(length))
        )
    }

    /// Whether `certificate` contains this key.
    package func matches(_ certificate: Certificate) -> Bool {
        ERR_clear_error()
        let matches = unsafe certificate.withX509 { x509 in
            // Safety: both objects are held through the call, which reads them.
            unsafe X509_check_private_key(x509, key.pointer) == 1
        }
        ERR_clear_error()
        return matches
    }

    /// Whether it is an RSA key, which can also encrypt other keys.
    package var isRSA: Bool { unsafe EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA }

    /// Lends the `EVP_PKEY` to calls of OpenSSL, which may take references of their own.
    func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        // Safety: `self` holds the key until `body` has returned.
        let result = unsafe body(key.pointer)
        withExtendedLifetime(self) {}
        return result
    }

    /// Whether a PEM text marks its key as encrypted.
    private static func isEncrypted(_ pem: Span<UInt8>) -> Bool {
        let words = Array("ENCRYPTED".utf8)
        guard pem.count >= words.count else { return false }
        for start in 0...(pem.count - words.count)
        where words.indices.allSatisfy({ pem[start + $0] == words[$0] }) {
            return true
        }
        return false
    }
}
