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
    static func problem(
        of path: [Certificate],
        _ anchors: TrustAnchors
    ) -> (TrustProblem, Int)? {
        let isOfWeb = path.last.map { !anchors.isOfFile($0) } ?? true
        for (i, certificate) in path.enumerated() {
            let name = VerificationError.name(certificate, isServers: i == 0)
            guard let contents = CertificateContents(certificate.der) else {
                return (TrustProblem(.malformed, "\(name) is not readable."), i)
            }
            guard isKeyAllowed(contents.keyAlgorithm) else {
                let sentence = "\(name) has a kind of key that servers must not use."
                return (TrustProblem(.weak, sentence), i)
            }
            let isAnchor = i == path.count - 1
            let isLeaf = i == 0 && !isAnchor
            if let (kind, flaw) = constraintFlaw(contents, isLeaf: isLeaf) {
                return (TrustProblem(kind, "\(name) \(flaw)."), i)
            }
            guard anchors.demandsWebForm else { continue }
            if let flaw = keyFlaw(contents) {
                return (TrustProblem(.malformed, "\(name) \(flaw)."), i)
            }
            if isAnchor { continue }
            let flaw = formFlaw(contents) ?? (isLeaf ? leafFlaw(contents, ofWeb: isOfWeb) : nil)
            if let flaw {
                return (TrustProblem(.malformed, "\(name) \(flaw)."), i)
            }
        }
        return nil
    }

    /// The index of the first certificate of a path that constrains names; 0 for none.
    static func firstConstrained(_ path: [Certificate]) -> Int {
        path.indices.dropFirst().first { i in
            CertificateContents(path[i].der)?
                .value(CertificateContents.Identifier.nameConstraints) != nil
        } ?? 0
    }

    // MARK: What protects, everywhere

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
            return (.constraint, "is one of an authority, not of a server")
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
            return "has alternative names that are malformed"
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
        return reader.isAtEnd ? nil : "has alternative names that are malformed"
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
        guard contents.isKeyRSA else { return nil }
        guard let bits = contents.rsaModulusBits else { return "has a malformed RSA key" }
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
        let identifiers = contents.extensions.map(\.identifier)
        guard Set(identifiers).count == identifiers.count else {
            return "has an extension twice"
        }
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
    ///
    /// Below other anchors extendedKeyUsage may be missing, as `openssl x509 -req` leaves it out
    /// and RFC 5280 §4.2.1.12 allows.
    private static func leafFlaw(
        _ contents: CertificateContents,
        ofWeb isOfWeb: Bool
    ) -> String? {
        guard let names = contents.value(CertificateContents.Identifier.alternativeNames) else {
            return "names no host: it has no subjectAltName"
        }
        if names.isCritical, contents.hasSubject {
            return "has a critical subjectAltName beside a subject"
        }
        guard contents.value(CertificateContents.Identifier.purposes) != nil else {
            return isOfWeb ? "does not say what it is for: it has no extendedKeyUsage" : nil
        }
        guard let purposes = contents.purposes else {
            return "has a malformed extendedKeyUsage extension"
        }
        return purposes.contains(where: isForeignPurpose)
            ? "is for more than TLS: its extendedKeyUsage says so" : nil
    }

    /// Purposes that CA/Browser Forum BR §7.1.2.7.10 forbids beside serverAuth.
    private static func isForeignPurpose(_ purpose: [UInt8]) -> Bool {
        let common: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03]
        if purpose.count == 8, purpose.starts(with: common) {
            // Code signing, e-mail, time stamps, OCSP.
            return [3, 4, 8, 9].contains(purpose[7])
        }
        // Any purpose, and precertificates.
        return purpose == [0x55, 0x1D, 0x25, 0x00]
            || purpose == [0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x04, 0x04]
    }
}
