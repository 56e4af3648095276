// Requirements on the certificates of a path beyond OpenSSL's checks.
import LupinCore

/// The rules of RFC 5280 and of the CA/Browser Forum that all certificates of the public Web keep.
///
/// Some rules are not enforced, since certificates in use break them or enforcing them gains
/// nothing: that the common name be one of the alternative names, that name constraints be critical
/// or without a leading dot, that extendedKeyUsage be uncritical, or be there at all below an
/// anchor of a file, and any form of a root's own extensions and serial number.
enum CertificateForm {
    /// The first problem of a path that OpenSSL accepted, and its index in the path.
    ///
    /// If the anchor is the server's own certificate, the user chose it: its form is not checked.
    /// `mustSign` is whether the server's key signs the handshake, `mustNameHost` whether its
    /// certificate is for one host.
    static func problem(
        of path: [Certificate],
        _ anchors: TrustAnchors,
        mustSign: Bool,
        mustNameHost: Bool
    ) -> (TrustProblem, Int)? {
        let isOfWeb = path.last.map { !anchors.isOfFile($0) } ?? true
        for (i, certificate) in path.enumerated() {
            let name = VerificationError.name(certificate, isServers: i == 0)
            guard let contents = CertificateContents(certificate.der) else {
                return (TrustProblem(.malformed, "\(name) is not readable."), i)
            }
            if let flaw = weakness(contents) { return (TrustProblem(.weak, "\(name) \(flaw)."), i) }
            let isAnchor = i == path.count - 1
            let isLeaf = i == 0 && !isAnchor
            if let (kind, flaw) = constraintFlaw(contents, isLeaf: isLeaf) {
                return (TrustProblem(kind, "\(name) \(flaw)."), i)
            }
            let purposeFlaw =
                i == 0
                ? CertificatePurpose.serverFlaw(contents, mustSign: mustSign)
                : CertificatePurpose.issuerFlaw(contents)
            if let purposeFlaw {
                return (TrustProblem(.constraint, "\(name) \(purposeFlaw)."), i)
            }
            guard anchors.demandsWebForm else { continue }
            if let flaw = keyFlaw(contents) {
                return (TrustProblem(.malformed, "\(name) \(flaw)."), i)
            }
            if isAnchor { continue }
            let flaw =
                formFlaw(contents)
                ?? (isLeaf ? leafFlaw(contents, isOfWeb, mustNameHost: mustNameHost) : nil)
            if let flaw {
                return (TrustProblem(.malformed, "\(name) \(flaw)."), i)
            }
        }
        return nil
    }

    // MARK: What protects, everywhere

    private static func weakness(_ contents: CertificateContents) -> String? {
        guard isKeyAllowed(contents.keyAlgorithm) else {
            return "has a kind of key that servers must not use"
        }
        guard contents.isKeyRSA else { return nil }
        guard let (_, exponent) = contents.rsaKey else { return "has a malformed RSA key" }
        // "The value of the public exponent is an odd number equal to 3 or more" (CA/Browser Forum
        // BR §6.1.6). With 1, anyone can sign.
        let isSound =
            exponent.first.map { $0 < 0x80 } == true && exponent.last.map { $0 & 1 } == 1
            && Array(exponent.drop { $0 == 0 }) != [1]
        return isSound ? nil : "has an RSA key with a public exponent that is even or below 3"
    }

    /// RSA, P-256, P-384, P-521 and Ed25519; OpenSSL checks the size of an RSA key.
    private static func isKeyAllowed(_ algorithm: [UInt8]) -> Bool {
        var reader = DERReader(algorithm)
        guard let identifier = reader.next(tag: 0x06) else { return false }
        switch Array(identifier) {
        case CertificateContents.Identifier.rsa, [0x2B, 0x65, 0x70]: return true
        case [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]:
            let curves: [[UInt8]] = [
                [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], [0x2B, 0x81, 0x04, 0x00, 0x22],
                [0x2B, 0x81, 0x04, 0x00, 0x23],
            ]
            return reader.next(tag: 0x06).map { curves.contains(Array($0)) } ?? false
        default: return false
        }
    }

