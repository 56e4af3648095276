// Values of the shared store: only the team's own are read, and their age is never less than true.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

/// Stands in for the digest of floor 2: 32 bytes that depend on every byte.
private func sign(_ key: [UInt8], _ signed: Span<UInt8>) -> SharedEntry.Signature? {
    var sum: UInt64 = 14_695_981_039_346_656_037
    for byte in key { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
    for i in signed.indices { sum = (sum ^ UInt64(signed[i])) &* 1_099_511_628_211 }
    return SharedEntry.Signature { i in
        UInt8(truncatingIfNeeded: sum >> UInt64(i % 8 * 8)) ^ UInt8(i)
    }
}

struct SharedEntryTests {
    private let key = Array("lupin:{1}:e".utf8)
    private let response = SharedEntry(
        .response(facts: Array("facts".utf8)[...], body: Array("body".utf8)),
        writtenAtUs: 1_700_000_000_000_000,
        lifetimeMs: 60_000
    )
    private let variants = SharedEntry(
        .variants(names: ["accept", "x-v"], series: Array("s1".utf8)),
        writtenAtUs: -5,
        lifetimeMs: 1
    )

    @Test func `a value comes back under its key`() {
        for entry in [response, variants] {
            let bytes = entry.encoded(under: key, sign)
            #expect(SharedEntry(bytes, under: key, sign) == entry)
            #expect(SharedEntry(bytes, under: key + [0x78], sign) == nil)
        }
        let empty = SharedEntry(.response(facts: [], body: []), writtenAtUs: 0, lifetimeMs: 0)
        #expect(SharedEntry(empty.encoded(under: [], sign), under: [], sign) == empty)
    }

    @Test func `a value with any other byte, cut or longer, is none`() {
        for entry in [response, variants] {
            let bytes = entry.encoded(under: key, sign)
            for i in bytes.indices {
                var flipped = bytes
                flipped[i] ^= 1
                #expect(SharedEntry(flipped, under: key, sign) == nil, "byte \(i)")
                #expect(SharedEntry(Array(bytes[..<i]), under: key, sign) == nil, "cut at \(i)")
            }
            #expect(SharedEntry(bytes + [0], under: key, sign) == nil)
        }
    }

    @Test func `a signed value that makes no sense is none`() {
        func signed(_ bytes: [UInt8]) -> [UInt8] {
            let signature = sign(key, bytes.span)
            return Array("lupin-s1".utf8) + (0..<32).compactMap { signature?[$0] } + bytes
        }
        let numbers = [UInt8](repeating: 0, count: 16)
        #expect(SharedEntry(signed([0x72] + numbers + [0, 0, 0, 0]), under: key, sign) != nil)
        #expect(SharedEntry(signed([0x41] + numbers + [0, 0, 0, 0]), under: key, sign) == nil)
        #expect(SharedEntry(signed([0x72] + numbers + [1, 0, 0, 0]), under: key, sign) == nil)
        #expect(
            SharedEntry(signed([0x72] + numbers + [255, 255, 255, 255]), under: key, sign) == nil
        )
    }

    @Test func `without a signature nothing is stored that could be read`() {
        let bytes = response.encoded(under: key) { _, _ in nil }
        #expect(SharedEntry(bytes, under: key, sign) == nil)
        #expect(SharedEntry(bytes, under: key) { _, _ in nil } == nil)
    }

    /// Remaining ms, seconds between the clocks' readings, and the elapsed ms.
    @Test(
        arguments: [
            (59_000, 1, 1000), (60_000, 0, 0), (1, 60, 59_999),
            // Clocks that differ by minutes don't matter.
            (59_000, -290, 1000), (59_000, 290, 1000), (30_000, -86_400, 30_000),
            // A server that says that no time has passed: the clocks know better.
            (60_000, 320, 20_000), (999_999, 310, 10_000),
            // Its time is over, by the one or the other.
            (0, 1, nil), (-1, 1, nil), (-2, 1, nil), (60_000, 360, nil), (60_000, 86_400, nil),
        ] as [(Int64, Int64, Int64?)]
    )
    func `its age is what the server counted, or the clocks say`(
        remaining: Int64,
        seconds: Int64,
        elapsed: Int64?
    ) {
        let now = response.writtenAtUs + seconds * 1_000_000
        #expect(response.elapsedMs(remainingMs: remaining, nowUs: now) == elapsed)
    }

    @Test func `no number traps`() {
        let numbers: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for written in numbers {
            for lifetime in numbers {
                let entry = SharedEntry(
                    response.content,
                    writtenAtUs: written,
                    lifetimeMs: lifetime
                )
                for remaining in numbers {
                    for now in numbers {
                        let elapsed = entry.elapsedMs(remainingMs: remaining, nowUs: now)
                        #expect(elapsed.map { $0 >= 0 } ?? true)
                    }
                }
            }
        }
    }

    // MARK: URLs

    @Test func `URLs of servers are read`() throws {
        let plain = try SharedServer(url: "redis://cache.example")
        #expect(plain.endpoint == .network(try #require(Host("cache.example")), 6379))
        #expect(!plain.isSecure && plain.database == 0 && plain.password == nil)
        let full = try SharedServer(url: "rediss://me%40team:p%3A%2Fw@[::1]:7000/3")
        #expect(full.text == "[::1]:7000" && full.isSecure && full.database == 3)
        #expect(full.user == "me@team" && full.password == "p:/w")
        let nameless = try SharedServer(url: "redis://:pw@127.0.0.1:1/")
        #expect(nameless.user == nil && nameless.password == "pw" && nameless.database == 0)
        let path = try SharedServer(url: "unix://:pw@/run/redis.sock?db=2")
        #expect(path.endpoint == .path("/run/redis.sock") && path.database == 2)
        #expect(path.password == "pw" && path.text == "/run/redis.sock")
    }

    @Test(arguments: [
        "cache.example", "http://cache.example", "redis://", "redis://a:0", "redis://a:70000",
        "redis://a/x", "redis://a/-1", "redis://a/1024", "redis://me@a", "redis://:@a",
        "redis://:%zz@a", "redis://a b", "unix://run/x", "unix:///x?x=1", "unix:///x?db=",
        "unix:///" + String(repeating: "a", count: 120),
    ])
    func `what is no URL of a server is told, without it`(url: String) {
        do throws(SharedServer.Problem) {
            _ = try SharedServer(url: url)
            Issue.record("\(url) was taken")
        } catch {
            #expect(!error.message.isEmpty && !error.message.contains("zz"))
        }
    }
}
