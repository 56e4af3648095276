// What of a rules file only OpenSSL can judge, which this floor does not know.

/// Says why a value would fail when TLS begins; nil where it would not.
package struct TLSJudgement: Sendable {
    /// Of a cipher list for origins.
    package var ciphers: @Sendable (String) -> String?
    /// Of certificates in PEM, our own first, with its key.
    package var identity: @Sendable (_ certificates: [UInt8], _ key: [UInt8]) -> String?
    /// Of certificates in PEM: the day on which the first one expired; nil while it is valid.
    package var expiry: @Sendable (_ certificates: [UInt8]) -> String?

    package init(
        ciphers: @escaping @Sendable (String) -> String?,
        identity: @escaping @Sendable ([UInt8], [UInt8]) -> String?,
        expiry: @escaping @Sendable ([UInt8]) -> String?
    ) {
        self.ciphers = ciphers
        self.identity = identity
        self.expiry = expiry
    }
}
