// `listen.protocols`: what a listener takes, and what it says to the rest.
import LupinTestKit
import Testing

struct ListenProtocolTests {
    private static func rules(_ protocols: String, isSecure: Bool = false) -> String {
        let tls = isSecure ? ", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}" : ""
        return "listen: [{address: \"127.0.0.1:1\", protocols: \(protocols)\(tls)}]\n"
    }

    private static func runSecurely(
        _ protocols: String,
        _ story: @escaping @Sendable (ProxyFixture) throws -> Void
    ) async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        try await ProxyFixture.run(
            rules(protocols, isSecure: true),
            files: ["proxy.pem": files.pem, "proxy.key": files.key]
        ) { proxy in try story(proxy) }
    }

    private static func secured(
        _ proxy: ProxyFixture,
        _ protocols: [String]
    ) throws -> ScriptedClient {
        var tls = SecureSocket.Client("proxy.test")
        tls.protocols = protocols
        return try proxy.client().secure(tls)
    }

    @Test func `a listener of HTTP 1 takes no preface`() async throws {
        try await ProxyFixture.run(Self.rules("[h1]")) { proxy in
            let client = try proxy.client()
            try client.send(HTTP2Frame.preface)
            let response = try client.response()
            #expect(response.status == 505)
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `a listener of HTTP 1 does not choose HTTP 2`() async throws {
        try await Self.runSecurely("[h1]") { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try Self.secured(proxy, ["h2", "http/1.1"])
            #expect(client.security?.facts.chosenProtocol == "http/1.1")
            #expect(try client.get(origin.url("/3")).body.count == 3)
        }
    }

    @Test(arguments: ["GET http://a.test/ HTTP/1.1", "GET / HTTP/1.0", "PRI * HTTP/1.1"])
    func `a listener of HTTP 2 alone takes nothing else`(line: String) async throws {
        try await ProxyFixture.run(Self.rules("[h2]")) { proxy in
            let client = try proxy.client()
            try client.send(head(line, "Host: a.test"))
            #expect(try client.response().status == 505)
            #expect(try client.waitForEnd() == .finished)
            let origin = try proxy.measuredOrigin()
            let other = try proxy.http2Client()
            #expect(try other.request(authority: origin.authority, path: "/3").body.count == 3)
        }
    }

    @Test func `a listener of HTTP 2 alone chooses it`() async throws {
        try await Self.runSecurely("[h2]") { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try HTTP2Client(inside: try Self.secured(proxy, ["http/1.1", "h2"]))
            #expect(try client.request(authority: origin.authority, path: "/3").body.count == 3)
        }
    }

    @Test func `what ALPN chose is what is spoken`() async throws {
        try await Self.runSecurely("[h1, h2]") { proxy in
            let client = try Self.secured(proxy, ["h2"])
            try client.send(head("GET http://a.test/ HTTP/1.1", "Host: a.test"))
            #expect(try client.stream.untilEnd().bytes.starts(with: "HTTP/1".utf8) == false)
        }
    }
}
