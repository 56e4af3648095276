// Builds certificates: valid ones for lupin, broken ones for tests.
import COpenSSL
package import LupinCore

/// The contents of a certificate; `build` signs it.
///
/// Only OpenSSL checks them: tests need certificates that must be rejected.
package struct CertificateBuilder: Sendable {
    /// The issuer, whose key need not be the certificate's.
    package enum Issuer: Sendable {
        /// Self-signed: the certificate's own key, under its own subject.
        case itself
        case authority(Certificate, PrivateKey)
    }

    /// keyUsage (RFC 5280 §4.2.1.3), by bit number.
    package struct KeyUsage: OptionSet, Sendable, Hashable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let digitalSignature = KeyUsage(rawValue: 1 << 0)
        package static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
        package static let keyAgreement = KeyUsage(rawValue: 1 << 4)
        package static let certificateSigning = KeyUsage(rawValue: 1 << 5)
        package static let listSigning = KeyUsage(rawValue: 1 << 6)
    }

    /// Purposes of extendedKeyUsage by object identifier.
    package enum Purpose {
        package static let any = "2.5.29.37.0"
        package static let server = "1.3.6.1.5.5.7.3.1"
        package static let client = "1.3.6.1.5.5.7.3.2"
        package static let code = "1.3.6.1.5.5.7.3.3"
        package static let ocspSigning = "1.3.6.1.5.5.7.3.9"
    }

    package struct BasicConstraints: Sendable, Hashable {
        package var isAuthority: Bool
        package var pathLength: Int?
        package var isCritical: Bool

        package init(isAuthority: Bool, pathLength: Int? = nil, isCritical: Bool = true) {
            self.isAuthority = isAuthority
            self.pathLength = pathLength
            self.isCritical = isCritical
        }
    }

    /// One base of a name constraint (RFC 5280 §4.2.1.10).
    package enum Subtree: Sendable, Hashable {
        case dns(String)
        case addresses(CIDR)
        /// Any other kind by its tag number.
        case other(tag: UInt8, contents: [UInt8])
    }

    package struct NameConstraints: Sendable, Hashable {
        package var permitted: [Subtree]
        package var excluded: [Subtree]
        package var isCritical: Bool

        package init(
            permitted: [Subtree] = [],
            excluded: [Subtree] = [],
            isCritical: Bool = true
        ) {
            self.permitted = permitted
            self.excluded = excluded
            self.isCritical = isCritical
        }
    }

    package typealias Extension = Certificate.Extension

    package enum Digest: Sendable, Hashable {
        /// SHA-256, SHA-384 for P-384, none for Ed25519.
        case automatic
        case md5, sha1, sha256, sha384, sha512
    }

    /// The certificate's key.
    package var key: PrivateKey
    /// nil makes an empty subject; X.509 allows 64 characters.
    package var commonName: String?
    package var organization: String?
    package var issuer = Issuer.itself
    /// Seconds since 1970.
    package var notBefore: Int64
    /// Seconds since 1970; the certificate is valid in that second too.
    package var notAfter: Int64
    /// Writes times as GeneralizedTime even before 2050, where RFC 5280 §4.1.2.5 requires UTCTime.
    package var usesGeneralizedTime = false
    /// Content bytes of the serial number in two's complement; nil for 127 random bits.
    package var serial: [UInt8]?
    /// The encoded version; below 3 a certificate should have no extensions.
    package var version = 3
    package var basicConstraints: BasicConstraints?
    package var keyUsage: KeyUsage?
    package var keyUsageIsCritical = true
    /// Object identifiers of ``Purpose`` or others; empty for no extension.
    package var purposes: [String] = []
    package var alternativeNames: [Certificate.AlternativeName] = []
    package var nameConstraints: NameConstraints?
    /// The URL of the OCSP responder.
    package var ocspURL: String?
    /// The URL of the revocation list.
    package var revocationListURL: String?
    package var hasSubjectKeyIdentifier = true
    /// A self-signed certificate has none in any case.
    package var hasAuthorityKeyIdentifier = true
    /// Appended to the others unchanged.
    package var extensions: [Extension] = []
    package var digest = Digest.automatic

    /// Makes a certificate for `key`, valid for a day from an hour before `now` by default.
    ///
    /// - Parameters:
    ///   - key: The certificate's key, which also signs it unless another issuer does.
    ///   - commonName: Of the subject; nil for an empty subject.
    ///   - now: Seconds since 1970.
    package init(key: PrivateKey, commonName: String?, now: Int64) {
        self.key = key
        self.commonName = commonName
        notBefore = now &- 3600
        notAfter = now &+ 86_400
    }
}
