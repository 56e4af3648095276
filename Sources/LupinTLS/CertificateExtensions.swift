// Encodes the extensions of a new certificate (RFC 5280 §4.2).
import LupinCore

extension CertificateBuilder {
    /// All extensions except the two key identifiers, which need the finished keys.
    func encodedExtensions() throws(CertificateFailure) -> [Extension] {
        var result: [Extension] = []
        if let basicConstraints { result.append(Self.encoded(basicConstraints)) }
        if let keyUsage {
            result.append(
                Extension(
                    identifier: "2.5.29.15",
                    isCritical: keyUsageIsCritical,
                    der: DEREncoding.namedBits(keyUsage.rawValue)
                )
            )
        }
        if !purposes.isEmpty { result.append(try Self.encoded(purposes: purposes)) }
        if !alternativeNames.isEmpty {
            result.append(
                Extension(
                    identifier: "2.5.29.17",
                    // "MUST mark subjectAltName as critical" if the subject is empty (§4.1.2.6).
                    isCritical: commonName == nil && organization == nil,
                    der: DEREncoding.sequence(alternativeNames.map(Self.encoded))
                )
            )
        }
        if let nameConstraints { result.append(Self.encoded(nameConstraints)) }
        if let ocspURL { result.append(try Self.encoded(ocspURL: ocspURL)) }
        if let revocationListURL {
            result.append(Self.encoded(revocationListURL: revocationListURL))
        }
        return result + extensions
    }

    /// The key identifier extension: RFC 7093 §2 method 1, which needs no SHA-1.
    static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Extension {
        Extension(identifier: "2.5.29.14", der: DEREncoding.octetString(identifier))
    }

    static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Extension {
        let value = DEREncoding.value(tag: 0x80, identifier)
        return Extension(identifier: "2.5.29.35", der: DEREncoding.sequence([value]))
    }

    private static func encoded(_ constraints: BasicConstraints) -> Extension {
        var fields: [[UInt8]] = []
        // FALSE is the default, which DER omits.
        if constraints.isAuthority { fields.append(DEREncoding.boolean(true)) }
        if let length = constraints.pathLength { fields.append(DEREncoding.integer(length)) }
        return Extension(
            identifier: "2.5.29.19",
            isCritical: constraints.isCritical,
            der: DEREncoding.sequence(fields)
        )
    }

    private static func encoded(purposes: [String]) throws(CertificateFailure) -> Extension {
        var identifiers: [[UInt8]] = []
        for purpose in purposes {
            guard let identifier = DEREncoding.objectIdentifier(purpose) else {
                throw .unusable("the purpose")
            }
            identifiers.append(identifier)
        }
        return Extension(identifier: "2.5.29.37", der: DEREncoding.sequence(identifiers))
    }

    private static func encoded(_ constraints: NameConstraints) -> Extension {
        var fields: [[UInt8]] = []
        for (tag, subtrees) in [(0xA0, constraints.permitted), (0xA1, constraints.excluded)]
            as [(UInt8, [Subtree])] where !subtrees.isEmpty
        {
            let bases = subtrees.map { DEREncoding.sequence([encoded($0)]) }
            fields.append(DEREncoding.value(tag: tag, bases.flatMap(\.self)))
        }
        return Extension(
            identifier: "2.5.29.30",
            isCritical: constraints.isCritical,
            der: DEREncoding.sequence(fields)
        )
    }

    private static func encoded(ocspURL: String) throws(CertificateFailure) -> Extension {
        guard let method = DEREncoding.objectIdentifier("1.3.6.1.5.5.7.48.1") else {
            throw .unusable("the OCSP method")
        }
        let location = DEREncoding.value(tag: 0x86, Array(ocspURL.utf8))
        return Extension(
            identifier: "1.3.6.1.5.5.7.1.1",
            der: DEREncoding.sequence([DEREncoding.sequence([method, location])])
        )
    }

    private static func encoded(revocationListURL: String) -> Extension {
        let name = DEREncoding.value(tag: 0x86, Array(revocationListURL.utf8))
        let fullName = DEREncoding.value(tag: 0xA0, name)
        let point = DEREncoding.value(tag: 0xA0, fullName)
        return Extension(
            identifier: "2.5.29.31",
            der: DEREncoding.sequence([DEREncoding.sequence([point])])
        )
    }

    private static func encoded(_ name: Certificate.AlternativeName) -> [UInt8] {
        switch name {
        case .dns(let text): DEREncoding.value(tag: 0x82, Array(text.utf8))
        case .address(let address): DEREncoding.value(tag: 0x87, address.octets)
        case .other(let tag, let contents):
            // A directory name and otherName are constructed, the rest primitive.
            DEREncoding.value(tag: tag == 0 || tag == 4 ? 0xA0 | tag : 0x80 | tag, contents)
        }
    }

    private static func encoded(_ subtree: Subtree) -> [UInt8] {
        switch subtree {
        case .dns(let text): encoded(Certificate.AlternativeName.dns(text))
        case .addresses(let block): DEREncoding.value(tag: 0x87, block.addressAndMask)
        case .other(let tag, let contents):
            encoded(Certificate.AlternativeName.other(tag: tag, contents: contents))
        }
    }
}

extension IPAddress {
    /// The address in network byte order: 4 or 16 bytes.
    fileprivate var octets: [UInt8] {
        switch self {
        case .v4(let value): CertificateBuilder.bigEndian(UInt64(value), count: 4)
        case .v6(let high, let low):
            CertificateBuilder.bigEndian(high, count: 8)
                + CertificateBuilder.bigEndian(low, count: 8)
        }
    }
}

extension CIDR {
    /// The address followed by the mask (RFC 5280 §4.2.1.10).
    fileprivate var addressAndMask: [UInt8] {
        let first = address.octets
        let mask = first.indices.map { i in
            let bits = min(max(prefix - i * 8, 0), 8)
            return UInt8(truncatingIfNeeded: 0xFF00 >> bits)
        }
        return first + mask
    }
}

extension CertificateBuilder {
    fileprivate static func bigEndian(_ number: UInt64, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64((count - 1 - $0) * 8)) }
    }
}
