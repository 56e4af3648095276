// That keys are made, written and read again, and that what is no key says what it is.

import LupinCore
import LupinTLS
import Testing

struct PrivateKeyTests {
    @Test(
        arguments: [
            .p256, .p384, .p521, .ed25519, .rsa(bits: 1024), .curve("secp256k1"),
        ] as [PrivateKey.Algorithm]
    )
    func `a key comes back from its own PEM`(algorithm: PrivateKey.Algorithm) throws {
        let key = try PrivateKey.generate(algorithm)
        let again = try key.withPEM { text in Result { try PrivateKey.parse(pem: text) } }.get()
        #expect(again.publicKeyDigest == key.publicKeyDigest)
        #expect(key.publicKeyDigest.count == 32)
        #expect(key.isRSA == (algorithm == .rsa(bits: 1024)))
        let certificate = try CertificateBuilder(key: key, commonName: "a", now: 0).build()
        #expect(key.matches(certificate))
        #expect(again.matches(certificate))
        #expect(certificate.publicKeyDigest == key.publicKeyDigest)
    }

    @Test func `the PEM is PKCS#8`() throws {
        let text = try PrivateKey.generate(.p256).withPEM { String(copying: $0) }
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(text.hasSuffix("-----END PRIVATE KEY-----\n"))
    }

    @Test func `two keys differ and do not match each other's certificates`() throws {
        let one = try PrivateKey.generate(.p256)
        let other = try PrivateKey.generate(.p256)
        let rsa = try PrivateKey.generate(.rsa(bits: 1024))
        let certificate = try CertificateBuilder(key: one, commonName: "a", now: 0).build()
        #expect(one.publicKeyDigest != other.publicKeyDigest)
        #expect(!other.matches(certificate))
        #expect(!rsa.matches(certificate))
    }

    @Test func `a curve that nobody knows is an error`() {
        #expect(throws: CertificateFailure.self) { try PrivateKey.generate(.curve("nonesuch")) }
    }

    @Test(arguments: [
        ("", CertificateFailure.unreadableKey), ("no key", .unreadableKey),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", .unreadableKey),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            .encryptedKey
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
                + "DEK-Info: AES-128-CBC,00000000000000000000000000000000\n\nAAAA\n"
                + "-----END RSA PRIVATE KEY-----\n", .encryptedKey
        ),
    ])
    func `a text without a usable key says why`(
        sample: (text: String, failure: CertificateFailure)
    ) {
        let text = Array(sample.text.utf8)
        #expect(throws: sample.failure) { try PrivateKey.parse(pem: text.span) }
    }
}
