// Why a key or certificate could not be read, made or used.
import COpenSSL

/// What is wrong with a key, a certificate or what one should be made of.
///
/// The description is a whole clause for people; it holds neither bytes of a key nor of a peer.
package enum CertificateFailure: Error, Sendable, Hashable {
    case noCertificate
    case unreadableCertificate
    case unreadableKey
    /// A private key under a passphrase, which nobody is there to type.
    case encryptedKey
    /// The private key is not the one of the certificate.
    case keyMismatch
    /// The certificate may not sign others.
    case notAuthority
    /// Seconds since 1970.
    case expired(Int64)
    /// Seconds since 1970.
    case notYetValid(Int64)
    /// A value that can't stand in a certificate, by the name of its property.
    case unusable(String)
    /// OpenSSL failed for a reason of its own, in its words.
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
            "the certificate is not one of an authority (basicConstraints CA:TRUE is missing)"
        case .expired(let time): "the certificate expired on \(CertificateTime.text(time))"
        case .notYetValid(let time):
            "the certificate is valid from \(CertificateTime.text(time)) on; is the clock right?"
        case .unusable(let property): "\(property) can't be written to a certificate"
        case .library(let reason): "OpenSSL failed (\(reason))"
        }
    }

    /// Empties OpenSSL's list of errors into a failure.
    static func taken() -> CertificateFailure {
        // Safety: the text is a constant of the library, or null.
        let reason = unsafe ERR_reason_error_string(ERR_peek_last_error())
        let text = unsafe reason.map { unsafe String(cString: $0) } ?? "no reason given"
        ERR_clear_error()
        return .library(text)
    }
}
