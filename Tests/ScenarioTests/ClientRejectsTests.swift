// A client that refuses lupin's certificate: tunnelled next time, unless a rule forbids that.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct ClientRejectsTests {
    /// Makes TLS inside a CONNECT and refuses what it is shown.
    private func refuse(_ proxy: ProxyFixture, _ authority: String, _ maximum: TLSVersion) throws {
        let client = try proxy.client()
        #expect(try client.connect(authority).status == 200)
        #expect(throws: TLSFailure.self) { try client.secure(refusing(maximum)) }
    }

    private func refusing(_ maximum: TLSVersion) -> SecureSocket.Client {
        var tls = SecureSocket.Client("origin.test")
        tls.maximum = maximum
        tls.verdict = .refused(.unknownAuthority)
        return tls
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `its CONNECTs are tunnels for 30 s, which log and answer say, and it is told of once`(
        maximum: TLSVersion
    ) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                while try connection.nextRequest() != nil { try connection.reply(204) }
            }
            let authority = origin.authority("origin.test")
            // Two at once: both were granted before either refused.
            let clients = [try proxy.client(), try proxy.client()]
            for client in clients { #expect(try client.connect(authority).status == 200) }
            for client in clients {
                #expect(throws: TLSFailure.self) { try client.secure(refusing(maximum)) }
            }
            let records = try proxy.records(2)
            #expect(records.map { $0["outcome"] } == ["aborted", "aborted"])
            #expect(records[0]["mode"] == "intercept")
            let detail = records[0]["error.detail"]
            #expect(detail?.contains("refused lupin's certificate (unknown_ca)") == true)
            #expect(proxy.warnings.count == 1)
            #expect(
                proxy.warnings.first?.contains("127.0.0.1 refuses lupin's certificate (unknown_ca)")
                    == true
            )
            #expect(proxy.warnings.first?.contains(authority) == true)
            #expect(origin.connections.isEmpty)

            try clock.advance(by: .seconds(29))
            let own = try proxy.authority.leaf("origin.test").der
            let granted = try proxy.client()
            let answer = try granted.connect(authority)
            #expect(answer["Lupin-Bypass"] == "client_rejects")
            #expect(answer["Lupin-Id"]?.count == 8)
            granted.close()
            let bypass = try proxy.records(3)[2]
            #expect(bypass["mode"] == "tunnel")
            #expect(bypass["bypassed.reason"] == "client_rejects")
            #expect(bypass["bypassed.because"] == "unknown_ca")
            #expect(bypass["bypassed.since"] != nil && bypass["bypassed.until"] != nil)
            let tunnelled = try proxy.client().connectSecurely(authority)
            #expect(tunnelled.security?.facts.certificates.first == own)
            #expect(try tunnelled.get("/").status == 204)
            // Another port is another place.
            let other = try proxy.client().connectSecurely("origin.test:443")
            #expect(other.security?.facts.certificates.first != own)

            try clock.advance(by: .seconds(2))
            let decrypted = try proxy.client().connectSecurely(authority)
            #expect(decrypted.security?.facts.certificates.first != own)
            #expect(try decrypted.get("https://\(authority)/").status == 204)
            #expect(proxy.warnings.count == 1)
        }
    }

    private static let demands = [
        "intercept: {client_rejects: {then: fail}}\n" + Inside.rule,
        "rules: [{match: {host: origin.test}, trust: {any: [system]}}]",
        "rules: [{match: {host: origin.test}, intercept: true, respond: {status: 418}}]",
    ]

    @Test(arguments: demands)
    func `where rules forbid a tunnel its next CONNECT gets 403 and a sentence`(
        rules: String
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority, .tls13)
            _ = try proxy.record()
            let response = try proxy.client().connect(authority)
            #expect(response.status == 403)
            #expect(response.bodyText.contains("let it trust the CA: `lupin ca install`"))
            let id = try #require(response["Lupin-Id"])
            #expect(response.bodyText.contains("`lupin explain \(id)` tells more"))
            #expect(response.startLine == "HTTP/1.1 403 Forbidden (lupin explain \(id))")
            #expect(response.bodyText.contains("refused lupin's certificate"))
            #expect(response["Proxy-Status"]?.contains("http_request_denied") == true)
            #expect(!origin.hasWaiting)
            #expect(proxy.warnings.count == 1)
            #expect(try proxy.records(2)[1]["outcome"] == "denied")
        }
    }

    @Test func `another program at the same address is no client that refused`() async throws {
        try await ProxyFixture.run(Self.demands[0], resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority, .tls13)
            #expect(try proxy.client().connect(authority).status == 403)
            let other = try proxy.client()
            let fields = "Host: \(authority)\r\nUser-Agent: other/1\r\n\r\n"
            try other.send("CONNECT \(authority) HTTP/1.1\r\n" + fields)
            #expect(try other.response(to: "CONNECT").status == 200)
        }
    }

    @Test func `a client that speaks too old a TLS has refused no certificate`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            #expect(try client.connect("origin.test:443").status == 200)
            // Its hello says TLS 1.0 and has no extension that says more.
            let random = [UInt8](repeating: 7, count: 32)
            let body = [3, 1] + random + [0, 0, 2, 0, 0x2F, 1, 0]
            let hello = [1, 0, 0, UInt8(body.count)] + body
            try client.send([0x16, 3, 1, 0, UInt8(hello.count)] + hello)
            // The alert is protocol_version.
            #expect(try client.stream.untilEnd().bytes.suffix(2) == [2, 70])
            #expect(try proxy.record()["error.detail"]?.contains("no TLS version") == true)
            #expect(proxy.warnings.isEmpty)
            let next = try proxy.client().connectSecurely("origin.test:443")
            let leaf = try #require(next.security?.facts.certificates.first)
            let issuer = try Certificate.parse(der: leaf).issuerText
            #expect(issuer == (try proxy.ownAuthority().subjectText))
        }
    }

    @Test func `a rule that answers the CONNECT comes before the tunnel`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test, method: CONNECT}, respond: {status: 404}}
              - {match: {host: origin.test}, cache: standard}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            try refuse(proxy, authority, .tls13)
            _ = try proxy.record()
            #expect(try proxy.client().connect(authority).status == 404)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a client that only hangs up has refused nothing`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client()
            #expect(try client.connect(authority).status == 200)
            try client.send(SecureSocket.clientHello())
            _ = try client.stream.bytes(1)
            client.close()
            _ = try proxy.record()
            let next = try proxy.client().connectSecurely(authority)
            #expect(
                next.security?.facts.certificates.first
                    != (try proxy.authority.leaf("origin.test").der)
            )
            #expect(proxy.warnings.isEmpty)
        }
    }
}
