// Parses fields of a certificate's encoding that OpenSSL does not provide.

/// The fields of a certificate, as encoded (RFC 5280 §4.1).
struct CertificateContents {
    /// An extension, as encoded.
    struct Extension {
        /// Content bytes of the object identifier.
        var identifier: [UInt8]
        var isCritical: Bool
        var value: [UInt8]
    }

    /// 1, 2 or 3; 0 for a number that is no version.
    private(set) var version = 1
    /// Content bytes.
    private(set) var serial: [UInt8] = []
    private(set) var hasSubject = false
    /// The first and the last second of validity, each with its tag.
    private(set) var times: [DERReader.Value] = []
    /// Identifier and parameters of the public key's algorithm.
    private(set) var keyAlgorithm: [UInt8] = []
    /// Content bytes of the public key's BIT STRING.
    private(set) var publicKey: [UInt8] = []
    private(set) var extensions: [Extension] = []

    /// Returns nil if the bytes are not a certificate.
    init?(_ encoding: [UInt8]) {
        var outer = DERReader(encoding)
        guard let certificate = outer.next(tag: 0x30) else { return nil }
        var parts = DERReader(certificate)
        guard let signed = parts.next(tag: 0x30) else { return nil }
        var fields = DERReader(signed)
        if let wrapped = fields.next(tag: 0xA0) {
            var inner = DERReader(wrapped)
            guard let number = inner.next(tag: 0x02), let last = number.last else { return nil }
            version = number.count == 1 && last < 3 ? Int(last) + 1 : 0
        }
        guard let serial = fields.next(tag: 0x02), fields.next(tag: 0x30) != nil,
            fields.next(tag: 0x30) != nil, let validity = fields.next(tag: 0x30),
            let subject = fields.next(tag: 0x30), let key = fields.next(tag: 0x30)
        else { return nil }
        self.serial = Array(serial)
        hasSubject = !subject.isEmpty
        var validityReader = DERReader(validity)
        while let time = validityReader.next() { times.append(time) }
        var keyReader = DERReader(key)
        keyAlgorithm = keyReader.next(tag: 0x30).map(Array.init) ?? []
        publicKey = keyReader.next(tag: 0x03).map(Array.init) ?? []
        while let field = fields.next() {
            guard field.tag == 0xA3 else { continue }
            guard let extensions = Self.extensions(field.contents) else { return nil }
            self.extensions = extensions
        }
    }

    /// The extension with an identifier; nil for none.
    func value(_ identifier: [UInt8]) -> Extension? {
        extensions.first { $0.identifier == identifier }
    }

    /// Extensions of a certificate or list, each allowed once only; nil if the DER is malformed.
    static func extensions(_ wrapped: ArraySlice<UInt8>) -> [Extension]? {
        var outer = DERReader(wrapped)
        guard let list = outer.next(tag: 0x30), outer.isAtEnd else { return nil }
        return extensions(in: list)
    }

    /// Extensions without the SEQUENCE around them.
    static func extensions(in list: ArraySlice<UInt8>) -> [Extension]? {
        var reader = DERReader(list)
        var extensions: [Extension] = []
        while let part = reader.next(tag: 0x30) {
            var fields = DERReader(part)
            guard let identifier = fields.next(tag: 0x06) else { return nil }
            let isCritical = fields.next(tag: 0x01).map { $0.first != 0 } ?? false
            guard let value = fields.next(tag: 0x04) else { return nil }
            extensions.append(
                Extension(
                    identifier: Array(identifier),
                    isCritical: isCritical,
                    value: Array(value)
                )
            )
        }
        return reader.isAtEnd ? extensions : nil
    }
}

