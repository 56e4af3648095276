// Ways around what the rules demand that lead through the seams of interception.
import LupinCore
import LupinIO
import LupinTLS
import LupinTestKit
import Testing

struct InterceptionBypassTests {
    private static let demandsTrust = "upstream: {tls: {require_trust_rule: true}}\n" + Inside.rule

    @Test func `a client that speaks no TLS gets no tunnel where a trust rule is demanded`()
        async throws
    {
        try await ProxyFixture.run(Self.demandsTrust, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try client.send([0x16, 0x03, 0x01, 0x00, 0x04, 0xDE, 0xAD, 0xBE, 0xEF])
            #expect(try client.waitForEnd() == .reset)
            #expect(try proxy.record()["outcome"] == "denied")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a refused certificate buys no tunnel where a trust rule is demanded`()
        async throws
    {
        try await ProxyFixture.run(Self.demandsTrust, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            var choosy = SecureSocket.Client("origin.test")
            choosy.maximum = .tls12
            choosy.verdict = .refused(.unknownAuthority)
            let first = try proxy.client()
            #expect(try first.connect(origin.authority("origin.test")).status == 200)
            #expect(throws: (any Error).self) { try first.secure(choosy) }
            _ = try proxy.record()
            let second = try proxy.client().connect(origin.authority("origin.test"))
            #expect(second.status == 403)
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: [false, true])
    func `no tunnel lets methods through that are refused in clear`(speaksTLS: Bool) async throws {
        let rules = """
            rules:
              - {match: {host: origin.test, method: [CONNECT, GET]}, cache: standard, stop: true}
              - {match: {}, respond: {status: 403}}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let first = try proxy.client()
            #expect(try first.connect(origin.authority("origin.test")).status == 200)
            if speaksTLS {
                var choosy = SecureSocket.Client("origin.test")
                choosy.maximum = .tls12
                choosy.verdict = .refused(.unknownAuthority)
                #expect(throws: (any Error).self) { try first.secure(choosy) }
                _ = try proxy.record()
                let second = try proxy.client().connect(origin.authority("origin.test"))
                #expect(second.status == 403)
            } else {
                try first.send([0x16, 0x03, 0x01, 0x00, 0x04, 0xDE, 0xAD, 0xBE, 0xEF])
                #expect(try first.waitForEnd() == .reset)
                #expect(try proxy.record()["outcome"] == "denied")
            }
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a step that turns http to https shows no stranger the client certificate`()
        async throws
    {
        let files = try TestAuthority.identityFiles("client.test")
        let origin = try PlayedOrigin()
        let rules = """
            access: {credentials: [nobody]}
            rules:
              - match: {host: origin.test}
                request: [{url: {scheme: https, port: \(origin.address.port)}}]
                client_cert: {cert: DIR/my.pem, key: DIR/my.key}
            """
        try await ProxyFixture.run(
            rules,
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            let response = try proxy.client().get("http://origin.test/")
            #expect(response.status == 403)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a late tunnel takes nothing to the parent that was meant for lupin`()
        async throws
    {
        let parent = try PlayedOrigin()
        let url = "http://corp:secret@\(parent.authority)"
        let rules = "upstream: {proxy: \"\(url)\", no_proxy: []}\n" + Inside.rule
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send(
                "CONNECT",
                "origin.test:443",
                ["Proxy-Authorization: Basic Y2xpZW50OnB3", "Connection: X-Hop", "X-Hop: 1"]
            )
            #expect(try client.response(to: "CONNECT").status == 200)
            try client.send([0x16, 0x03, 0x01, 0x00, 0x04, 0xDE, 0xAD, 0xBE, 0xEF])
            let passage = try parent.accept()
            let connect = try passage.requestHead()
            #expect(connect.values("Proxy-Authorization") == ["Basic Y29ycDpzZWNyZXQ="])
            #expect(connect["X-Hop"] == nil)
            #expect(connect["Connection"] == nil)
            passage.close()
        }
    }
}
