// What a certificate may be used for: to be a server's, or to issue those of servers.

/// The purposes that the certificates of a path to a TLS server need.
///
/// This replaces OpenSSL's check for `ssl_server`, which takes the server gated cryptography of
/// Microsoft and Netscape for serverAuth, and refuses CAs for any purpose.
enum CertificatePurpose {
    private static let server: [UInt8] = common + [1]
    private static let any: [UInt8] = [0x55, 0x1D, 0x25, 0x00]
    private static let common: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03]

    /// Why no server may have the certificate; nil if one may.
    ///
    /// TLS 1.3 demands digitalSignature where there is a keyUsage (RFC 8446 §4.4.2.2); `mustSign`
    /// is false for TLS 1.2, where an RSA key may encrypt instead.
    static func serverFlaw(_ contents: CertificateContents, mustSign: Bool) -> String? {
        if contents.value(CertificateContents.Identifier.purposes) != nil,
            contents.purposes?.contains(server) != true
        {
            return "is not for servers: its extendedKeyUsage lacks serverAuth"
        }
        if let usage = contents.keyUsage {
            if mustSign, !usage.contains(.digitalSignature) {
                return "is not for TLS 1.3: its keyUsage lacks digitalSignature"
            }
            if usage.isDisjoint(with: [.digitalSignature, .keyEncipherment, .keyAgreement]) {
                return "is not for TLS: its keyUsage lacks digitalSignature"
            }
        }
        if let type = contents.value(CertificateContents.Identifier.netscapeType)?.value,
            // A BIT STRING, whose second bit stands for a server.
            type.count != 4 || type[3] & 0x40 == 0
        {
            return "is not for servers: its Netscape certificate type does not say so"
        }
        return nil
    }

    /// Why a CA with the certificate may not issue those of servers; nil if it may.
    ///
    /// "If a CA includes extended key usages to satisfy such applications, but does not wish to
    /// restrict usages of the key, the CA can include the special KeyPurposeId
    /// anyExtendedKeyUsage" (RFC 5280 §4.2.1.12).
    static func issuerFlaw(_ contents: CertificateContents) -> String? {
        guard contents.value(CertificateContents.Identifier.purposes) != nil else { return nil }
        let purposes = contents.purposes ?? []
        return purposes.contains(server) || purposes.contains(any)
            ? nil : "may not issue for servers: its extendedKeyUsage lacks serverAuth"
    }

    /// Why the certificate is no CA's (RFC 5280 §6.1.4 (k), (n)); nil if it is one.
    static func authorityFlaw(_ contents: CertificateContents) -> String? {
        guard contents.version == 3 else {
            return "is no CA's: it is of version \(contents.version), without basicConstraints"
        }
        guard contents.value(CertificateContents.Identifier.basicConstraints) != nil else {
            return "is no CA's: it has no basicConstraints"
        }
        guard contents.claimsAuthority else {
            return "is no CA's: its basicConstraints say CA:FALSE"
        }
        return contents.keyUsage?.contains(.certificateSigning) ?? true
            ? nil : "may not sign certificates: its keyUsage lacks keyCertSign"
    }

    /// What the Web demands of the extendedKeyUsage of a server's certificate.
    ///
    /// `isOfWeb` is whether the anchor is one of the system's. Below other anchors extendedKeyUsage
    /// may be missing, as `openssl x509 -req` leaves it out and RFC 5280 §4.2.1.12 allows.
    static func webFlaw(_ contents: CertificateContents, ofWeb isOfWeb: Bool) -> String? {
        guard let purposes = contents.purposes else {
            return isOfWeb ? "does not say what it is for: it has no extendedKeyUsage" : nil
        }
        return purposes.contains(where: isForeign)
            ? "is for more than TLS: its extendedKeyUsage says so" : nil
    }

    /// Purposes that CA/Browser Forum BR §7.1.2.7.10 forbids beside serverAuth.
    private static func isForeign(_ purpose: [UInt8]) -> Bool {
        if purpose.count == 8, purpose.starts(with: common) {
            // Code signing, e-mail, time stamps, OCSP.
            return [3, 4, 8, 9].contains(purpose[7])
        }
        // Any purpose, and precertificates.
        return purpose == any
            || purpose == [0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x04, 0x04]
    }
}
