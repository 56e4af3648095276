// The certificates that an origin showed are told with its exchanges.
import LupinTestKit
import Testing

struct ShownChainTests {
    private let rules = """
        \(ProxyFixture.adminSocket)rules:
          - {match: {host: origin.test}, request: [{remove: [X-Gone]}]}

        """

    private func detail(_ proxy: ProxyFixture, _ index: Int) throws -> RecordLine {
        let id = try #require(try proxy.records(index + 1)[index]["id"])
        return try proxy.adminJSON("/v1/exchanges/\(id)")
    }

    @Test func `every exchange of a connection tells the chain, ready to paste`() async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let server = SecureSocket.Server(try proxy.authority.identity("origin.test"))
            let origin = try proxy.origin(security: server) { connection in
                while try connection.nextRequest() != nil { try connection.reply(204) }
            }
            let url = "https://\(origin.authority("origin.test"))/"
            for _ in 0..<2 { #expect(try proxy.client().get(url).status == 204) }
            #expect(origin.connections.count == 1)
            for index in 0..<2 {
                let detail = try detail(proxy, index)
                #expect(detail["record.trust.verdict"] == "pass")
                #expect(detail.count("chain") >= 1)
                #expect(detail["chain.0.subject"]?.contains("origin.test") == true)
                #expect(detail["chain.0.issuer"]?.isEmpty == false)
                let pin = try #require(detail["chain.0.pin"])
                #expect(pin.hasPrefix("sha256/") && pin == detail["record.trust.leaf"])
                #expect(detail["chain.0.not_after"] == detail["record.trust.not_after"])
                let begin = try #require(detail["chain.0.not_before"])
                #expect(begin < detail["chain.0.not_after"] ?? "")
            }
        }
    }

    @Test func `a chain that was refused is told, too, and none where there was no TLS`()
        async throws
    {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let strange = SecureSocket.Server(try TestAuthority().identity("origin.test"))
            let origin = try proxy.origin(security: strange) { _ in }
            let url = "https://\(origin.authority("origin.test"))/"
            #expect(try proxy.client().get(url).status == 502)
            let refused = try detail(proxy, 0)
            #expect(refused["record.trust.verdict"] == "fail")
            #expect(refused["chain.0.pin"] == refused["record.trust.leaf"])
            #expect(refused["chain.0.pin"] != nil)
            let plain = try proxy.origin(answering: head("HTTP/1.1 204 No Content"))
            #expect(try proxy.client().get(plain.url()).status == 204)
            #expect(try detail(proxy, 1).count("chain") == 0)
        }
    }
}
