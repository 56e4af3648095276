// Connections that were made for one are not a way around the access rules for another.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct PooledAccessTests {
    @Test func `what a rule may reach is not open to others once it is in the pool`()
        async throws
    {
        let origin = try PlayedOrigin()
        let rules = """
            access: {deny_targets: [loopback]}
            rules:
              - name: local
                match: {host: www.example}
                request:
                  - url: {host: 127.0.0.1, port: \(origin.address.port)}
            """
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://www.example/")
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(body: "for the rule")
            #expect(try client.response().bodyText == "for the rule")
            try client.send("GET", origin.url())
            let refused = try client.response()
            #expect(refused.status == 502)
            #expect(refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            // The rule still has its connection.
            try client.send("GET", "http://www.example/again")
            try connection.request()
            try connection.reply(body: "again")
            #expect(try client.response().bodyText == "again")
        }
    }

    @Test func `a target that a reload denies is not reached by what is in the pool`()
        async throws
    {
        let origin = try PlayedOrigin()
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            for i in 0..<5 {
                if i > 0 { try client.send("GET", origin.url()) }
                try connection.request()
                try connection.reply(body: "good")
                #expect(try client.response().bodyText == "good")
            }
            _ = try await proxy.reload("access: {deny_targets: [loopback]}")
            for target in [origin.url(), origin.url() + "other"] {
                try client.send("GET", target)
                let refused = try client.response()
                #expect(refused.status == 502)
                #expect(refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            }
            _ = try await proxy.reload("upstream: {via: false}")
            try client.send("GET", origin.url())
            try connection.request()
            try connection.reply(body: "again")
            #expect(try client.response().bodyText == "again")
        }
    }

    @Test(.enabled(if: LocalAddress.inNetwork != nil))
    func `a local client's connection is not lent to clients from elsewhere`() async throws {
        let own = try #require(LocalAddress.inNetwork)
        let rules = """
            listen: [{address: "0.0.0.0:8080", auth: none}]
            access: {clients: ["0.0.0.0/0"]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let port = proxy.address.port
            let local = try ScriptedClient(to: .loopback(port: port))
            try local.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(body: "local")
            #expect(try local.response().bodyText == "local")
            let stranger = try ScriptedClient(to: SocketAddress(address: own, port: port))
            try stranger.send("GET", origin.url())
            let refused = try stranger.response()
            #expect(refused.status == 502)
            #expect(refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            stranger.close()
            local.close()
        }
    }

    @Test func `a host that is denied by name is not reached by a url step either`() async throws {
        let rules = """
            access: {deny_targets: ["*.evil.test"]}
            rules:
              - name: moved
                match: {host: www.example}
                request:
                  - url: {host: a.evil.test}
            """
        let answer: @Sendable (String) -> Resolver.Answer = { _ in .success([.v4(0x7F00_0001)]) }
        try await ProxyFixture.run(rules, resolve: answer) { proxy in
            let response = try proxy.client().get("http://www.example/")
            #expect(response.status == 403)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `credentials for a parent do not go to an origin that a url step names`()
        async throws
    {
        let parent = try PlayedOrigin()
        let rules = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: [127.0.0.2]}
            rules:
              - name: direct
                match: {host: www.example}
                request:
                  - url: {host: 127.0.0.2, port: \(parent.address.port)}
            """
        try await ProxyFixture.run(rules) { proxy in
            let address = SocketAddress.loopback(port: parent.address.port, host: 2)
            let origin = try proxy.origin(at: address) { connection in
                let request = try connection.request()
                #expect(request["Proxy-Authorization"] == nil)
                try connection.reply(body: "direct")
            }
            let response = try proxy.client().get(
                "http://www.example/",
                "Proxy-Authorization: Basic c2VjcmV0"
            )
            #expect(response.bodyText == "direct")
            #expect(origin.connections.count == 1)
        }
    }

    /// A wildcard listener is reached by every address of this machine.
    @Test(.enabled(if: LocalAddress.inNetwork != nil), arguments: ["GET", "CONNECT"])
    func `another address of our own listener is refused`(method: String) async throws {
        let own = try #require(LocalAddress.inNetwork)
        let rules = """
            listen: [{address: "0.0.0.0:8080", auth: none}]
            upstream: {via: false}
            """
        try await ProxyFixture.run(rules) { proxy in
            let port = proxy.address.port
            let client = try ScriptedClient(to: .loopback(port: port))
            let authority = "\(own.text):\(port)"
            try client.send(method, method == "GET" ? "http://\(authority)/" : authority)
            let response = try client.response(to: method)
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            client.close()
        }
    }
}
