// What the file says of certificates: chains and keys, trust anchors, the local authority.

/// A certificate chain and its private key, as files in PEM.
package struct CertificateFiles: Sendable, Hashable {
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// `upstream.tls.roots`.
package struct TrustAnchorSettings: Sendable, Hashable {
    /// The store of the system, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    package var usesSystem = true
    /// PEM files beside it.
    package var files: [String] = []

    package init() {}
}

/// `intercept.ca`.
package struct CertificateAuthoritySettings: Sendable, Hashable {
    package enum KeyType: String, SettingWord, Hashable { case p256, rsa2048 }

    /// Where the authority lies; nil is the place in the user's configuration directory.
    package var files: CertificateFiles?
    package var leafLifetime = Duration.seconds(7 * 86_400)
    package var keyType = KeyType.p256

    package init() {}
}