extension CertificateContents {
    /// Content bytes of the object identifiers of extensions.
    enum Identifier {
        /// The identifier of a key, not of an extension.
        static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        static let subjectKey: [UInt8] = [0x55, 0x1D, 0x0E]
        static let keyUsage: [UInt8] = [0x55, 0x1D, 0x0F]
        static let alternativeNames: [UInt8] = [0x55, 0x1D, 0x11]
        static let basicConstraints: [UInt8] = [0x55, 0x1D, 0x13]
        static let nameConstraints: [UInt8] = [0x55, 0x1D, 0x1E]
        static let listLocations: [UInt8] = [0x55, 0x1D, 0x1F]
        static let policyConstraints: [UInt8] = [0x55, 0x1D, 0x24]
        static let purposes: [UInt8] = [0x55, 0x1D, 0x25]
        /// The CA never publishes revocation of the certificate (RFC 9608).
        static let noRevocation: [UInt8] = [0x55, 0x1D, 0x38]
        static let authorityAccess: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01]
        static let listScope: [UInt8] = [0x55, 0x1D, 0x1C]
        static let authorityKey: [UInt8] = [0x55, 0x1D, 0x23]
        /// Of a proxy certificate (RFC 3820), which a user issues.
        static let proxy: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x0E]
        static let netscapeType: [UInt8] = [
            0x60, 0x86, 0x48, 0x01, 0x86, 0xF8, 0x42, 0x01, 0x01,
        ]
    }

    /// Object identifiers of the extendedKeyUsage extension; nil if it is absent or malformed.
    var purposes: [[UInt8]]? {
        guard let value = value(Identifier.purposes)?.value else { return nil }
        var outer = DERReader(value)
        guard let list = outer.next(tag: 0x30) else { return nil }
        var reader = DERReader(list)
        var purposes: [[UInt8]] = []
        while let purpose = reader.next(tag: 0x06) { purposes.append(Array(purpose)) }
        return reader.isAtEnd && !purposes.isEmpty ? purposes : nil
    }

    /// keyUsage (RFC 5280 §4.2.1.3); nil if there is none, empty if it is malformed.
    var keyUsage: CertificateBuilder.KeyUsage? {
        guard let value = value(Identifier.keyUsage)?.value else { return nil }
        var reader = DERReader(value)
        let bytes = reader.next(tag: 0x03)?.dropFirst().prefix(2) ?? []
        let bits = bytes.enumerated().reduce(UInt16(0)) { bits, byte in
            (0..<8).reduce(bits) { bits, i in
                byte.element & 0x80 >> i == 0 ? bits : bits | 1 << (byte.offset * 8 + i)
            }
        }
        return CertificateBuilder.KeyUsage(rawValue: bits)
    }

    /// An RSA key (RFC 8017 §A.1.1); nil if the key is another one or malformed.
    var rsaKey: (modulusBits: Int, exponent: [UInt8])? {
        guard isKeyRSA, publicKey.first == 0 else { return nil }
        var outer = DERReader(publicKey.dropFirst())
        guard let fields = outer.next(tag: 0x30) else { return nil }
        var reader = DERReader(fields)
        guard let modulus = reader.next(tag: 0x02), let exponent = reader.next(tag: 0x02) else {
            return nil
        }
        let magnitude = modulus.drop { $0 == 0 }
        let bits = magnitude.count * 8 - (magnitude.first?.leadingZeroBitCount ?? 0)
        return (bits, Array(exponent))
    }

    var isKeyRSA: Bool {
        var reader = DERReader(keyAlgorithm)
        return reader.next(tag: 0x06).map { Array($0) == Identifier.rsa } ?? false
    }

    /// Whether basicConstraints contains CA:TRUE, regardless of keyUsage.
    var claimsAuthority: Bool {
        guard let value = value(Identifier.basicConstraints)?.value else { return false }
        var outer = DERReader(value)
        guard let fields = outer.next(tag: 0x30) else { return false }
        var reader = DERReader(fields)
        return reader.next(tag: 0x01).map { $0.first != 0 } ?? false
    }

    /// URLs of a kind of issuer service: `1.3.6.1.5.5.7.48.1` is OCSP.
    ///
    /// Returns nil if the extension is malformed.
    func accessLocations(_ method: [UInt8]) -> [String]? {
        guard let value = value(Identifier.authorityAccess)?.value else { return [] }
        var outer = DERReader(value)
        guard let list = outer.next(tag: 0x30), !list.isEmpty else { return nil }
        var reader = DERReader(list)
        var urls: [String] = []
        while let part = reader.next(tag: 0x30) {
            var fields = DERReader(part)
            guard let found = fields.next(tag: 0x06), let location = fields.next() else {
                return nil
            }
            guard Array(found) == method, location.tag == 0x86 else { continue }
            urls.append(String(decoding: location.contents, as: UTF8.self))
        }
        return reader.isAtEnd ? urls : nil
    }

    /// URLs of complete revocation lists that the issuer itself signs.
    var listLocations: [String] {
        guard let value = value(Identifier.listLocations)?.value else { return [] }
        var outer = DERReader(value)
        guard let list = outer.next(tag: 0x30) else { return [] }
        var reader = DERReader(list)
        var urls: [String] = []
        while let point = reader.next(tag: 0x30) {
            var fields = DERReader(point)
            guard let name = fields.next(tag: 0xA0),
                // Lists for some reasons only, or by another issuer, are incomplete.
                fields.isAtEnd
            else { continue }
            urls += Self.fullNames(name)
        }
        return urls
    }

    /// The URLs of a DistributionPointName (RFC 5280 §4.2.1.13) if it is a fullName.
    static func fullNames(_ name: ArraySlice<UInt8>) -> [String] {
        var reader = DERReader(name)
        guard let full = reader.next(tag: 0xA0) else { return [] }
        var names = DERReader(full)
        var urls: [String] = []
        while let name = names.next() {
            guard name.tag == 0x86 else { continue }
            urls.append(String(decoding: name.contents, as: UTF8.self))
        }
        return urls
    }
}
