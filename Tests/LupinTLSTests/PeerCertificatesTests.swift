// That presented certificates come out as they went in.

import LupinTLS
import Testing

struct PeerCertificatesTests {
    @Test func `certificates keep their order and their bytes`() throws {
        let encodings = try (0..<3).map {
            try MintedIdentity(host: "\($0).example").certificate.der
        }
        let certificates = try #require(
            PeerCertificates(encodings: encodings, stapledResponse: [1, 2])
        )
        #expect(certificates.count == 3 && certificates.encodings == encodings)
        #expect(certificates.stapledResponse == [1, 2] && !certificates.mayBeStapledLater)
    }

    @Test func `what isn't exactly a certificate gives none`() throws {
        let good = try MintedIdentity().certificate.der
        #expect(PeerCertificates(encodings: []) == nil)
        #expect(PeerCertificates(encodings: [[]]) == nil)
        #expect(PeerCertificates(encodings: [good, [0x30]]) == nil)
        #expect(PeerCertificates(encodings: [good + [0]]) == nil)
        #expect(PeerCertificates(encodings: [Array(good.dropLast())]) == nil)
    }
}
