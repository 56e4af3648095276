// The forms in which clients' stores import the CA's certificate; the key is never exported.
import COpenSSL

/// The forms in which stores import a certificate.
package enum AuthorityExport {
    /// Text, for most tools on Unix.
    package static func pem(_ certificate: Certificate) -> [UInt8] { certificate.pem }

    /// Binary, for Windows and Android.
    package static func der(_ certificate: Certificate) -> [UInt8] { certificate.der }

    /// PKCS#12, for Java and other stores that require a password.
    ///
    /// The certificate is public and unencrypted; the password only protects it against changes.
    /// Java trusts the certificate because of an Oracle attribute.
    /// - Parameters:
    ///   - certificate: The CA's.
    ///   - name: The name that stores show for it.
    ///   - password: The password that the store will ask for.
    /// - Returns: A whole file.
    /// - Throws: OpenSSL's error.
    package static func pkcs12(
        _ certificate: Certificate,
        name: String,
        password: String
    ) throws(CertificateFailure) -> [UInt8] {
        ERR_clear_error()
        let password = Array(password.utf8.map { CChar(bitPattern: $0) }) + [0]
        // Safety: every object is freed here; the certificate is held by `withX509`.
        guard let purpose = unsafe OBJ_txt2obj(CertificateBuilder.Purpose.any, 1) else {
            throw CertificateFailure.taken()
        }
        defer { unsafe ASN1_OBJECT_free(purpose) }
        let bags = unsafe certificate.withX509 {
            unsafe openssl_trusted_bags($0, name, trustedKeyUsage, purpose)
        }
        guard let bags = unsafe bags, let file = unsafe openssl_pkcs12_of_bags(bags) else {
            throw CertificateFailure.taken()
        }
        defer { unsafe PKCS12_free(file) }
        let length = Int32(clamping: password.count - 1)
        let isSealed = unsafe PKCS12_set_mac(
            file,
            password,
            length,
            nil,
            0,
            iterations,
            EVP_sha256()
        )
        guard isSealed == 1 else { throw CertificateFailure.taken() }
        var encoding: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PKCS12(file, &encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, count > 0 else { throw CertificateFailure.taken() }
        return unsafe Array(UnsafeBufferPointer(start: encoding, count: Int(count)))
    }

    /// Oracle's trustedKeyUsage.
    private static let trustedKeyUsage = "2.16.840.1.113894.746875.1.1"
    /// OpenSSL's default: guessing the password reveals only public data.
    private static let iterations: Int32 = 2048
}
