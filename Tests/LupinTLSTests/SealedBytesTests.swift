// Sealed messages open under their key and for their place, and nothing that was changed does.

import LupinTLS
import Testing

struct SealedBytesTests {
    private let key = SealingKey([UInt8](repeating: 7, count: 32))
    private let place = Array("channel".utf8)

    @Test(arguments: [0, 1, 15, 16, 17, 100_000])
    func `a message comes back`(count: Int) throws {
        let key = try #require(key)
        let message = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = try #require(key.seal(message, for: place))
        #expect(sealed.count == count + 28)
        #expect(key.open(sealed, for: place) == message)
        #expect(key.open(sealed, for: []) == nil)
        #expect(key.open(sealed, for: place + [0]) == nil)
        let other = try #require(SealingKey([UInt8](repeating: 8, count: 32)))
        #expect(other.open(sealed, for: place) == nil)
        // No nonce is used twice.
        #expect(key.seal(message, for: place) != sealed)
    }

    @Test func `a changed or cut message does not open`() throws {
        let key = try #require(key)
        let sealed = try #require(key.seal(Array("secret".utf8), for: place))
        for i in sealed.indices {
            var changed = sealed
            changed[i] ^= 0x80
            #expect(key.open(changed, for: place) == nil, "byte \(i)")
            #expect(key.open(Array(sealed[..<i]), for: place) == nil, "cut at \(i)")
        }
        #expect(key.open(sealed + [0], for: place) == nil)
    }

    @Test func `the key has 32 bytes`() {
        for count in [0, 16, 31, 33] {
            #expect(SealingKey([UInt8](repeating: 1, count: count)) == nil)
        }
    }
}
