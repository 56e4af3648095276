// Which extensions of a certificate are encoded as RFC 5280 allows.
import LupinCore

/// The encodings of the extensions that decide about a path.
///
/// OpenSSL does not take a certificate with an extension that it can't read for anybody's issuer or
/// subject, and tells no reason.
enum ExtensionForm {
    static let malformedNames = "has a malformed subjectAltName"

    /// The first extension that RFC 5280 §4.2 does not let a certificate have in this form.
    static func flaw(_ contents: CertificateContents) -> (TrustProblem.Kind, String)? {
        let identifiers = contents.extensions.map(\.identifier)
        guard Set(identifiers).count == identifiers.count else {
            return (.malformed, "has an extension twice")
        }
        for part in contents.extensions {
            switch part.identifier {
            case CertificateContents.Identifier.nameConstraints:
                if NameConstraints(part.value) == nil {
                    return (.constraint, NameConstraints.malformed)
                }
            case CertificateContents.Identifier.proxy:
                return (.malformed, "is a proxy certificate (RFC 3820), which is no server's")
            default:
                if let flaw = flaw(part) { return (.malformed, flaw) }
            }
        }
        return nil
    }

    private static func flaw(_ part: CertificateContents.Extension) -> String? {
        switch part.identifier {
        case CertificateContents.Identifier.alternativeNames:
            isList(part.value) ? nil : malformedNames
        case CertificateContents.Identifier.purposes:
            isList(part.value, of: [0x06]) ? nil : "has a malformed extendedKeyUsage"
        case CertificateContents.Identifier.keyUsage:
            isUsage(part.value) ? nil : "has a malformed or empty keyUsage"
        case CertificateContents.Identifier.basicConstraints:
            isBasic(part.value) ? nil : "has malformed basicConstraints"
        case CertificateContents.Identifier.listLocations:
            isList(part.value, of: [0x30]) ? nil : "has malformed cRLDistributionPoints"
        case CertificateContents.Identifier.authorityKey:
            isList(part.value, of: [0x80, 0xA1, 0x82], mayBeEmpty: true)
                ? nil : "has a malformed authorityKeyIdentifier"
        case CertificateContents.Identifier.subjectKey:
            isValue(part.value, tag: 0x04) ? nil : "has a malformed subjectKeyIdentifier"
        default: nil
        }
    }

    /// Whether bytes are one SEQUENCE of values with these tags, nil for any.
    private static func isList(
        _ value: [UInt8],
        of tags: [UInt8]? = nil,
        mayBeEmpty: Bool = false
    ) -> Bool {
        var outer = DERReader(value)
        guard let list = outer.next(tag: 0x30), outer.isAtEnd, mayBeEmpty || !list.isEmpty else {
            return false
        }
        var reader = DERReader(list)
        while let part = reader.next() {
            guard tags?.contains(part.tag) ?? true else { return false }
        }
        return reader.isAtEnd
    }

    /// Whether bytes are one value with this tag.
    private static func isValue(_ value: [UInt8], tag: UInt8) -> Bool {
        var reader = DERReader(value)
        return reader.next(tag: tag) != nil && reader.isAtEnd
    }

    /// Whether bytes are a BIT STRING in which "at least one of the bits MUST be set" (§4.2.1.3).
    private static func isUsage(_ value: [UInt8]) -> Bool {
        var reader = DERReader(value)
        guard let bits = reader.next(tag: 0x03), reader.isAtEnd, let unused = bits.first else {
            return false
        }
        return unused < 8 && bits.dropFirst().contains { $0 != 0 }
    }

    /// Whether bytes are a SEQUENCE of an optional BOOLEAN and an optional INTEGER (§4.2.1.9).
    private static func isBasic(_ value: [UInt8]) -> Bool {
        var outer = DERReader(value)
        guard let fields = outer.next(tag: 0x30), outer.isAtEnd else { return false }
        var reader = DERReader(fields)
        _ = reader.next(tag: 0x01)
        _ = reader.next(tag: 0x02)
        return reader.isAtEnd
    }
}
