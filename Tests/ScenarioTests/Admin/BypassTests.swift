// What people can find out about a bypass, and what ends it.
import LupinTLS
import LupinTestKit
import Testing

struct BypassTests {
    private static let rules = ProxyFixture.adminSocket + Inside.rule

    private func refuse(_ proxy: ProxyFixture, _ authority: String) throws {
        let client = try proxy.client()
        #expect(try client.connect(authority).status == 200)
        var tls = SecureSocket.Client("origin.test")
        tls.verdict = .refused(.unknownAuthority)
        #expect(throws: TLSFailure.self) { try client.secure(tls) }
        _ = try proxy.records(1)
    }

    private func isBypassed(_ proxy: ProxyFixture, _ authority: String) throws -> Bool {
        let client = try proxy.client()
        defer { client.close() }
        return try client.connect(authority)["Lupin-Bypass"] != nil
    }

    @Test func `the admin interface tells and clears bypasses, status counts them`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority)
            let told = try proxy.adminJSON("/v1/bypasses")
            #expect(told.count("bypasses") == 1)
            #expect(told["bypasses.0.client"] == "127.0.0.1")
            #expect(told["bypasses.0.host"] == authority)
            #expect(told["bypasses.0.because"] == "unknown_ca")
            #expect(try proxy.adminJSON("/v1/status")["bypasses"] == "1")
            #expect(try isBypassed(proxy, authority))
            #expect(try proxy.admin("DELETE", "/v1/bypasses").status == 200)
            #expect(try proxy.adminJSON("/v1/bypasses").count("bypasses") == 0)
            #expect(!(try isBypassed(proxy, authority)))
        }
    }

    @Test func `it ends with a reload`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority)
            #expect(try isBypassed(proxy, authority))
            #expect(try proxy.admin("POST", "/v1/reload").status / 100 == 2)
            #expect(!(try isBypassed(proxy, authority)))
        }
    }

    @Test func `it ends when the client accepts the authority elsewhere`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority)
            #expect(try isBypassed(proxy, authority))
            let other = try proxy.client().connectSecurely("origin.test:443")
            // In TLS 1.3 it is the first byte inside that shows it.
            try other.send("GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n")
            _ = try other.response()
            #expect(!(try isBypassed(proxy, authority)))
        }
    }

    @Test func `it ends when the client accepts the authority elsewhere by HTTP 2`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority)
            #expect(try isBypassed(proxy, authority))
            var tls = SecureSocket.Client("origin.test")
            tls.protocols = ["h2", "http/1.1"]
            let other = try proxy.client().connectSecurely("origin.test:443", tls)
            #expect(other.security?.facts.chosenProtocol == "h2")
            let client = try HTTP2Client(inside: other)
            _ = try client.request(.request(scheme: "https", authority: "origin.test:443"))
            #expect(!(try isBypassed(proxy, authority)))
        }
    }
}
