// That certificates are read whatever is in them, and that what they say is safe to print.

import LupinCore
import LupinTLS
import Testing

struct CertificateTests {
    private let key: PrivateKey
    private let plain: Certificate

    init() throws {
        key = try PrivateKey.generate(.p256)
        plain = try CertificateBuilder(key: key, commonName: "a", now: 1_790_000_000).build()
    }

    private func parseAll(_ text: [UInt8]) throws(CertificateFailure) -> [Certificate] {
        try Certificate.parseAll(pem: text.span)
    }

    @Test func `DER and PEM come back as the same certificate`() throws {
        #expect(try Certificate.parse(der: plain.der).der == plain.der)
        #expect(try parseAll(plain.pem).map(\.der) == [plain.der])
        #expect(try Certificate.parse(der: plain.der).fingerprint == plain.fingerprint)
        #expect(plain.fingerprint.count == 32)
    }

    @Test func `all certificates of a text are read, in order, past keys and remarks`() throws {
        let other = try CertificateBuilder(key: key, commonName: "b", now: 0).build()
        let keyText = try key.withPEM { [UInt8](copying: $0) }
        let text = Array("# one\n".utf8) + plain.pem + keyText + Array("two\n".utf8) + other.pem
        #expect(try parseAll(text).map(\.subjectText) == ["CN=a", "CN=b"])
    }

    @Test func `a text without certificates is told from a damaged one`() {
        #expect(throws: CertificateFailure.noCertificate) {
            try parseAll([])
        }
        #expect(throws: CertificateFailure.noCertificate) {
            try parseAll(Array("nothing\n".utf8))
        }
        let cut = plain.pem.prefix(200) + Array("\n-----END CERTIFICATE-----\n".utf8)
        #expect(throws: CertificateFailure.unreadableCertificate) {
            try parseAll(plain.pem + cut)
        }
    }

    @Test func `bytes behind a certificate in DER are refused`() {
        #expect(throws: CertificateFailure.unreadableCertificate) {
            try Certificate.parse(der: plain.der + [0])
        }
        #expect(throws: CertificateFailure.unreadableCertificate) { try Certificate.parse(der: []) }
    }

    @Test func `control bytes and foreign letters of a subject are escaped`() throws {
        let name = "a\n\u{1B}[31m,\"\u{202E}ü"
        let certificate = try CertificateBuilder(key: key, commonName: name, now: 0).build()
        #expect(certificate.subjectText == #"CN=a\0A\1B[31m\,\"\E2\80\AE\C3\BC"#)
    }

    @Test func `a subject's text ends after 512 bytes`() throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: 0)
        builder.organization = String(repeating: "\u{1F600}", count: 64)
        let text = try builder.build().subjectText
        #expect(text.utf8.count == 512)
        #expect(text.hasSuffix("..."))
    }

    @Test func `an authority needs the constraint, and the usage if there is one`() throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: 0)
        #expect(!(try builder.build().isAuthority))
        builder.basicConstraints = .init(isAuthority: true)
        #expect(try builder.build().isAuthority)
        builder.keyUsage = .digitalSignature
        #expect(!(try builder.build().isAuthority))
        builder.keyUsage = .certificateSigning
        #expect(try builder.build().isAuthority)
    }

    @Test(
        arguments: [
            [0x30, 0x80], [0x30, 5, 0x82, 9, 0x61], [4, 2, 0x61, 0x62], [0x30, 0x84, 1, 1, 1, 1],
            [],
            [0x30, 4, 0x9F, 0x1F, 1, 0],
        ] as [[UInt8]]
    )
    func `names that are no DER are none`(der: [UInt8]) throws {
        var builder = CertificateBuilder(key: key, commonName: "a", now: 0)
        builder.extensions = [.init(identifier: "2.5.29.17", der: der)]
        #expect(try builder.build().subjectAlternativeNames == [])
    }

    @Test func `mutated certificates are read or refused, and answer every question`() {
        var random = SystemRandomNumberGenerator()
        let der = plain.der
        for _ in 0..<2000 {
            var bytes = der
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: .min ... .max,
                    using: &random
                )
            }
            guard let certificate = try? Certificate.parse(der: bytes) else { continue }
            _ = certificate.subjectText + certificate.issuerText
            _ = (certificate.notBefore, certificate.notAfter, certificate.serial)
            _ = (certificate.isAuthority, certificate.isSelfIssued, certificate.pem)
            _ = (certificate.subjectAlternativeNames, certificate.publicKeyDigest)
            _ = key.matches(certificate)
        }
    }
}
