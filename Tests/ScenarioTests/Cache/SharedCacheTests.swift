// Several lupins share what they store by a Redis server that none of them trusts.
import Foundation
import LupinIO
import LupinTLS
import LupinTestKit
import Synchronization
import Testing

private let team = "a-key-of-the-team-0123456789abcdef"

/// Rules for a machine that shares.
private func rules(_ url: String, _ shared: String = "", _ more: String = "cache: standard")
    -> String
{
    let keys = "url: \"\(url)\", key: \"\(team)\", timeout: 10s\(shared)"
    return everywhere(more, "cache: {store: {shared: {\(keys)}}}")
}

/// Whether a response was another machine's.
extension ScriptedMessage {
    var isShared: Bool { isHit && caching.contains("detail=shared") }
}

@Suite(.enabled(if: RedisServer.isInstalled, "needs Debian's redis-tools"))
struct SharedCacheTests {
    /// The answers of one client after the other, each to a proxy of its own.
    private func ask(
        _ rules: String,
        _ origin: ScriptedOrigin,
        _ path: String = "/a",
        _ fields: [String] = [],
        method: String = "GET"
    ) async throws -> ScriptedMessage {
        let answer = Mutex<ScriptedMessage?>(nil)
        let url = origin.url(path)
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send(method, url, fields)
            let response = try client.response(to: method)
            answer.withLock { $0 = response }
        }
        return try #require(answer.withLock { $0 })
    }

    private func origin(
        _ fields: [String] = ["Cache-Control: max-age=600"],
        body: String = "content"
    ) throws -> CountedOrigin { try CountedOrigin(fields, body: body) }

    @Test func `what one machine stored another finds, then in its own memory`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        let first = try await ask(rules(server.url), counted.origin)
        #expect(first.caching == "lupin; fwd=uri-miss; stored")
        try server.waitForKeys(1)
        let url = counted.origin.url("/a")
        try await ProxyFixture.run(rules(server.url)) { proxy in
            let client = try proxy.client()
            let second = try client.get(url)
            #expect(second.isShared && second.bodyText == "content" && second["Age"] != nil)
            let third = try client.get(url)
            #expect(third.isHit && !third.isShared)
            #expect(try proxy.records(2)[0]["cache"]?.contains("detail=shared") == true)
        }
        #expect(counted.count == 1)
        #expect(try server.keys().allSatisfy { !$0.contains("127.0.0.1") })
    }

    @Test func `without room in memory what others may have is stored, and nothing else`()
        async throws
    {
        let server = try RedisServer()
        let counted = try origin()
        for (keys, said) in [
            ("cache: standard", "stored"), ("cache: {mode: private}", "detail=store-failed"),
        ] {
            let rules = rules(server.url, "", keys).replacing(
                "store: {",
                with: "store: {memory: 0, "
            )
            let response = try await ask(rules, counted.origin)
            #expect(response.caching == "lupin; fwd=uri-miss; \(said)")
        }
        try server.waitForKeys(1)
    }

    @Test(arguments: [
        ["Cache-Control: private, max-age=600"], ["Cache-Control: no-store"],
        ["Cache-Control: max-age=600", "Set-Cookie: a=b"], ["Cache-Control: max-age=0"],
    ])
    func `what is not for all stays here`(fields: [String]) async throws {
        let server = try RedisServer()
        let counted = try origin(fields)
        let ignoring = "cache: {ignore: [private, no-store, cookies]}"
        for keys in ["cache: standard", ignoring, "cache: {mode: private}"] {
            _ = try await ask(rules(server.url, "", keys), counted.origin)
        }
        _ = try await ask(rules(server.url), counted.origin, "/b", ["Authorization: Basic eDp5"])
        #expect(try server.keys(":e") == [])
        #expect(counted.count == 4)
    }

    @Test func `a response for one user of a private cache stays here`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        _ = try await ask(rules(server.url, "", "cache: {mode: private}"), counted.origin)
        #expect(try server.keys() == [])
    }

    @Test func `each variant is found by its fields`() async throws {
        let server = try RedisServer()
        let counted = try origin(["Cache-Control: max-age=600", "Vary: X-V"])
        for value in ["one", "two"] {
            _ = try await ask(rules(server.url), counted.origin, "/a", ["X-V: \(value)"])
        }
        try server.waitForKeys(3)
        for value in ["one", "two", "one"] {
            let answer = try await ask(rules(server.url), counted.origin, "/a", ["X-V: \(value)"])
            #expect(answer.isShared, "\(value): \(answer.caching)")
        }
        #expect(counted.count == 2)
        let third = try await ask(rules(server.url), counted.origin, "/a", ["X-V: three"])
        #expect(!third.isHit && counted.count == 3)
    }

    // MARK: A server that lies

    @Test func `a value that was changed, moved or made by others is none`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        _ = try await ask(rules(server.url), counted.origin, "/a")
        _ = try await ask(rules(server.url), counted.origin, "/b")
        try server.waitForKeys(2)
        let keys = try server.keys(":e")
        // The one's value under the other's key.
        try server.ask("RENAME", keys[0], keys[1])
        for path in ["/a", "/b"] {
            let answer = try await ask(rules(server.url), counted.origin, path)
            #expect(!answer.isHit && answer.bodyText == "content", "\(path): \(answer.caching)")
        }
        try server.waitForKeys(2)
        for key in keys { try server.ask("SETRANGE", key, "120", "x") }
        for path in ["/a", "/b"] {
            let answer = try await ask(rules(server.url), counted.origin, path)
            #expect(!answer.isHit && answer.bodyText == "content", "\(path): \(answer.caching)")
        }
        for key in keys { try server.ask("SET", key, "something else", "PX", "100000") }
        #expect(try await !ask(rules(server.url), counted.origin, "/a").isHit)
        for key in keys {
            try server.ask("DEL", key)
            try server.ask("RPUSH", key, "a", "b")
        }
        #expect(try await !ask(rules(server.url), counted.origin, "/a").isHit)
    }

    @Test func `another team's values are none`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        _ = try await ask(rules(server.url), counted.origin)
        try server.waitForKeys(1)
        let others = rules(server.url).replacingOccurrences(of: team, with: String(team.reversed()))
        #expect(try await !ask(others, counted.origin).isHit)
    }

    @Test func `a value whose time is over, or that has none, is none`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        _ = try await ask(rules(server.url), counted.origin)
        try server.waitForKeys(1)
        let key = try #require(try server.keys(":e").first)
        try server.ask("PERSIST", key)
        #expect(try await !ask(rules(server.url), counted.origin).isHit)
    }

    @Test func `age is counted by the server`() async throws {
        let server = try RedisServer()
        let counted = try origin(["Cache-Control: max-age=86400"])
        _ = try await ask(rules(server.url), counted.origin)
        try server.waitForKeys(1)
        let key = try #require(try server.keys(":e").first)
        // 40,000 of 86,400 seconds have passed, says the server.
        try server.ask("PEXPIRE", key, "46400000")
        let answer = try await ask(rules(server.url), counted.origin)
        #expect(answer.isShared)
        let age = try #require(answer["Age"].flatMap { Int($0) })
        // A busy machine adds to it.
        #expect((40000...41000).contains(age))
    }

    // MARK: A server that is gone

    @Test func `a server that is not there, stops or is full costs no answer`() async throws {
        let server = try RedisServer(["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"])
        let counted = try origin()
        let quick = rules(server.url).replacingOccurrences(
            of: "timeout: 10s",
            with: "timeout: 20ms"
        )
        let urls = (0..<6).map { counted.origin.url("/\($0)") }
        try await ProxyFixture.run(quick) { proxy in
            let client = try proxy.client()
            #expect(try client.get(urls[0]).bodyText == "content")
            server.pause()
            for url in urls[1...2] { #expect(try client.get(url).bodyText == "content") }
            server.goOn()
            try server.ask("CONFIG", "SET", "maxmemory", "1")
            for url in urls[3...4] { #expect(try client.get(url).bodyText == "content") }
            server.end()
            #expect(try client.get(urls[5]).bodyText == "content")
            #expect(try client.get(urls[0]).isHit)
        }
        let nowhere = rules("redis://127.0.0.1:\(try ReservedPort().number)")
        #expect(try await ask(nowhere, counted.origin).bodyText == "content")
        #expect(
            try await ask(rules("unix:///nowhere/at-all"), counted.origin).bodyText == "content"
        )
    }

    @Test func `a server that comes back is used again`() async throws {
        let port = try ReservedPort()
        let first = try RedisServer(port: port)
        let counted = try origin()
        let quick = rules("redis://127.0.0.1:\(port.number)")
        let urls = (0..<200).map { counted.origin.url("/\($0)") }
        try await ProxyFixture.run(quick) { proxy in
            let client = try proxy.client()
            _ = try client.get(urls[0])
            try first.waitForKeys(1)
            first.end()
            _ = try client.get(urls[1])
            let second = try RedisServer(port: port)
            var next = 2
            try eventually("it stores again") {
                _ = try? client.get(urls[next])
                next += 1
                return (try? second.keys(":e").isEmpty) == false
            }
        }
    }

    @Test func `a login is made, and a wrong one costs nothing but the store`() async throws {
        let server = try RedisServer(["--requirepass", "let me in/now"])
        let counted = try origin()
        let place = server.path
        _ = try await ask(rules("unix://:wrong-password@\(place)"), counted.origin)
        #expect(counted.count == 1)
        let url = "unix://:let%20me%20in%2Fnow@\(place)"
        _ = try await ask(rules(url), counted.origin)
        try eventually("it is stored") {
            let keys = try? server.ask("KEYS", "*:e", password: "let me in/now")
            return keys?.contains(":e") == true
        }
        #expect(try await ask(rules(url), counted.origin).isShared)
    }

    /// An old server repeats what it does not know, arguments and all.
    @Test(arguments: ["AUTH", "GETRANGE"])
    func `a server that repeats the password is not quoted`(command: String) async throws {
        let password = "hunter2-secret-word"
        let server = try ScriptedOrigin { connection in
            while let line = try? connection.stream.line() {
                guard line.hasPrefix("$") else { continue }
                switch try connection.stream.line() {
                case command: try connection.send("-LOADING args: 'bob' '\(password)'\r\n")
                case "AUTH": try connection.send("+OK\r\n")
                case "GETRANGE", "PTTL", "SET", "DEL", "SUBSCRIBE", "CLUSTER", "PING":
                    try connection.send("-ERR no\r\n")
                default: break
                }
            }
        }
        defer { server.stop() }
        let counted = try origin()
        let url = "redis://bob:\(password)@127.0.0.1:\(server.address.port)"
        try await ProxyFixture.run(rules(url)) { proxy in
            #expect(try proxy.client().get(counted.origin.url("/a")).status == 200)
            try eventually("a warning") { !proxy.warnings.isEmpty }
            #expect(proxy.warnings.allSatisfy { !$0.contains(password) }, "\(proxy.warnings)")
        }
    }

    // MARK: Ways there

    @Test func `a server is reached by TLS, if its certificate is trusted`() async throws {
        let root = try MintedAuthority.root(now: TestAuthority.now)
        let leaf = try root.leaf("127.0.0.1")
        let files = try MintedFiles()
        let port = try ReservedPort()
        let server = try RedisServer([
            "--tls-port", String(port.number), "--tls-auth-clients", "no",
            "--tls-cert-file", try files.write(leaf.certificateText, "cert.pem"),
            "--tls-key-file", try files.write(leaf.keyText, "key.pem"),
            "--tls-ca-cert-file", try files.write(root.certificate.pem, "root.pem"),
        ])
        let counted = try origin()
        let rules = rules("rediss://127.0.0.1:\(port.number)")
        _ = try await ask(rules, counted.origin)
        #expect(try server.keys() == [])
        let trusting = "upstream: {tls: {roots: \"\(files.path)/root.pem\"}}\n" + rules
        _ = try await ask(trusting, counted.origin)
        try server.waitForKeys(1)
        #expect(try await ask(trusting, counted.origin).isShared)
    }

    @Test func `a cluster's node sends elsewhere, for good or for once`() async throws {
        let server = try RedisServer(port: try ReservedPort())
        let counted = try origin()
        for word in ["MOVED", "ASK"] {
            let node = try server.nodeElsewhere(saying: word)
            defer { node.stop() }
            let rules = rules("redis://\(node.authority)")
            let url = counted.origin.url("/\(word)")
            // It stops with what is on its way, so it stays until that is there.
            try await ProxyFixture.run(rules) { proxy in
                _ = try proxy.client().get(url)
                try server.waitForKeys(1)
            }
            #expect(try await ask(rules, counted.origin, "/\(word)").isShared)
            try server.ask("FLUSHALL")
        }
    }

    @Test func `a cluster is learnt from one of its nodes`() async throws {
        let ports = try (0..<3).map { _ in try ReservedPort() }
        let nodes = try ports.map { port in
            try RedisServer(
                [
                    "--cluster-enabled", "yes", "--cluster-port",
                    String(try ReservedPort().number),
                ],
                port: port
            )
        }
        for (index, node) in nodes.enumerated() {
            let (first, last) = [("0", "5460"), ("5461", "10922"), ("10923", "16383")][index]
            try node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
        }
        let buses = try nodes.map { node in
            let line = try node.ask("CLUSTER", "NODES")
            return try #require(line.firstMatch(of: /@(\d+)/)).1
        }
        for index in 1..<3 {
            try nodes[0].ask(
                "CLUSTER",
                "MEET",
                "127.0.0.1",
                String(ports[index].number),
                String(buses[index])
            )
        }
        try eventually("the cluster is whole") {
            nodes.allSatisfy { (try? $0.ask("CLUSTER", "INFO"))?.contains("state:ok") == true }
        }
        let counted = try origin()
        let rules = rules("redis://127.0.0.1:\(ports[0].number)")
        let urls = (0..<24).map { counted.origin.url("/\($0)") }
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            for url in urls { _ = try client.get(url) }
        }
        try eventually("all is stored, on every node") {
            let counts = nodes.map { (try? $0.keys(":e").count) ?? 0 }
            return counts.reduce(0, +) == urls.count && !counts.contains(0)
        }
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            for url in urls { #expect(try client.get(url).isShared) }
        }
        #expect(counted.count == urls.count)
    }

    // MARK: One fetch for all

    @Test func `two machines fetch once`() async throws {
        let server = try RedisServer()
        let rules = rules(server.url, ", collapse_wait: 60s, lease: 60s")
        try await ProxyFixture.run(rules) { one in
            let origin = try PlayedOrigin()
            let leader = try one.client()
            try leader.send("GET", origin.url("/a"), [])
            let connection = try origin.accept()
            try connection.request()
            try await ProxyFixture.run(rules) { other in
                let follower = try other.client()
                try follower.send("GET", origin.url("/a"), [])
                // Two claims of the other machine: it has looked, and waits.
                try eventually("the other one waits") { (try? server.calls("set") ?? 0) ?? 0 > 2 }
                try connection.reply(200, "Cache-Control: max-age=600", body: "once")
                #expect(try leader.response().bodyText == "once")
                let answer = try follower.response()
                #expect(answer.bodyText == "once" && answer.isShared)
                #expect(!origin.hasWaiting)
            }
        }
    }

    @Test func `who waits for a machine that died goes on when its lease is over`() async throws {
        let server = try RedisServer()
        let counted = try origin()
        _ = try await ask(rules(server.url), counted.origin)
        try server.waitForKeys(1)
        let key = try #require(try server.keys(":e").first)
        try server.ask("DEL", key)
        let lease = String(key.dropLast()) + "l"
        try server.ask("SET", lease, "f", "PX", "300")
        let patient = rules(server.url, ", collapse_wait: 60s")
        let answer = try await ask(patient, counted.origin)
        #expect(answer.bodyText == "content" && counted.count == 2)
        // And where the wait is over before the lease.
        try server.waitForKeys(1)
        try server.ask("DEL", key)
        try server.ask("SET", lease, "f", "PX", "600000")
        let hasty = rules(server.url, ", collapse_wait: 100ms")
        #expect(try await ask(hasty, counted.origin).bodyText == "content")
        #expect(counted.count == 3)
    }

    @Test func `nobody waits for a response that is not for all`() async throws {
        let server = try RedisServer()
        let counted = try origin(["Cache-Control: private, max-age=600"])
        let patient = rules(server.url, ", collapse_wait: 60s, lease: 60s")
        for _ in 0..<2 { _ = try await ask(patient, counted.origin) }
        #expect(counted.count == 2)
        #expect(try server.keys(":l").count == 1)
    }

    // MARK: Dropping

    @Test(arguments: ["POST", "PURGE"])
    func `what one machine drops is dropped by all`(method: String) async throws {
        let server = try RedisServer()
        let counted = try origin()
        let url = counted.origin.url("/a")
        try await ProxyFixture.run(rules(server.url)) { one in
            let client = try one.client()
            #expect(try !client.get(url).isHit)
            #expect(try client.get(url).isHit)
            try server.waitForKeys(1)
            try eventually("it listens") {
                (try? server.ask("PUBSUB", "CHANNELS").isEmpty) == false
            }
            _ = try await ask(rules(server.url), counted.origin, "/a", method: method)
            try eventually("it is dropped") { (try? client.get(url).isHit) == false }
        }
    }
}

/// An origin that gives the same response to everything, and counts.
final class CountedOrigin: Sendable {
    let origin: ScriptedOrigin
    private let served: Counter

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    init(_ fields: [String], body: String) throws {
        let served = Counter()
        self.served = served
        let lines = fields.map { $0 + "\r\n" }.joined()
        let count = body.utf8.count
        let text = "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\(lines)\r\n\(body)"
        origin = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                served.count.add(1, ordering: .relaxed)
                try connection.send(text)
            }
        }
    }

    deinit { origin.stop() }

    var count: Int { served.count.load(ordering: .relaxed) }
}

extension RedisServer {
    /// How often a command was called.
    fileprivate func calls(_ command: String) throws -> Int? {
        let stats = try ask("INFO", "commandstats")
        let line = stats.split(whereSeparator: \.isNewline).first {
            $0.hasPrefix("cmdstat_\(command):")
        }
        return line?.firstMatch(of: /calls=(\d+)/).flatMap { Int($0.1) }
    }

    /// Waits until there are so many values.
    func waitForKeys(_ count: Int) throws {
        try eventually("\(count) values") {
            let found = try? keys().filter { !$0.hasSuffix(":l") }.count
            return (found ?? 0) >= count
        }
    }
}
