// That digests are HMAC-SHA256 and keys are random.

import LupinCore
import LupinTLS
import Testing

struct DigestTests {
    private func hex(_ digest: KeyedDigest, _ text: String) -> String {
        let digits = Array("0123456789abcdef")
        return String(
            digest.sha256(text.utf8Span.span).flatMap {
                [digits[Int($0 >> 4)], digits[Int($0 & 15)]]
            }
        )
    }

    @Test func `a digest is HMAC-SHA256 as RFC 4231 §4.3 has it`() {
        let digest = KeyedDigest(key: Array("Jefe".utf8))
        #expect(
            hex(digest, "what do ya want for nothing?")
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
    }

    @Test func `a key that is longer than a block is as in RFC 4231 §4.8`() {
        let digest = KeyedDigest(key: [UInt8](repeating: 0xAA, count: 131))
        let text =
            "This is a test using a larger than block-size key and a larger than block-size data. "
            + "The key needs to be hashed before being used by the HMAC algorithm."
        let expected = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        #expect(hex(digest, text) == expected)
        #expect(hex(digest, text) == expected)
    }

    @Test func `two pieces with a byte between them have the digest of the whole`() {
        let digest = KeyedDigest(key: Array("key".utf8))
        let bytes = Array("what do ya want for nothing?".utf8)
        for i in bytes.indices {
            let (first, second) = (bytes[..<i], bytes[(i + 1)...])
            let code = digest.code(of: first.span, bytes[i], second.span)
            let whole = digest.sha256(bytes.span)
            #expect(whole.count == 32)
            #expect(whole.indices.allSatisfy { code?[$0] == whole[$0] })
        }
    }

    @Test func `the prefix is the first two bytes`() {
        let digest = KeyedDigest(key: Array("Jefe".utf8))
        let prefix = digest.sha256Prefix16("what do ya want for nothing?".utf8Span.span)
        #expect(prefix == 0x5BDC)
    }

    @Test func `SHA-512-256 is that of the second example of RFC 7616`() {
        let user = MessageDigest.sha512By256("J\u{E4}s\u{F8}n Doe:api@example.org".utf8Span.span)
        #expect(
            HexText.text(user) == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"
        )
    }

    @Test func `SHA-1 is that of RFC 3174, and proves a WebSocket as in RFC 6455 §1.3`() {
        let abc: [UInt8] = [
            0xA9, 0x99, 0x3E, 0x36, 0x47, 0x06, 0x81, 0x6A, 0xBA, 0x3E, 0x25, 0x71, 0x78, 0x50,
            0xC2, 0x6C, 0x9C, 0xD0, 0xD8, 0x9D,
        ]
        #expect(MessageDigest.sha1("abc".utf8Span.span) == abc)
        let proof = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        let digest = MessageDigest.sha1(proof.utf8Span.span)
        #expect(Base64Text.encode(digest) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `an empty text has a digest too`() {
        #expect(hex(KeyedDigest(key: [1]), "").utf8.count == 64)
    }

    @Test func `two runs have different keys`() {
        #expect(hex(KeyedDigest(), "secret") != hex(KeyedDigest(), "secret"))
    }

    @Test func `one run gives equal secrets equal digests`() {
        let digest = KeyedDigest()
        #expect(hex(digest, "secret") == hex(digest, "secret"))
        #expect(hex(digest, "secret") != hex(digest, "secreT"))
    }
}
