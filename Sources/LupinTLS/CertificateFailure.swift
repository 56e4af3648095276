// Why a key or certificate could not be read, made or used.
import COpenSSL

/// What is wrong with a key, with a certificate, or with the values for a new one.
///
/// The description is a clause for users; it contains no bytes of a key or of a peer.
package enum CertificateFailure: Error, Sendable, Hashable {
    case noCertificate
    case unreadableCertificate
    case unreadableKey
    /// The private key is encrypted, and there is no one to enter its passphrase.
    case encryptedKey
    /// The private key does not match the certificate.
    case keyMismatch
    /// The certificate may not sign others.
    case notAuthority
    /// Seconds since 1970.
    case expired(Int64)
    /// Seconds since 1970.
    case notYetValid(Int64)
    /// A value that a certificate can't contain, by the name of its property.
    case unusable(String)
    /// OpenSSL failed for a reason of its own; the text is OpenSSL's.
    case library(String)
}

extension CertificateFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noCertificate: "there is no certificate in PEM"
        case .unreadableCertificate: "the certificate is damaged or not in X.509"
        case .unreadableKey: "there is no readable private key in PEM"
        case .encryptedKey:
            "the private key is encrypted; "
                + "write it without passphrase: openssl pkey -in OLD -out NEW"
        case .keyMismatch: "the private key does not belong to the certificate"
        case .notAuthority:
            "the certificate is not one of a CA (basicConstraints CA:TRUE is missing)"
        case .expired(let time): "the certificate expired on \(CertificateTime.text(time))"
        case .notYetValid(let time):
            "the certificate is valid from \(CertificateTime.text(time)) on; is the clock right?"
        case .unusable(let property): "\(property) can't be written to a certificate"
        case .library(let reason): "OpenSSL failed (\(reason))"
        }
    }

    /// Clears OpenSSL's error queue and returns it as a failure.
    static func taken() -> CertificateFailure {
        // Safety: the text is a constant of the library, or null.
        let reason = unsafe ERR_reason_error_string(ERR_peek_last_error())
        let text = unsafe reason.map { unsafe String(cString: $0) } ?? "no reason given"
        ERR_clear_error()
        return .library(text)
    }
}
