// The local CA: a certificate that may sign leaves, and its key; generated or loaded.
package import LupinCore

/// The CA that signs the certificates which lupin presents to clients.
package final class CertificateAuthority: Sendable {
    package let certificate: Certificate
    package let key: PrivateKey
    /// Certificates that a client needs besides a leaf to reach a root that it trusts.
    ///
    /// Empty, unless the CA is the user's own and signed by another CA.
    package let chain: [Certificate]
    /// Whether it was made just now, so that no client can trust it yet.
    package let isNew: Bool

    private init(certificate: Certificate, key: PrivateKey, chain: [Certificate], isNew: Bool) {
        self.certificate = certificate
        self.key = key
        self.chain = chain
        self.isNew = isNew
    }

    /// The lifetime of a new CA: ten years, since every client must install its successor.
    private static let lifetimeSeconds: Int64 = 3650 * 86_400
    /// The greatest time that clients' clocks may be behind.
    static let clockSkewSeconds: Int64 = 86_400

    /// Generates a new CA.
    ///
    /// It may sign leaves only (path length 0), so the key of a stolen leaf can't sign anything.
    /// - Parameters:
    ///   - key: Its key.
    ///   - owner: The owner, as `USER@HOST`; shortened to what fits a subject.
    ///   - now: Seconds since 1970.
    /// - Returns: The CA, with `isNew` set.
    /// - Throws: OpenSSL's error.
    package static func make(
        key: PrivateKey,
        owner: String,
        now: Int64
    ) throws(CertificateFailure) -> CertificateAuthority {
        let name = "lupin local authority (\(shortened(owner)), \(CertificateTime.text(now)))"
        var builder = CertificateBuilder(key: key, commonName: name, now: now)
        builder.notBefore = now &- clockSkewSeconds
        builder.notAfter = now &+ lifetimeSeconds
        builder.basicConstraints = .init(isAuthority: true, pathLength: 0)
        builder.keyUsage = [.certificateSigning, .listSigning]
        return CertificateAuthority(
            certificate: try builder.build(),
            key: key,
            chain: [],
            isNew: true
        )
    }

    /// Parses a CA from PEM texts.
    ///
    /// - Parameters:
    ///   - certificates: Its certificate, followed by those up to a root if it is not a root.
    ///   - key: Its key, without passphrase.
    ///   - now: Seconds since 1970.
    /// - Returns: The CA, valid for signing now.
    /// - Throws: What is unreadable; `keyMismatch`, `notAuthority`, `expired` or `notYetValid`.
    package static func parse(
        certificates: Span<UInt8>,
        key: Span<UInt8>,
        now: Int64
    ) throws(CertificateFailure) -> CertificateAuthority {
        let all = try Certificate.parseAll(pem: certificates)
        guard let certificate = all.first else { throw .noCertificate }
        let key = try PrivateKey.parse(pem: key)
        guard key.matches(certificate) else { throw .keyMismatch }
        guard certificate.isAuthority else { throw .notAuthority }
        guard let notBefore = certificate.notBefore, let notAfter = certificate.notAfter else {
            throw .unreadableCertificate
        }
        if now < notBefore { throw .notYetValid(notBefore) }
        if now > notAfter { throw .expired(notAfter) }
        let isRoot = certificate.isSelfIssued
        return CertificateAuthority(
            certificate: certificate,
            key: key,
            // Roots are left out: a client either has the root or doesn't trust the chain.
            chain: isRoot ? [] : all.filter { !$0.isSelfIssued },
            isNew: false
        )
    }

    /// Shortens the owner to fit beside the other words in a common name of 64 characters.
    private static func shortened(_ owner: String) -> String {
        let lettersMax = 28
        let letters = owner.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        guard letters.count > lettersMax else { return String(letters) }
        return String(String.UnicodeScalarView(letters.prefix(lettersMax - 3))) + "..."
    }
}

extension PrivateKey.Algorithm {
    /// The algorithm of `intercept.ca.key_type`.
    package init(_ type: CertificateAuthoritySettings.KeyType) {
        switch type {
        case .p256: self = .p256
        case .rsa2048: self = .rsa2048
        }
    }
}
