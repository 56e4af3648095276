// A CONNECT to a host that a rule needs in clear: whose certificate the client sees, what is done.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct InterceptionTests {
    private static let rules = """
        rules:
          - name: adapt
            match: {host: [origin.test, 127.0.0.1]}
            request: [{set: {X-Added: "yes"}}]
        """

    @Test func `a host with a rule is decrypted, its rules act and each request has a record`()
        async throws
    {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["X-Added"] ?? "nothing")
                }
            }
            let authority = origin.authority("origin.test")
            let outer = try proxy.client()
            let client = try outer.connectSecurely(authority)
            #expect(try client.get("https://\(authority)/a").bodyText == "yes")
            try client.send("GET /b HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try client.response().bodyText == "yes")
            #expect(try origin.connection().security?.facts.serverName == "origin.test")
            let records = try proxy.records(2)
            let urls = ["a", "b"].map { "https://\(authority)/\($0)" }
            #expect(records.map { $0["url.full"] } == urls)
            #expect(records.map { $0["mode"] } == ["intercept", "intercept"])
            #expect(records.map { $0["url.scheme"] } == ["https", "https"])
            #expect(records[0].list("rules.matched") == ["adapt"])
            #expect(records[0]["attempts.0.tls"] == "1.3")
            #expect(records[0]["attempts.0.timing.tls"] != nil)
            #expect(records[1]["attempts.0.timing.tls"] == nil)
            #expect(records[1]["attempts.0.reused"] == "1")
            client.close()
            try proxy.settle()
            #expect(proxy.recordsSoFar().count == 2)
        }
    }

    @Test(arguments: ["origin.test", "127.0.0.1"])
    func `the client sees a leaf of lupin's authority, for that host alone`(
        host: String
    ) async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: host) {
                try $0.request()
                try $0.reply()
            }
            let authority = origin.authority(host)
            let client = try proxy.client().connectSecurely(authority)
            try client.get("https://\(authority)/")
            let facts = try #require(client.security).facts
            let leaf = try Certificate.parse(der: try #require(facts.certificates.first))
            let address = try #require(Host(host)).address
            let expected = address.map { Certificate.AlternativeName.address($0) } ?? .dns(host)
            #expect(leaf.subjectAlternativeNames == [expected])
            #expect(leaf.issuerText == (try proxy.ownAuthority().subjectText))
            #expect(!leaf.isAuthority)
            #expect(facts.version == .tls13)
        }
    }

    @Test func `an IPv6 address is intercepted like any other host`() async throws {
        let rules = "rules: [{match: {host: \"[::1]\"}, request: [{set: {X-Added: here}}]}]"
        try await ProxyFixture.run(rules) { proxy in
            let server = try proxy.authority.server("[::1]")
            let origin = try proxy.origin(at: .loopback6(port: 0), security: server) {
                let request = try $0.request()
                try $0.reply(body: (request["Host"] ?? "") + (request["X-Added"] ?? ""))
            }
            let tls = SecureSocket.Client()
            let client = try proxy.client().connectSecurely(origin.authority, tls)
            let leaf = try #require(client.security?.facts.certificates.first)
            let names = try Certificate.parse(der: leaf).subjectAlternativeNames
            #expect(names == [.address(.v6(high: 0, low: 1))])
            let response = try client.get("https://\(origin.authority)/")
            #expect(response.bodyText == "\(origin.authority)here")
            #expect(try origin.connection().security?.facts.serverName == nil)
        }
    }

    @Test func `a host without a rule is a tunnel to the origin's own certificate`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "other.test") { connection in
                try connection.request()
                try connection.reply(body: "as it was")
                _ = try connection.waitForEnd()
                connection.shutdownWrite()
            }
            let authority = origin.authority("other.test")
            let client = try proxy.client().connectSecurely(authority)
            let response = try client.get("/")
            #expect(response.bodyText == "as it was")
            #expect(response["Via"] == nil)
            #expect(
                client.security?.facts.certificates.first
                    == (try proxy.authority.leaf("other.test").der)
            )
            client.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `a client that offers HTTP 1_1 alone gets it`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") {
                try $0.request()
                try $0.reply()
            }
            let authority = origin.authority("origin.test")
            var tls = SecureSocket.Client("origin.test")
            tls.protocols = ["http/1.1"]
            let client = try proxy.client().connectSecurely(authority, tls)
            #expect(client.security?.facts.chosenProtocol == "http/1.1")
            #expect(try client.get("https://\(authority)/").status == 200)
        }
    }

    @Test func `a client of TLS 1_2 is served as well`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") {
                try $0.request()
                try $0.reply(204)
            }
            let authority = origin.authority("origin.test")
            var tls = SecureSocket.Client("origin.test")
            tls.maximum = .tls12
            let client = try proxy.client().connectSecurely(authority, tls)
            #expect(client.security?.facts.version == .tls12)
            #expect(try client.get("https://\(authority)/").status == 204)
        }
    }

    @Test func `a client that comes again resumes its TLS with lupin`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                while try connection.nextRequest() != nil { try connection.reply() }
            }
            let authority = origin.authority("origin.test")
            let first = try proxy.client().connectSecurely(authority)
            try first.get("https://\(authority)/")
            var tls = SecureSocket.Client("origin.test")
            tls.ticket = try #require(first.security?.ticket)
            let second = try proxy.client().connectSecurely(authority, tls)
            #expect(second.security?.facts.isResumed == true)
            #expect(try second.get("https://\(authority)/").status == 200)
        }
    }
}