    private static func constraintFlaw(
        _ contents: CertificateContents,
        isLeaf: Bool
    ) -> (TrustProblem.Kind, String)? {
        if let constraints = contents.value(CertificateContents.Identifier.nameConstraints) {
            // "MUST be used only in a CA certificate" (RFC 5280 §4.2.1.10).
            if isLeaf { return (.constraint, "has name constraints, which only authorities may") }
            guard NameConstraints(constraints.value) != nil else {
                return (.constraint, NameConstraints.malformed)
            }
        }
        guard isLeaf else { return nil }
        if contents.claimsAuthority {
            let flaw =
                "is that of a CA, not of a server; or the server sends its certificates in the"
            return (.constraint, flaw + " wrong order")
        }
        if let flaw = nameFlaw(contents) { return (.malformed, flaw) }
        return nil
    }

    /// A letter, digit, hyphen, dot or, as in use, an underscore.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    /// What is wrong with the alternative names of a server's certificate.
    private static func nameFlaw(_ contents: CertificateContents) -> String? {
        guard let value = contents.value(CertificateContents.Identifier.alternativeNames)?.value
        else { return nil }
        var outer = DERReader(value)
        guard let list = outer.next(tag: 0x30), outer.isAtEnd else {
            return ExtensionForm.malformedNames
        }
        var reader = DERReader(list)
        while let name = reader.next() {
            switch name.tag {
            case 0x82 where !isDNSName(name.contents):
                return "has an alternative name that is no host name"
            case 0x87 where name.contents.count != 4 && name.contents.count != 16:
                return "has an alternative name that is no IP address"
            default: break
            }
        }
        return reader.isAtEnd ? nil : ExtensionForm.malformedNames
    }

    /// Whether bytes are labels separated by dots.
    ///
    /// Asterisks are allowed here, and matched elsewhere.
    private static func isDNSName(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.count <= 253 else { return false }
        let labels = name.split(separator: 0x2E, omittingEmptySubsequences: false)
        return labels.allSatisfy { label in
            !label.isEmpty && label.count <= 63 && label.allSatisfy { isNameByte($0) || $0 == 0x2A }
        }
    }

    // MARK: What the Web demands

    /// "The modulus size, in bits, is evenly divisible by 8" (CA/Browser Forum BR §6.1.5).
    private static func keyFlaw(_ contents: CertificateContents) -> String? {
        guard let (bits, _) = contents.rsaKey else { return nil }
        return bits.isMultiple(of: 8) ? nil : "has an RSA key of \(bits) bits, no multiple of 8"
    }

    private static func formFlaw(_ contents: CertificateContents) -> String? {
        guard contents.version == 3 else { return "is not of version 3" }
        let serial = contents.serial
        // RFC 5280 §4.1.2.2: positive, and at most 20 octets.
        guard (1...20).contains(serial.count), serial[0] < 0x80, serial.contains(where: { $0 > 0 })
        else { return "has a serial number that is zero, negative or too long" }
        guard contents.times.count == 2, contents.times.allSatisfy(isTimeInForm) else {
            return "writes its validity in the wrong form"
        }
        if let (_, flaw) = ExtensionForm.flaw(contents) { return flaw }
        guard contents.accessLocations([]) != nil else {
            return "has a malformed authorityInfoAccess extension"
        }
        if let constraints = contents.value(CertificateContents.Identifier.policyConstraints),
            !constraints.isCritical
        {
            return "has policy constraints that are not critical"
        }
        return nil
    }

    /// UTCTime through 2049 and GeneralizedTime from 2050 on, in seconds and UTC (§4.1.2.5).
    private static func isTimeInForm(_ time: DERReader.Value) -> Bool {
        let digits = time.contents.dropLast()
        guard time.contents.last == 0x5A, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return false
        }
        switch (time.tag, digits.count) {
        case (0x17, 12): return true
        case (0x18, 14):
            return NumberReader.fixed(digits.span, at: 0, digits: 4).map { $0 >= 2050 } ?? false
        default: return false
        }
    }

    /// `isOfWeb` is whether the anchor is one of the system's.
    private static func leafFlaw(
        _ contents: CertificateContents,
        _ isOfWeb: Bool,
        mustNameHost: Bool
    ) -> String? {
        let names = contents.value(CertificateContents.Identifier.alternativeNames)
        if names == nil, mustNameHost {
            return "has no subjectAltName, so it is for no host; `trust: {system: {host: false}}` "
                + "accepts it"
        }
        if let names, names.isCritical, contents.hasSubject {
            return "has a critical subjectAltName beside a subject"
        }
        return CertificatePurpose.webFlaw(contents, ofWeb: isOfWeb)
    }
}
