// Who may use the proxy and which targets it refuses, whatever the rules say.
import Foundation
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct AccessTests {
    /// Settings, target, what the refusal is called.
    static let denied = [
        ("", "http://169.254.169.254/latest/meta-data", "destination_ip_prohibited"),
        ("", "http://[::ffff:169.254.169.254]/", "destination_ip_prohibited"),
        ("", "http://[::ffff:a9fe:a9fe]/", "destination_ip_prohibited"),
        ("", "http://[64:ff9b::a9fe:a9fe]/", "destination_ip_prohibited"),
        ("", "http://[fd00:ec2::254]/", "destination_ip_prohibited"),
        ("", "http://100.100.100.200/", "destination_ip_prohibited"),
        ("", "http://[fe80::1]/", "destination_ip_prohibited"),
        ("", "http://rebound.test/", "destination_ip_prohibited"),
        ("deny_targets: [metadata]", "http://169.254.169.254/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://127.0.0.1:1/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://127.9.9.9:1/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://[::1]:1/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://0.0.0.0:1/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://[::]:1/", "destination_ip_prohibited"),
        ("deny_targets: [loopback]", "http://[::ffff:127.0.0.1]:1/", "destination_ip_prohibited"),
        ("deny_targets: [private]", "http://10.1.2.3/", "destination_ip_prohibited"),
        ("deny_targets: [private]", "http://192.168.0.1/", "destination_ip_prohibited"),
        ("deny_targets: [private]", "http://[fd12::1]/", "destination_ip_prohibited"),
        ("deny_targets: [198.51.100.0/24]", "http://198.51.100.7/", "destination_ip_prohibited"),
        ("deny_targets: [\"*.evil.test\"]", "http://a.EVIL.test./", "http_request_denied"),
        ("deny_targets: [\"*.evil.test\"]", "CONNECT a.evil.test:443", "http_request_denied"),
        ("", "CONNECT 169.254.169.254:80", "destination_ip_prohibited"),
        ("", "CONNECT rebound.test:80", "destination_ip_prohibited"),
        ("connect_ports: [443, 8000-8100]", "CONNECT 127.0.0.1:22", "http_request_denied"),
        ("connect_ports: [443, 8000-8100]", "CONNECT 127.0.0.1:8101", "http_request_denied"),
    ]

    @Test(arguments: denied)
    func `a denied target is refused and recorded so`(
        access: String,
        target: String,
        error: String
    ) async throws {
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in
            .success([.v4(0xA9FE_A9FE)])
        }
        try await ProxyFixture.run(
            access.isEmpty ? "" : "access: {\(access)}",
            resolve: resolve
        ) { proxy in
            let words = target.split(separator: " ")
            let client = try proxy.client()
            try client.send(words.count > 1 ? "CONNECT" : "GET", String(words[words.count - 1]))
            let response = try client.response()
            #expect(response.status == (error == "http_request_denied" ? 403 : 502))
            #expect(response["Proxy-Status"]?.contains("error=\(error)") == true)
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == error)
            #expect(record["url.domain"]?.isEmpty == false)
        }
    }

    @Test func `one allowed address among denied ones is connected to`() async throws {
        let answer: [IPAddress] = [.v4(0xA9FE_A9FE), .v4(0x7F00_0001)]
        try await ProxyFixture.run(resolve: { _ in .success(answer) }) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", "http://both.test:\(origin.address.port)/")
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(body: "allowed")
            #expect(try client.response().bodyText == "allowed")
            #expect(try proxy.record()["attempts.0.peer"] == origin.authority)
        }
    }

    @Test func `what the log keeps of fields holds for refused requests too`() async throws {
        let rules = "log: {headers: none}\naccess: {deny_targets: [\"*.evil.test\"]}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://a.evil.test/", ["X-Mine: 1"])
            #expect(try client.response().status == 403)
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record.list("http.request.names").isEmpty)
            #expect(!proxy.logText.contains("x-mine"))
        }
    }

    @Test func `ports that connect_ports lists are open`() async throws {
        try await ProxyFixture.run("access: {connect_ports: [1-65535]}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
        }
    }

    @Test func `a client that is not listed gets 403 and nothing is done for it`() async throws {
        try await ProxyFixture.run("access: {clients: [10.0.0.0/8]}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response.status == 403)
            #expect(response.bodyText.contains("access.clients"))
            #expect(try client.connect(origin.authority).status == 403)
            #expect(!origin.hasWaiting)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    /// A client from another machine is played by this machine's own address in the network.
    @Test(.enabled(if: LocalAddress.inNetwork != nil))
    func `clients from elsewhere do not reach this machine's loopback`() async throws {
        let own = try #require(LocalAddress.inNetwork)
        try await ProxyFixture.run(
            """
            listen: [{address: "0.0.0.0:8080", auth: none}]
            access: {clients: ["0.0.0.0/0"]}
            """
        ) { proxy in
            let origin = try PlayedOrigin()
            let address = SocketAddress(address: own, port: proxy.address.port)
            for target in [origin.url(), "http://[::1]:\(origin.address.port)/"] {
                let client = try ScriptedClient(to: address)
                let response = try client.get(target)
                #expect(response.status == 502)
                #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
                client.close()
            }
            #expect(!origin.hasWaiting)
            #expect(try proxy.record()["client.address"] == own.text)
        }
    }
}

/// An address of this machine that is not its loopback.
enum LocalAddress {
    static let inNetwork: IPAddress? = {
        let table = (try? String(contentsOfFile: "/proc/net/fib_trie", encoding: .utf8)) ?? ""
        let lines = table.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for (line, next) in zip(lines, lines.dropFirst()) {
            guard next.hasPrefix("/32 host LOCAL"), line.hasPrefix("|-- ") else { continue }
            let parts = line.dropFirst(4).split(separator: ".").compactMap { UInt32($0) }
            guard parts.count == 4, parts[0] != 127 else { continue }
            return .v4(parts.reduce(0) { $0 << 8 | $1 })
        }
        return nil
    }()
}
