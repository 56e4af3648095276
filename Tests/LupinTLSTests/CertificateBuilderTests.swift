// That a builder's certificate says what was asked for, and can say what it should not.

import LupinCore
import LupinTLS
import Testing

struct CertificateBuilderTests {
    private let now: Int64 = 1_790_000_000
    private let key: PrivateKey

    init() throws { key = try PrivateKey.generate(.p256) }

    @Test func `a certificate says what was asked for`() throws {
        var builder = CertificateBuilder(key: key, commonName: "Root of a test", now: now)
        builder.organization = "lupin"
        builder.basicConstraints = .init(isAuthority: true, pathLength: 1)
        builder.keyUsage = [.certificateSigning, .listSigning]
        let root = try builder.build()
        #expect(root.subjectText == "O=lupin, CN=Root of a test")
        #expect(root.issuerText == root.subjectText)
        #expect(root.isSelfIssued)
        #expect(root.notBefore == now - 3600)
        #expect(root.notAfter == now + 86_400)
        #expect(root.isAuthority)
        #expect(key.matches(root))
        #expect(
            root.firstExtension("2.5.29.19")
                == .init(
                    identifier: "2.5.29.19",
                    isCritical: true,
                    der: [0x30, 6, 1, 1, 0xFF, 2, 1, 1]
                )
        )
        #expect(
            root.firstExtension("2.5.29.15")
                == .init(identifier: "2.5.29.15", isCritical: true, der: [3, 2, 1, 6])
        )
    }

    @Test func `an issuer gives its name and the identifier of its key`() throws {
        var root = CertificateBuilder(key: key, commonName: "Root", now: now)
        root.basicConstraints = .init(isAuthority: true)
        let authority = try root.build()
        let leafKey = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: leafKey, commonName: "Leaf", now: now)
        builder.issuer = .authority(authority, key)
        let leaf = try builder.build()
        #expect(leaf.issuerText == "CN=Root")
        #expect(!leaf.isSelfIssued)
        #expect(leafKey.matches(leaf))
        let identifier = try #require(authority.firstExtension("2.5.29.14")).der.dropFirst(2)
        #expect(identifier.count == 20)
        let named = try #require(leaf.firstExtension("2.5.29.35")).der
        #expect(named == [0x30, 22, 0x80, 20] + identifier)
        #expect(authority.firstExtension("2.5.29.35") == nil)
    }

    @Test func `names, purposes and places of revocation are written as RFC 5280 has them`() throws
    {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        let names: [Certificate.AlternativeName] = [
            .dns("*.example.com"), .address(.v4(0x7F00_0001)), .address(.v6(high: 0, low: 1)),
            .other(tag: 1, contents: Array("a@b".utf8)),
        ]
        builder.alternativeNames = names
        builder.purposes = [CertificateBuilder.Purpose.server, CertificateBuilder.Purpose.any]
        builder.ocspURL = "http://o"
        builder.revocationListURL = "http://c"
        let certificate = try builder.build()
        #expect(certificate.subjectAlternativeNames == names)
        #expect(certificate.firstExtension("2.5.29.17")?.isCritical == false)
        #expect(
            certificate.firstExtension("2.5.29.37")?.der
                == [
                    0x30, 16, 6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 1, 6, 4, 0x55, 0x1D, 0x25, 0,
                ]
        )
        #expect(
            certificate.firstExtension("1.3.6.1.5.5.7.1.1")?.der
                == [0x30, 22, 0x30, 20, 6, 8, 0x2B, 6, 1, 5, 5, 7, 0x30, 1, 0x86, 8]
                + Array("http://o".utf8)
        )
        #expect(
            certificate.firstExtension("2.5.29.31")?.der
                == [0x30, 16, 0x30, 14, 0xA0, 12, 0xA0, 10, 0x86, 8] + Array("http://c".utf8)
        )
    }

    @Test func `name constraints are written with addresses and masks`() throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        builder.nameConstraints = .init(
            permitted: [.dns("a.b")],
            excluded: [.addresses(CIDR(.v4(0x0A00_0000), prefix: 9))]
        )
        let written = try #require(try builder.build().firstExtension("2.5.29.30"))
        #expect(written.isCritical)
        #expect(
            written.der
                == [
                    0x30, 21, 0xA0, 7, 0x30, 5, 0x82, 3, 0x61, 0x2E, 0x62,
                    0xA1, 12, 0x30, 10, 0x87, 8, 10, 0, 0, 0, 0xFF, 0x80, 0, 0,
                ].replacingLength()
        )
    }

    @Test func `without a subject its other names are critical`() throws {
        var builder = CertificateBuilder(key: key, commonName: nil, now: now)
        builder.alternativeNames = [.dns("a.example")]
        let certificate = try builder.build()
        #expect(certificate.subjectText == "")
        #expect(certificate.firstExtension("2.5.29.17")?.isCritical == true)
    }

    @Test func `serial numbers are random, positive and of 16 bytes`() throws {
        let builder = CertificateBuilder(key: key, commonName: "a", now: now)
        let serials = try (0..<50).map { _ in try builder.build().serial }
        #expect(Set(serials).count == 50)
        #expect(serials.allSatisfy { $0.count == 16 && $0[0] & 0x80 == 0 && $0[0] != 0 })
    }

    @Test(arguments: [[0], [1, 2, 3], [0x80], [0xFF], [UInt8](repeating: 0x7F, count: 21)])
    func `any serial number can be written, zero, negative and long ones too`(
        serial: [UInt8]
    ) throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        builder.serial = serial
        #expect(try builder.build().serial == serial)
    }

    @Test(arguments: [1, 2])
    func `older versions can be written, and no authority is one of them`(version: Int) throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        builder.version = version
        builder.hasSubjectKeyIdentifier = false
        let certificate = try builder.build()
        #expect(!certificate.isAuthority)
        #expect(certificate.firstExtension("2.5.29.14") == nil)
    }

    @Test func `a raw extension stands as it is`() throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        let odd = Certificate.Extension(identifier: "1.2.3.4", isCritical: true, der: [5, 0])
        builder.extensions = [odd]
        #expect(try builder.build().firstExtension("1.2.3.4") == odd)
    }

    @Test(
        arguments: [
            (-1_000_000_000, 0x18), (0, 0x17), (2_524_607_999, 0x17), (2_524_608_000, 0x18),
            (253_402_300_799, 0x18),
        ] as [(Int64, UInt8)]
    )
    func `times come back as they were given, in either form`(
        sample: (time: Int64, tag: UInt8)
    ) throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        builder.notBefore = sample.time
        builder.notAfter = sample.time
        for isGeneral in [false, true] {
            builder.usesGeneralizedTime = isGeneral
            let certificate = try builder.build()
            #expect(certificate.notBefore == sample.time)
            #expect(certificate.notAfter == sample.time)
            #expect(try timeTag(of: certificate) == (isGeneral ? 0x18 : sample.tag))
        }
    }

    /// The tag of notBefore: UTCTime is 0x17, GeneralizedTime 0x18.
    private func timeTag(of certificate: Certificate) throws -> UInt8 {
        // Version, serial number, signature algorithm and issuer stand before the validity.
        var contents = ArraySlice(certificate.der)
        for skipped in [0, 0, 4] {
            var reader = DERReader(contents)
            for _ in 0..<skipped { _ = reader.next() }
            let inner = reader.next(tag: 0x30)
            contents = try #require(inner)
        }
        return try #require(contents.first)
    }

    @Test(
        arguments: [
            .md5, .sha1, .sha256, .sha384, .sha512, .automatic,
        ] as [CertificateBuilder.Digest]
    )
    func `every digest signs`(digest: CertificateBuilder.Digest) throws {
        // ECDSA has no name for itself with MD5.
        let key = try PrivateKey.generate(.rsa(bits: 1024))
        var builder = CertificateBuilder(key: key, commonName: "a", now: now)
        builder.digest = digest
        #expect(throws: Never.self) { try builder.build() }
    }

    @Test func `what has no room in X.509 is an error`() {
        var long = CertificateBuilder(
            key: key,
            commonName: String(repeating: "a", count: 65),
            now: now
        )
        #expect(throws: CertificateFailure.unusable("the subject")) { try long.build() }
        long.commonName = "a"
        long.serial = []
        #expect(throws: CertificateFailure.unusable("serial")) { try long.build() }
        long.serial = nil
        long.purposes = ["1"]
        #expect(throws: CertificateFailure.unusable("the purpose")) { try long.build() }
        long.purposes = []
        long.extensions = [.init(identifier: "x", der: [])]
        #expect(throws: CertificateFailure.unusable("the extension x")) { try long.build() }
        long.extensions = []
        long.notAfter = .max
        #expect(throws: CertificateFailure.unusable("a time")) { try long.build() }
    }
}

extension [UInt8] {
    /// The sequence with its length set right, so that only its elements need be written by hand.
    fileprivate func replacingLength() -> [UInt8] {
        [self[0], UInt8(count - 2)] + dropFirst(2)
    }
}
