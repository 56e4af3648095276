// A look into the shared store needs no task once there is a connection, and ends well without.
import LupinTestKit
import Testing

private let team = "a-key-of-the-team-0123456789abcdef"

private func rules(_ url: String, timeout: String = "10s") -> String {
    let keys = "url: \"\(url)\", key: \"\(team)\", timeout: \(timeout)"
    let settings = "cache: {store: {shared: {\(keys)}}}"
    return everywhere("cache: standard", settings + "\n" + ProxyFixture.adminSocket)
}

@Suite(.enabled(if: RedisServer.isInstalled, "needs Debian's redis-tools"))
struct SharedAtOnceTests {
    /// Has another machine store these paths.
    private func store(
        _ paths: [String],
        of counted: CountedOrigin,
        in server: RedisServer,
        _ fields: [[String]] = [[]],
        values: Int? = nil
    ) async throws {
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            for path in paths {
                for fields in fields {
                    try client.send("GET", counted.origin.url(path), fields)
                    #expect(try client.response().status == 200)
                }
            }
            try server.waitForKeys(values ?? paths.count)
        }
    }

    private func origin(
        _ fields: [String] = ["Cache-Control: max-age=600"]
    ) throws -> CountedOrigin { try CountedOrigin(fields, body: "content") }

    /// How many exchanges were given a task because of the store.
    private func tasks(_ proxy: ProxyFixture) throws -> Int {
        let metrics = try proxy.admin("GET", "/v1/metrics").bodyText
        let line = metrics.split(separator: "\n").first {
            $0.hasPrefix("lupin_tasks_total") && $0.contains("\"store\"")
        }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }

    @Test func `what another machine stored is served without a task`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        let paths = (0..<5).map { "/\($0)" }
        try await store(paths, of: counted, in: server)
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            #expect(try client.get(counted.origin.url(paths[0])).isShared)
            try proxy.settle()
            let before = try tasks(proxy)
            for path in paths[1...] {
                let answer = try client.get(counted.origin.url(path))
                #expect(answer.isShared && answer.bodyText == "content" && answer["Age"] != nil)
                let again = try client.get(counted.origin.url(path))
                #expect(again.isHit && !again.isShared)
            }
            try proxy.settle()
            #expect(try tasks(proxy) == before)
            // What is not there goes to the origin.
            #expect(try client.get(counted.origin.url("/new")).caching.contains("uri-miss"))
            try proxy.settle()
            #expect(try tasks(proxy) == before + 1)
        }
        #expect(counted.count == paths.count + 1)
    }

    @Test func `what memory has and must be validated is validated`() async throws {
        let server = try RedisServer()
        let counted = try origin(["Cache-Control: no-cache", "ETag: \"a\""])
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            for path in ["/0", "/1"] {
                #expect(try client.get(counted.origin.url(path)).caching.contains("uri-miss"))
            }
            #expect(try client.get(counted.origin.url("/1")).caching.contains("fwd=stale"))
        }
    }

    @Test func `each variant is found by its fields, without a task`() async throws {
        let server = try RedisServer()
        let counted = try origin(["Cache-Control: max-age=600", "Vary: X-V"])
        let values = [["X-V: one"], ["X-V: two"]]
        try await store(["/a", "/b"], of: counted, in: server, values, values: 6)
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            try client.send("GET", counted.origin.url("/a"), values[0])
            #expect(try client.response().isShared)
            try proxy.settle()
            let before = try tasks(proxy)
            for (path, fields) in [("/a", values[1]), ("/b", values[0]), ("/b", values[1])] {
                try client.send("GET", counted.origin.url(path), fields)
                let answer = try client.response()
                #expect(answer.isShared, "\(path) \(fields): \(answer.caching)")
            }
            try proxy.settle()
            #expect(try tasks(proxy) == before)
            try client.send("GET", counted.origin.url("/b"), ["X-V: three"])
            #expect(try !client.response().isHit)
        }
        #expect(counted.count == 5)
    }

    @Test func `a value that was changed or moved is none`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        try await store(["/warm"], of: counted, in: server)
        let warm = try server.keys(":e")
        try await store(["/a", "/b"], of: counted, in: server, values: 3)
        let keys = try server.keys(":e").filter { !warm.contains($0) }
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            #expect(try client.get(counted.origin.url("/warm")).isShared)
            // The one's value under the other's key, and that of the other without an end of time.
            try server.ask("COPY", keys[0], keys[1], "REPLACE")
            try server.ask("PERSIST", keys[0])
            for path in ["/a", "/b"] {
                let answer = try client.get(counted.origin.url(path))
                #expect(!answer.isHit && answer.bodyText == "content", "\(answer.caching)")
            }
        }
        #expect(counted.count == 5)
    }

    @Test func `a server that stops or dies meanwhile costs no answer`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        let paths = (0..<4).map { "/\($0)" }
        try await store(paths, of: counted, in: server)
        for timeout in ["20ms", "300ms"] {
            try await ProxyFixture.run(rules(server.url, timeout: timeout)) { proxy in
                let client = try proxy.client()
                #expect(try client.get(counted.origin.url("/0")).status == 200)
                server.pause()
                for path in paths[1...2] {
                    let answer = try client.get(counted.origin.url(path))
                    #expect(answer.bodyText == "content" && !answer.isHit)
                }
                server.goOn()
            }
        }
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            #expect(try client.get(counted.origin.url("/0")).status == 200)
            server.pause()
            try client.send("GET", counted.origin.url("/3"), [])
            server.end()
            #expect(try client.response().bodyText == "content")
        }
    }

    @Test func `a client that leaves meanwhile ends its look, not that of others`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        try await store(["/0", "/1"], of: counted, in: server)
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let (leaver, client) = (try proxy.client(), try proxy.client())
            #expect(try leaver.get(counted.origin.url("/0")).isShared)
            server.pause()
            try leaver.send("GET", counted.origin.url("/1"), [])
            leaver.close()
            let record = try proxy.records(2)[1]
            #expect(record["outcome"] == "aborted")
            try client.send("GET", counted.origin.url("/1"), [])
            server.goOn()
            #expect(try client.response().isShared)
        }
        #expect(counted.count == 2)
    }

    @Test func `many that want one response ask once`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        try await store(["/0", "/1"], of: counted, in: server)
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let clients = try (0..<8).map { _ in try proxy.client() }
            #expect(try clients[0].get(counted.origin.url("/0")).isShared)
            server.pause()
            for client in clients { try client.send("GET", counted.origin.url("/1"), []) }
            server.goOn()
            for client in clients {
                let answer = try client.response()
                #expect(answer.isHit && answer.bodyText == "content", "\(answer.caching)")
            }
        }
        #expect(counted.count == 2)
    }

    @Test func `a node that sends elsewhere is followed`() async throws {
        let server = try RedisServer(port: try ReservedPort())
        let counted = try origin()
        try await store(["/0", "/1"], of: counted, in: server)
        let node = try server.nodeElsewhere(saying: "ASK")
        defer { node.stop() }
        try await ProxyFixture.run(rules("redis://\(node.authority)")) { proxy in
            let client = try proxy.client()
            for path in ["/0", "/1"] {
                #expect(try client.get(counted.origin.url(path)).isShared, "\(path)")
            }
        }
        #expect(counted.count == 2)
    }
}
