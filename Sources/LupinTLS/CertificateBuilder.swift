// How certificates are made, good ones for lupin and broken ones for tests: what stands in them.
import COpenSSL
package import LupinCore

/// What a certificate shall say; `build` signs it.
///
/// OpenSSL's checks are the only ones: tests need certificates that nobody should accept.
package struct CertificateBuilder: Sendable {
    /// Who signs, with a key that need not be the one of the certificate.
    package enum Issuer: Sendable {
        /// The key that the certificate is about, under its own subject.
        case itself
        case authority(Certificate, PrivateKey)
    }

    /// keyUsage (RFC 5280 §4.2.1.3), by bit number.
    package struct KeyUsage: OptionSet, Sendable, Hashable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let digitalSignature = KeyUsage(rawValue: 1 << 0)
        package static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
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

    /// The key that the certificate is about.
    package var key: PrivateKey
    /// Nil makes an empty subject; X.509 allows 64 letters.
    package var commonName: String?
    package var organization: String?
    package var issuer = Issuer.itself
    /// Seconds since 1970.
    package var notBefore: Int64
    /// Seconds since 1970; the certificate is valid in that second too.
    package var notAfter: Int64
    /// Times are GeneralizedTime even before 2050, where RFC 5280 §4.1.2.5 wants UTCTime.
    package var usesGeneralizedTime = false
    /// Content bytes of the serial number in two's complement; nil for 127 random bits.
    package var serial: [UInt8]?
    /// The version that is written; below 3 no extension should stand beside it.
    package var version = 3
    package var basicConstraints: BasicConstraints?
    package var keyUsage: KeyUsage?
    package var keyUsageIsCritical = true
    /// Object identifiers of ``Purpose`` or others; empty for no extension.
    package var purposes: [String] = []
    package var alternativeNames: [Certificate.AlternativeName] = []
    package var nameConstraints: NameConstraints?
    /// Where OCSP is asked.
    package var ocspURL: String?
    /// Where the revocation list lies.
    package var revocationListURL: String?
    package var hasSubjectKeyIdentifier = true
    /// A certificate that signs itself has none in any case.
    package var hasAuthorityKeyIdentifier = true
    /// Written after the others, as they are.
    package var extensions: [Extension] = []
    package var digest = Digest.automatic

    /// A certificate about `key`, valid for a day from an hour before `now` unless changed.
    ///
    /// - Parameters:
    ///   - key: What the certificate is about, and signs it if nobody else does.
    ///   - commonName: Of the subject; nil for an empty subject.
    ///   - now: Seconds since 1970.
    package init(key: PrivateKey, commonName: String?, now: Int64) {
        self.key = key
        self.commonName = commonName
        notBefore = now &- 3600
        notAfter = now &+ 86_400
    }
}
