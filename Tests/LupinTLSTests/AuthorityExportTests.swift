// That the authority's certificate leaves in every form whole, and its key in none.

import LupinTLS
import Testing

struct AuthorityExportTests {
    private let certificate: Certificate

    init() throws {
        let key = try PrivateKey.generate(.p256)
        certificate = try CertificateAuthority.make(key: key, owner: "me", now: 0).certificate
    }

    @Test func `PEM and DER are the certificate`() throws {
        let pem = AuthorityExport.pem(certificate)
        let read = try Certificate.parseAll(pem: pem.span)
        #expect(read.map(\.der) == [certificate.der])
        #expect(AuthorityExport.der(certificate) == certificate.der)
    }

    @Test func `PKCS#12 holds the certificate in clear, marked as trusted`() throws {
        let file = try AuthorityExport.pkcs12(certificate, name: "lupin", password: "changeit")
        #expect(file.contains(certificate.der))
        // Oracle's trustedKeyUsage with anyExtendedKeyUsage.
        let usage = try #require(DEREncoding.objectIdentifier("2.16.840.1.113894.746875.1.1"))
        let any = try #require(DEREncoding.objectIdentifier("2.5.29.37.0"))
        #expect(file.contains(usage + DEREncoding.value(tag: 0x31, any)))
    }

    @Test(arguments: ["", "changeit", "pässwort"])
    func `any password seals it, each time anew`(password: String) throws {
        let one = try AuthorityExport.pkcs12(certificate, name: "lupin", password: password)
        let other = try AuthorityExport.pkcs12(certificate, name: "lupin", password: password)
        #expect(one != other)
        #expect(one.prefix(20) == other.prefix(20))
    }
}
