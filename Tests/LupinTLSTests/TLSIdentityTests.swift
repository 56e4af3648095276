// That certificate and key are read from PEM, and only used when they belong together.

import COpenSSL
import LupinCore
import LupinTLS
import Testing

struct TLSIdentityTests {
    @Test(arguments: [PrivateKey.Algorithm.p256, .p384, .ed25519, .rsa2048])
    func `servers show keys of every usual kind`(algorithm: PrivateKey.Algorithm) throws {
        let identity = try MintedIdentity(algorithm: algorithm)
        let pair = try JoinedPair.connected(identity: identity)
        #expect(pair.client.peerCertificates?.encodings.first == identity.certificate.der)
        #expect(pair.client.peerCertificates?.count == 2)
    }

    @Test func `a key of another certificate is refused`() throws {
        let one = try MintedIdentity()
        let other = try MintedIdentity()
        let failure = #expect(throws: TLSFailure.self) {
            try TLSIdentity(certificates: one.texts.certificates, key: other.texts.key)
        }
        #expect(failure?.kind == .badIdentity)
    }

    @Test(arguments: [
        "", "hello", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
    ])
    func `texts that hold no certificate or key are refused`(text: String) throws {
        let texts = try MintedIdentity().texts
        for (certificates, key) in [
            (Array(text.utf8), texts.key), (texts.certificates, Array(text.utf8)),
        ] {
            let failure = #expect(throws: TLSFailure.self) {
                try TLSIdentity(certificates: certificates, key: key)
            }
            #expect(failure?.kind == .badIdentity)
            #expect(failure?.description.isEmpty == false)
        }
    }

    @Test func `a key under a passphrase is refused without asking for it`() throws {
        let texts = try MintedIdentity().texts
        let encrypted = try #require(self.encrypted(texts.key))
        #expect(String(decoding: encrypted, as: UTF8.self).contains("BEGIN ENCRYPTED PRIVATE KEY"))
        let failure = #expect(throws: TLSFailure.self) {
            try TLSIdentity(certificates: texts.certificates, key: encrypted)
        }
        #expect(failure?.kind == .badIdentity)
    }

    /// A key in PEM under a passphrase.
    private func encrypted(_ text: [UInt8]) -> [UInt8]? {
        // Safety: both BIOs and the key are freed here, and the result is a copy.
        unsafe text.withUnsafeBytes { bytes in
            let input = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            let output = unsafe BIO_new(BIO_s_mem())
            let key = unsafe PEM_read_bio_PrivateKey(input, nil, nil, nil)
            defer {
                unsafe EVP_PKEY_free(key)
                unsafe BIO_free(input)
                unsafe BIO_free(output)
            }
            guard
                unsafe PEM_write_bio_PKCS8PrivateKey(
                    output,
                    key,
                    EVP_aes_128_cbc(),
                    "secret",
                    6,
                    nil,
                    nil
                ) == 1
            else { return nil }
            var room = [UInt8](repeating: 0, count: 4096)
            let count = unsafe BIO_read(output, &room, Int32(room.count))
            return count > 0 ? Array(room.prefix(Int(count))) : nil
        }
    }
}
