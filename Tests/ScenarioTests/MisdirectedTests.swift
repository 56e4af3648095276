// One authority per exchange: who says one name to the CONNECT and another inside is misdirected.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct MisdirectedTests {
    @Test(arguments: [
        "other.test:PORT", "other.test", "origin.test:1", "127.0.0.1:PORT", "sub.origin.test:PORT",
    ])
    func `another Host gets 421, and nothing goes upstream`(host: String) async throws {
        try await Inside.run { inside in
            let port = String(inside.authority.split(separator: ":")[1])
            let host = host.replacing("PORT", with: port)
            try inside.client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let response = try inside.client.response()
            #expect(response.status == 421)
            #expect(response["Proxy-Status"]?.contains("http_request_denied") == true)
            #expect(response.bodyText.contains("CONNECT named \(inside.authority)"))
            #expect(!inside.origin.hasWaiting)
            let record = try inside.proxy.record()
            #expect(record["http.response.status_code"] == "421")
            #expect(record["mode"] == "intercept")
            // The next request on the connection may be a right one.
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.reply(204)
            #expect(try inside.client.response().status == 204)
        }
    }

    @Test(arguments: ["https://other.test:PORT/", "http://origin.test:PORT/"])
    func `absolute-form with another origin gets 421`(target: String) async throws {
        try await Inside.run { inside in
            let port = String(inside.authority.split(separator: ":")[1])
            let target = target.replacing("PORT", with: port)
            try inside.client.send("GET", target)
            #expect(try inside.client.response().status == 421)
            #expect(!inside.origin.hasWaiting)
        }
    }

    @Test(arguments: ["ORIGIN.test:PORT", "origin.test.:PORT", "origin.test", "origin.test:443"])
    func `case, a trailing dot and a missing port make no other authority`(host: String)
        async throws
    {
        try await Inside.run { inside in
            let port = String(inside.authority.split(separator: ":")[1])
            let host = host.replacing("PORT", with: port)
            try inside.client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let far = try inside.accept()
            try far.request()
            try far.reply(204)
            #expect(try inside.client.response().status == 204)
        }
    }

    @Test(arguments: ["origin.test", "origin.test:443", "origin.test:0443"])
    func `the default port may be left out`(host: String) async throws {
        let rules = """
            rules:
              - {match: {host: origin.test}, intercept: true, respond: {status: 418}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try client.response().status == 418)
        }
    }

    @Test func `another name in TLS gets a leaf that fits, and 421`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let other = SecureSocket.Client("other.test")
            let client = try proxy.client().connectSecurely(authority, other)
            #expect(try leafNames(client) == [.dns("other.test")])
            for host in [authority, origin.authority("other.test")] {
                try client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                let response = try client.response()
                #expect(response.status == 421)
                #expect(response.bodyText.contains("asks for other.test"))
            }
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: ["ORIGIN.Test", "origin.test."])
    func `case and a trailing dot of the name in TLS make no other`(name: String) async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") {
                try $0.request()
                try $0.reply(204)
            }
            let authority = origin.authority("origin.test")
            let tls = SecureSocket.Client(name)
            let client = try proxy.client().connectSecurely(authority, tls)
            #expect(try leafNames(client) == [.dns("origin.test")])
            #expect(try client.get("https://\(authority)/").status == 204)
        }
    }

    @Test(arguments: ["origin.test", "127.0.0.1"])
    func `without a name in TLS the leaf is for the CONNECT's host`(host: String) async throws {
        let rules = """
            rules:
              - {match: {host: [origin.test, 127.0.0.1]}, request: [{remove: [X-Gone]}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: host) {
                try $0.request()
                try $0.reply(204)
            }
            let authority = origin.authority(host)
            let client = try proxy.client().connectSecurely(authority, SecureSocket.Client())
            let address = try #require(Host(host)).address
            #expect(try leafNames(client) == [address.map { .address($0) } ?? .dns(host)])
            try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try client.response().status == 204)
            let asked = try origin.connection().security?.facts.serverName
            #expect(asked == (address == nil ? host : nil))
        }
    }

    @Test func `an address with a name in TLS is a tunnel unless a rule names the address`()
        async throws
    {
        let rules = """
            intercept: {mode: all}
            rules:
              - {match: {host: 127.0.0.1, port: 1-65535}, log: {level: exchange}}
              - {match: {host: 127.0.0.2}, request: [{remove: [X-Gone]}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                try connection.request()
                try connection.reply(body: "unseen")
            }
            let client = try proxy.client().connectSecurely(
                origin.authority,
                SecureSocket.Client("origin.test")
            )
            #expect(
                client.security?.facts.certificates.first
                    == (try proxy.authority.leaf("origin.test").der)
            )
            #expect(try client.get("/").bodyText == "unseen")
            client.close()
            #expect(try proxy.record()["mode"] == "tunnel")
            let named = try proxy.client().connectSecurely(
                "127.0.0.2:443",
                SecureSocket.Client("origin.test")
            )
            #expect(try leafNames(named) == [.dns("origin.test")])
        }
    }

    private func leafNames(_ client: ScriptedClient) throws -> [Certificate.AlternativeName] {
        let leaf = try #require(client.security?.facts.certificates.first)
        return try Certificate.parse(der: leaf).subjectAlternativeNames
    }
}
