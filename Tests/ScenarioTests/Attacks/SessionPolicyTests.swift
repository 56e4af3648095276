// What was judged under one policy is judged anew under another: pools, tickets and early data.
import LupinCore
import LupinProxy
import LupinTLS
import LupinTestKit
import Testing

/// What an origin under TLS saw of a connection.
private struct Seen: Equatable {
    let isResumed: Bool
    let certificates: Int
}

extension ScriptedOrigin {
    fileprivate var seen: [Seen] {
        connections.compactMap { $0.security?.facts }.map {
            Seen(isResumed: $0.isResumed, certificates: $0.certificates.count)
        }
    }
}

extension ProxyFixture {
    /// The status for a request whose connection is closed behind it, or goes to the pool; `count`
    /// requests have been made then.
    fileprivate func status(_ url: String, _ count: Int) throws -> Int {
        let status = try client().get(url).status
        _ = try records(count)
        try settleWell()
        return status
    }
}

struct SessionPolicyTests {
    private static let mine = "client_cert: {cert: DIR/my.pem, key: DIR/my.key}"
    private static let other = "client_cert: {cert: DIR/other.pem, key: DIR/other.key}"

    private static func rule(_ keys: String) -> String {
        "rules: [{name: r, match: {host: origin.test}, \(keys)}]"
    }

    private static let wrongPin = PinText.text([UInt8](repeating: 7, count: 32))

