// That the local authority is made as it should be, and a loaded one is refused where it is unfit.

import LupinCore
import LupinTLS
import Testing

struct CertificateAuthorityTests {
    private let now: Int64 = 1_790_000_000
    private let key: PrivateKey

    init() throws { key = try PrivateKey.generate(.p256) }

    private func parse(
        _ certificates: [Certificate],
        _ key: PrivateKey
    ) throws(CertificateFailure) -> CertificateAuthority {
        let text = certificates.flatMap(\.pem)
        let keyText = try key.withPEM { [UInt8](copying: $0) }
        return try CertificateAuthority.parse(certificates: text.span, key: keyText.span, now: now)
    }

    @Test func `a new authority may sign leaves and nothing else`() throws {
        let authority = try CertificateAuthority.make(key: key, owner: "me@host", now: now)
        let certificate = authority.certificate
        #expect(certificate.subjectText == #"CN=lupin local authority (me@host\, 2026-09-21)"#)
        #expect(certificate.isSelfIssued)
        #expect(certificate.isAuthority)
        #expect(certificate.firstExtension("2.5.29.19")?.isCritical == true)
        #expect(
            certificate.firstExtension("2.5.29.19")?.der == [0x30, 6, 1, 1, 0xFF, 2, 1, 0]
        )
        #expect(certificate.firstExtension("2.5.29.15")?.isCritical == true)
        #expect(certificate.firstExtension("2.5.29.15")?.der == [3, 2, 1, 6])
        #expect(certificate.firstExtension("2.5.29.14") != nil)
        #expect(certificate.notBefore == now - 86_400)
        #expect(certificate.notAfter == now + 3650 * 86_400)
        #expect(authority.isNew)
        #expect(authority.chain.isEmpty)
        #expect(key.matches(certificate))
    }

    @Test func `an owner of any length and content fits the subject`() throws {
        for owner in [String(repeating: "ü", count: 200), "a\nb@c", ""] {
            let authority = try CertificateAuthority.make(key: key, owner: owner, now: now)
            #expect(!authority.certificate.subjectText.contains(#"\0A"#))
        }
    }

    @Test func `an authority comes back from its PEM texts`() throws {
        let made = try CertificateAuthority.make(key: key, owner: "me@host", now: now)
        let loaded = try parse([made.certificate], key)
        #expect(loaded.certificate.der == made.certificate.der)
        #expect(loaded.key.publicKeyDigest == key.publicKeyDigest)
        #expect(!loaded.isNew)
        #expect(loaded.chain.isEmpty)
    }

    @Test func `an authority under another one brings what leads to the root, without the root`()
        throws
    {
        let root = try CertificateAuthority.make(key: key, owner: "root", now: now)
        let lowerKey = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: lowerKey, commonName: "Lower", now: now)
        builder.issuer = .authority(root.certificate, key)
        builder.basicConstraints = .init(isAuthority: true, pathLength: 0)
        let lower = try builder.build()
        let loaded = try parse([lower, root.certificate], lowerKey)
        #expect(loaded.chain.map(\.subjectText) == ["CN=Lower"])
    }

    @Test func `another's key, a leaf and one out of its time are refused`() throws {
        let made = try CertificateAuthority.make(key: key, owner: "me", now: now).certificate
        let other = try PrivateKey.generate(.p256)
        #expect(throws: CertificateFailure.keyMismatch) { try parse([made], other) }
        let leaf = try CertificateBuilder(key: key, commonName: "a", now: now).build()
        #expect(throws: CertificateFailure.notAuthority) { try parse([leaf], key) }
        let old = try CertificateAuthority.make(key: key, owner: "me", now: 0).certificate
        #expect(throws: CertificateFailure.expired(3650 * 86_400)) { try parse([old], key) }
        let later = try CertificateAuthority.make(key: key, owner: "me", now: now + 86_401)
        #expect(throws: CertificateFailure.notYetValid(now + 1)) {
            try parse([later.certificate], key)
        }
        #expect(throws: CertificateFailure.noCertificate) { try parse([], key) }
    }

    @Test func `every failure is a clause for people`() {
        #expect(
            CertificateFailure.expired(951_782_400).description
                == "the certificate expired on 2000-02-29"
        )
        #expect(
            CertificateFailure.expired(-1).description == "the certificate expired on 1969-12-31"
        )
        #expect(CertificateFailure.expired(.max).description.hasSuffix("9999-12-31"))
        #expect(CertificateFailure.expired(.min).description.contains("expired"))
        #expect(CertificateFailure.encryptedKey.description.contains("openssl pkey"))
    }
}
