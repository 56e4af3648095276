// That digests are HMAC-SHA256 and keys are random.

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

    @Test func `the prefix is the first two bytes`() {
        let digest = KeyedDigest(key: Array("Jefe".utf8))
        let prefix = digest.sha256Prefix16("what do ya want for nothing?".utf8Span.span)
        #expect(prefix == 0x5BDC)
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