    /// Runs a story with two certificates to show and an origin that asks for one.
    private func run(
        _ rules: String,
        closes: Bool = false,
        maximum: TLSVersion = .tls13,
        asks: Bool = true,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin, String) async throws -> Void
    ) async throws {
        let mine = try TestAuthority.identityFiles("mine.test")
        let other = try TestAuthority.identityFiles("other.test")
        let files = [
            "my.pem": mine.pem, "my.key": mine.key, "other.pem": other.pem, "other.key": other.key,
        ]
        try await ProxyFixture.run(rules, files: files, resolve: ProxyFixture.here) { proxy in
            var server = try proxy.authority.server("origin.test")
            server.asksForCertificate = asks
            server.maximum = maximum
            let origin = try proxy.origin(security: server) { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(200, "Connection: \(closes ? "close" : "x")", body: "ok")
                    if closes { return connection.shutdownWrite() }
                }
            }
            try await body(proxy, origin, "https://\(origin.authority("origin.test"))/")
        }
    }

    /// Policies that do not hold for the origin, which the first request reached.
    static let stricter = [
        rule("trust: {all: [{pins: [\"\(wrongPin)\"], chain: true, host: true}]}"),
        "upstream: {tls: {roots: [DIR/other.pem]}}",
        "access: {deny_targets: [link-local, self, loopback]}",
        "upstream: {tls: {require_trust_rule: true}}",
    ]

    @Test(arguments: stricter, [false, true])
    func `neither pool nor ticket leads around rules that came later`(
        rules: String,
        closes: Bool
    ) async throws {
        try await run("rules: []", closes: closes) { proxy, origin, url in
            #expect(try proxy.status(url, 1) == 200)
            let result = try await proxy.reload(rules)
            guard case .loaded = result else {
                Issue.record("\(result)")
                return
            }
            #expect(try proxy.status(url, 2) != 200)
            #expect(origin.connections.count == 1)
            _ = try await proxy.reload("rules: []\nupstream: {via: false}")
            #expect(try proxy.status(url, 3) == 200)
        }
    }

    @Test(arguments: [false, true])
    func `trust that was lax leaves nothing to a strict one`(closes: Bool) async throws {
        let lax = Self.rule("trust: disabled")
        try await ProxyFixture.run(lax, resolve: ProxyFixture.here) { proxy in
            let strange = SecureSocket.Server(try TestAuthority().identity("origin.test"))
            let origin = try proxy.origin(security: strange) { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(200, "Connection: \(closes ? "close" : "x")", body: "ok")
                    if closes { return connection.shutdownWrite() }
                }
            }
            let url = "https://\(origin.authority("origin.test"))/"
            #expect(try proxy.status(url, 1) == 200)
            _ = try await proxy.reload("rules: []")
            #expect(try proxy.status(url, 2) == 502)
            // A line of the reload stands between the two.
            #expect(try proxy.records(3)[2]["trust.verdict"] == "fail")
        }
    }

    @Test(arguments: [false, true], [TLSVersion.tls12, .tls13])
    func `a certificate that a reload adds is shown on a new connection`(
        closes: Bool,
        version: TLSVersion
    ) async throws {
        try await run("rules: []", closes: closes, maximum: version) { proxy, origin, url in
            #expect(try proxy.status(url, 1) == 200)
            _ = try await proxy.reload(Self.rule(Self.mine))
            #expect(try proxy.status(url, 2) == 200)
            // One of TLS 1.3 that is resumed shows no certificate again.
            let expected = [
                Seen(isResumed: false, certificates: 0), Seen(isResumed: false, certificates: 1),
            ]
            #expect(origin.seen == expected)
        }
    }

    @Test(arguments: [false, true], [TLSVersion.tls12, .tls13])
    func `a certificate that a reload takes away is known to no later connection`(
        closes: Bool,
        version: TLSVersion
    ) async throws {
        let rules = Self.rule(Self.mine)
        try await run(rules, closes: closes, maximum: version) { proxy, origin, url in
            #expect(try proxy.status(url, 1) == 200)
            _ = try await proxy.reload("rules: []")
            #expect(try proxy.status(url, 2) == 200)
            // A session remembers who its client was.
            let expected = [
                Seen(isResumed: false, certificates: 1), Seen(isResumed: false, certificates: 0),
            ]
            #expect(origin.seen == expected)
        }
    }

    @Test(arguments: [false, true])
    func `two rules' certificates make two connections, and none resumes the other's`(
        closes: Bool
    ) async throws {
        let rules = """
            rules:
              - {match: {host: origin.test, path: /mine}, \(Self.mine)}
              - {match: {host: origin.test, path: /other}, \(Self.other)}
            """
        try await run(rules, closes: closes) { proxy, origin, url in
            for (i, path) in ["mine", "other", "none"].enumerated() {
                let status = try proxy.status(url + path, i + 1)
                #expect(status == 200)
            }
            #expect(origin.seen.map(\.isResumed) == [false, false, false])
            let leaves = origin.connections.map { $0.security?.facts.certificates.first }
            #expect(leaves.count == 3)
            #expect(Set(leaves).count == 3)
        }
    }

    @Test func `what was made of TLS 1_2 is of no use where a rule wants 1_3`() async throws {
        try await run("rules: []", maximum: .tls12) { proxy, origin, url in
            #expect(try proxy.status(url, 1) == 200)
            _ = try await proxy.reload(Self.rule("tls: {min: \"1.3\"}"))
            #expect(try proxy.status(url, 2) == 502)
            #expect(origin.seen.count == 1)
        }
    }

    /// TLS 1.3 carries early data in the first flight, before the origin has said a word.
    @Test func `a request leaves when TLS is complete, resumed or not`() async throws {
        try await run("rules: []", closes: true, asks: false) { proxy, origin, url in
            for i in 1...3 {
                let status = try proxy.status(url, i)
                #expect(status == 200)
            }
            #expect(origin.seen.map(\.isResumed) == [false, true, true])
            for connection in origin.connections {
                #expect(connection.receivedText.hasPrefix("GET / HTTP/1.1\r\n"))
                #expect(!connection.receivedText.lowercased().contains("early-data"))
            }
        }
    }

    @Test func `Early-Data of a client is passed on, and its 425 too`() async throws {
        try await ProxyFixture.run(everywhere("retry: standard, cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(425, body: "early"),
                .status(200, body: "good")
            )
            let client = try proxy.client()
            #expect(try client.get(origin.url(), "Early-Data: 1").status == 425)
            #expect(flaky.requests.map { $0.values("Early-Data") } == [["1"]])
            #expect(try client.get(origin.url()).bodyText == "good")
            #expect(flaky.requests.last?["Early-Data"] == nil)
        }
    }

    @Test func `a request with early data and one without are not equal`() async throws {
        try await ProxyFixture.run("rules: []") { proxy in
            let (flaky, origin) = try proxy.flaky(.good)
            let client = try proxy.client()
            for _ in 0..<6 { try client.get(origin.url()) }
            try client.get(origin.url(), "Early-Data: 1")
            try client.get(origin.url())
            #expect(flaky.requests.suffix(2).map { $0["Early-Data"] } == ["1", nil])
        }
    }
}
