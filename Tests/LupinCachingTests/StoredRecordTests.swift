// The facts about a stored response, written and read again.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct StoredRecordTests {
    private static let rows: [(CacheFields, UInt16, [String], CacheFields)] = [
        ([], 200, [], []),
        ([("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Age", "7")], 200, [], []),
        ([("Vary", "Accept")], 203, ["accept"], [("Accept", "text/html, */*;q=0.1")]),
        ([("Vary", "Accept, Foo")], 404, ["accept", "foo"], [("Foo", "")]),
        ([("X-Empty", ""), ("X", "a: b"), ("X", "\u{e9}")], 410, [], []),
    ]

    private func vary(_ names: [String], _ request: CacheFields) -> VaryKey {
        VaryKey(names: names, request: fields(request))
    }

    private func read(_ bytes: [UInt8], length: UInt64 = 100) -> StoredResponse? {
        StoredResponse(encoded: bytes.span, length: length, policy: .standard)
    }

    @Test("what is read is what was written", arguments: rows)
    func roundTrip(
        _ pairs: CacheFields,
        _ status: UInt16,
        _ names: [String],
        _ request: CacheFields
    ) throws {
        let before = stored(pairs, status: status, vary: vary(names, request))
        let after = try #require(read(before.encoded))
        #expect(after.status == status)
        #expect(after.vary == before.vary)
        #expect(after.vary.matches(fields(request)))
        #expect(after.requestTimeUs == before.requestTimeUs)
        #expect(after.freshness.responseTimeUs == before.freshness.responseTimeUs)
        #expect(after.freshness.age(at: us(5)) == before.freshness.age(at: us(5)))
        #expect(after.content == before.content)
        #expect(after.encoded == before.encoded)
        let (left, right) = (before.fields.pairs, after.fields.pairs)
        #expect(left.map(\.name) == right.map(\.name))
        #expect(left.map(\.value) == right.map(\.value))
    }

    @Test("a proxy's challenge, which earlier versions stored, is nothing")
    func challenge() {
        #expect(read(stored([("Cache-Control", "max-age=60")], status: 407).encoded) == nil)
    }

    @Test("cut off or garbled anywhere it is nothing, or well-formed")
    func damage() {
        let chosen = vary(["foo"], [("Foo", "b")])
        let whole = stored([("Vary", "Foo"), ("ETag", "\"a\"")], vary: chosen)
        let bytes = whole.encoded
        // Whole lines at the end may be missing: the store's own check is for that.
        for count in 0..<bytes.count { _ = read(Array(bytes.prefix(count))) }
        for i in bytes.indices {
            for byte: UInt8 in [0, 1, 0x0A, 0x0D, 0x20, 0x2C, 0x3A, 0xFF] {
                var garbled = bytes
                garbled[i] = byte
                if let read = read(garbled) {
                    _ = read.vary.matches(fields([("Foo", "b")]))
                    _ = read.vary.matches(fields([]))
                }
            }
        }
        #expect(read([]) == nil)
        #expect(read(Array("lupin-2 200 0 0\r\n\r\n\r\n".utf8)) == nil)
        #expect(read(Array("lupin-1 200 0 0\r\nfoo\r\n\r\n".utf8)) == nil)
        #expect(read(Array("lupin-1 100 0 0\r\n\r\n\r\n".utf8)) == nil)
        #expect(read(Array("lupin-1 200 0 0\r\n\r\n\r\nbroken\r\n".utf8)) == nil)
        #expect(read(Array("lupin-1 200 0 0\r\n\r\n\r\nA: b".utf8)) == nil)
        #expect(read(Array("lupin-1 200 0 0\r\n\r\n\r\n".utf8)) != nil)
    }

    @Test("what holds secrets does not lie in files")
    func secrets() {
        #expect(stored([("ETag", "\"a\"")]).diskRefusal == nil)
        #expect(stored(vary: vary(["accept"], [])).diskRefusal == nil)
        #expect(stored(vary: vary(["accept", "cookie"], [])).diskRefusal == .authorization)
        #expect(stored(vary: vary(["authorization"], [])).diskRefusal == .authorization)
        #expect(stored(vary: vary(["x-api-key"], [])).diskRefusal == .authorization)
        #expect(stored([("Surrogate-Key", "a")]).diskRefusal == nil)
        #expect(stored([("X-Auth-Token", "a")]).diskRefusal == .authorization)
        let cookies = stored(
            [("Set-Cookie", "a=b")],
            policy: .changed { $0.mode = .private }
        )
        #expect(cookies.diskRefusal == .setCookie)
    }
}
