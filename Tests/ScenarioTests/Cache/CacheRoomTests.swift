// How much is kept: what goes when the room is full, and when the rules make it smaller.
import LupinProxy
import LupinTestKit
import Testing

struct CacheRoomTests {
    private static func rules(_ store: String, _ policy: String = "standard") -> String {
        everywhere("cache: \(policy)", "cache: {store: {\(store)}}")
    }

    /// An origin whose answers are `bytes` long and stay fresh.
    private static func origin(_ proxy: ProxyFixture, _ bytes: Int) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while try connection.nextRequest() != nil {
                let body = String(repeating: "x", count: bytes)
                try connection.reply(200, "Cache-Control: max-age=600", body: body)
            }
        }
    }

    /// How many of the URLs are answered from the store, asked only for what is there.
    private static func kept(_ client: ScriptedClient, _ origin: ScriptedOrigin) throws -> Int {
        try (0..<10).filter { i in
            let wish = "Cache-Control: only-if-cached"
            return try client.get(origin.url("/\(i)"), wish).status == 200
        }.count
    }

    @Test func `no more is kept than there is room for`() async throws {
        try await ProxyFixture.run(Self.rules("memory: 64KiB, max_object: 64KiB")) { proxy in
            let origin = try Self.origin(proxy, 15_000)
            let client = try proxy.client()
            for i in 0..<10 { try client.get(origin.url("/\(i)")) }
            let kept = try Self.kept(client, origin)
            #expect((1...4).contains(kept))
        }
    }

    @Test(.waitsForPrograms, arguments: ["GET", "POST"])
    func `long URLs take no more memory than the store has`(method: String) throws {
        let place = try Folder()
        let rules = """
            lupin: 1
            log: off
            listen: [{address: 127.0.0.1:0}]
            admin: {history: 0}
            cache: {store: {memory: 1MiB}}
            rules: [{match: {path: /**}, cache: standard}]

            """
        let running = try RunningLupin("--rules", try place.write("lupin.yaml", rules))
        let origin = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                try connection.reply(200, "Cache-Control: max-age=600", body: "x")
            }
        }
        defer { origin.stop() }
        let client = try ScriptedClient(to: .loopback(port: running.port))
        let long = String(repeating: "u", count: 20_000)
        func ask(_ numbers: Range<Int>) throws {
            for number in numbers {
                try client.send(method, origin.url("/\(number)/\(long)"))
                #expect(try client.response(to: method).status == 200)
            }
        }
        try ask(0..<100)
        let before = running.residentBytes
        try ask(100..<700)
        // These URLs alone have 12 MB.
        #expect(running.residentBytes < before + (6 << 20))
    }

    @Test func `a reload that makes the room smaller drops what no longer fits`() async throws {
        try await ProxyFixture.run(Self.rules("memory: 1MiB, max_object: 64KiB")) { proxy in
            let origin = try Self.origin(proxy, 15_000)
            let client = try proxy.client()
            for i in 0..<10 { try client.get(origin.url("/\(i)")) }
            #expect(try Self.kept(client, origin) == 10)
            let result = try await proxy.reload(Self.rules("memory: 64KiB, max_object: 64KiB"))
            guard case .loaded = result else { throw SocketFailure("\(result)") }
            #expect((1...4).contains(try Self.kept(client, origin)))
        }
    }

    @Test func `a reload of other rules keeps what is stored`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let origin = try Self.origin(proxy, 100)
            let client = try proxy.client()
            try client.get(origin.url("/1"))
            let more = "cache: standard, response: [{set: {X-New: \"yes\"}}]"
            _ = try await proxy.reload(everywhere(more))
            let hit = try client.get(origin.url("/1"))
            #expect(hit.isHit)
            #expect(hit["X-New"] == "yes")
            _ = try await proxy.reload(everywhere("cache: off"))
            #expect(try client.get(origin.url("/1")).caching == "nothing")
        }
    }

    @Test func `of one URL only so many variants are kept`() async throws {
        try await ProxyFixture.run(everywhere("cache: {variants: 2}")) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(200, "Cache-Control: max-age=600", "Vary: X-Kind")
                }
            }
            let client = try proxy.client()
            for kind in ["a", "b", "c"] { try client.get(origin.url(), "X-Kind: \(kind)") }
            let wish = "Cache-Control: only-if-cached"
            let kept = try ["a", "b", "c"].filter {
                try client.get(origin.url(), "X-Kind: \($0)", wish).status == 200
            }
            #expect(kept == ["b", "c"])
        }
    }

    @Test func `the name in Cache-Status is the policy's, or there is none`() async throws {
        for (name, text) in [("edge", "edge; fwd=uri-miss; stored"), ("off", "nothing")] {
            let rules = everywhere("cache: {status_header: \(name)}")
            try await ProxyFixture.run(rules) { proxy in
                let origin = try Self.origin(proxy, 10)
                #expect(try proxy.client().get(origin.url()).caching == text)
                #expect(try proxy.record()["cache.status"] == "lupin; fwd=uri-miss; stored")
            }
        }
    }
}
