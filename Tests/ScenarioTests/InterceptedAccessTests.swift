// Who may go where inside an intercepted CONNECT: the same rules as in clear.
import LupinCore
import LupinTestKit
import Testing

struct InterceptedAccessTests {
    @Test(arguments: ["origin.test", "169.254.169.254"])
    func `what leads to a denied address is refused over TLS`(host: String) async throws {
        let rules = """
            rules:
              - {match: {host: [origin.test, 169.254.169.254]}, request: [{remove: [X-Gone]}]}
            """
        try await ProxyFixture.run(
            rules,
            resolve: { _ in .success([.v4(0xA9FE_A9FE)]) }
        ) { proxy in
            let client = try proxy.client().connectSecurely("\(host):443")
            let response = try client.get("https://\(host)/latest/meta-data")
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `rules for a user count inside`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test}, intercept: true, respond: {status: 418}}
              - {match: {host: origin.test, user: bob}, intercept: true, respond: {status: 419}}
            """
        let users = try ClientUsers()
        try await ProxyFixture.run(rules, authentication: [users.authentication]) { proxy in
            for (field, status) in [(ClientUsers.alice, 418), (ClientUsers.bob, 419)] {
                let client = try proxy.client()
                let lines = "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n"
                try client.send("\(lines)\(field)\r\n\r\n")
                #expect(try client.response(to: "CONNECT").status == 200)
                let inner = try client.secure(SecureSocket.Client("origin.test"))
                #expect(try inner.get("https://origin.test/").status == status)
            }
        }
    }

    @Test(arguments: ["tunnel", "inside", "absolute"])
    func `require_trust_rule refuses what no rule's trust covers`(way: String) async throws {
        let rules = "upstream: {tls: {require_trust_rule: true}}\n" + Inside.rule
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let response: ScriptedMessage
            switch way {
            case "tunnel": response = try client.connect(origin.authority("other.test"))
            case "inside":
                let authority = origin.authority("origin.test")
                response = try client.connectSecurely(authority).get("https://\(authority)/")
            default: response = try client.get("https://\(origin.authority("origin.test"))/")
            }
            #expect(response.status == 403)
            #expect(response.bodyText.contains("require_trust_rule"))
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a rule's answer to a CONNECT needs no trust rule`() async throws {
        let rules = """
            upstream: {tls: {require_trust_rule: true}}
            rules: [{match: {host: origin.test, method: CONNECT}, respond: {status: 404}}]
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let answer = try proxy.client().connect(origin.authority("origin.test"))
            #expect(answer.status == 404)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `require_trust_rule lets through what a rule's trust covers`() async throws {
        let rules = """
            upstream: {tls: {require_trust_rule: true}}
            rules: [{match: {host: origin.test}, trust: {any: [system]}}]
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                while try connection.nextRequest() != nil { try connection.reply(204) }
            }
            let authority = origin.authority("origin.test")
            #expect(try proxy.client().get("https://\(authority)/").status == 204)
            let client = try proxy.client().connectSecurely(authority)
            #expect(try client.get("https://\(authority)/").status == 204)
        }
    }
}
