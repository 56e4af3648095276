// How a certificate of ours and its key become what a TLS connection shows.

extension TLSIdentity {
    /// A certificate with its key and the certificates behind it, the nearest issuer first.
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
