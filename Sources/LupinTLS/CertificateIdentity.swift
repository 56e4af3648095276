// Combines a certificate and its key into the identity that a TLS connection presents.

extension TLSIdentity {
    /// A certificate with its key and its chain, the nearest issuer first.
    ///
    /// - Throws: `keyMismatch`.
    package convenience init(
        _ certificate: Certificate,
        chain: [Certificate] = [],
        key: PrivateKey
    ) throws(CertificateFailure) {
        // Safety: the objects are held until `init` has taken references of its own.
        do throws(TLSFailure) {
            try unsafe self.init(
                certificate: certificate.withX509 { unsafe $0 },
                chain: chain.map { unsafe $0.withX509 { unsafe $0 } },
                key: key.withKey { unsafe $0 }
            )
        } catch {
            throw error.kind == .badIdentity ? .keyMismatch : .library(error.reason)
        }
        withExtendedLifetime((certificate, chain, key)) {}
    }
}
