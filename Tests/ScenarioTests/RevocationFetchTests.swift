// How lupin asks whether an origin's certificate was withdrawn, in the middle of an exchange.
import LupinCore
import LupinIO
import LupinTLS
import LupinTestKit
import Testing

struct RevocationFetchTests {
    private static let rule = """
        rules:
          - match: {host: origin.test}
            trust: {all: [system, {revocation: {method: ocsp, require: true, network: true}}]}
        """

    private func server(_ proxy: ProxyFixture, asking url: String) throws -> SecureSocket.Server {
        SecureSocket.Server(
            try proxy.authority.identity("origin.test") { $0.ocspURL = url }
        )
    }

    @Test func `a question that a client walked away from is asked again for the next one`()
        async throws
    {
        try await ProxyFixture.run(Self.rule, resolve: ProxyFixture.here) { proxy in
            let responder = try PlayedOrigin()
            let server = try server(proxy, asking: "http://ocsp.test:\(responder.address.port)/")
            let origin = try proxy.origin(security: server) { _ = try? $0.nextRequest() }
            let url = "https://\(origin.authority("origin.test"))/"
            let leaver = try proxy.client()
            try leaver.send("GET", url)
            let first = try responder.accept()
            _ = try first.request()
            leaver.close()
            #expect(try proxy.record()["outcome"] == "aborted")
            let stayer = try proxy.client()
            try stayer.send("GET", url)
            let second = try responder.accept()
            _ = try second.request()
            try second.reply(500)
            let response = try stayer.response()
            #expect(response.status == 502)
            #expect(response.bodyText.contains("answered 500"))
        }
    }

    @Test(arguments: ["ocsp.test", "169.254.7.7"])
    func `access lists hold for what lupin asks for itself`(host: String) async throws {
        let parent = try PlayedOrigin()
        let rules = """
            access: {deny_targets: [link-local, ocsp.test]}
            upstream: {proxy: "http://\(parent.authority)", no_proxy: [origin.test]}

            """
        try await ProxyFixture.run(rules + Self.rule, resolve: ProxyFixture.here) { proxy in
            let server = try server(proxy, asking: "http://\(host)/")
            let origin = try proxy.origin(security: server) { _ = try? $0.nextRequest() }
            let client = try proxy.client()
            try client.send("GET", "https://\(origin.authority("origin.test"))/")
            #expect(try client.response().status == 502)
            #expect(!parent.hasWaiting)
        }
    }
}
