// A redirect that lupin follows: the client's Proxy-Authorization is for its parent proxy alone.
import LupinTestKit
import Testing

struct ParentRedirectTests {
    private static let password = "Proxy-Authorization: Basic dTpw"

    /// Runs a story up to the redirect to `location`, and what comes of it.
    private static func run(
        _ rules: String = "",
        to location: String,
        _ body:
            @Sendable @escaping (ProxyFixture, OriginConnection, ScriptedClient) throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: [127.0.0.0/8]}
            rules:
              - {name: all, match: {path: /**}, redirect: {follow: true}}
            \(rules)
            """
        try await ProxyFixture.run(settings) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/", [password, "Authorization: Basic eDp5"])
            let connection = try parent.accept()
            #expect(try connection.request()["Proxy-Authorization"] == "Basic dTpw")
            try connection.reply(302, "Location: \(location)")
            try body(proxy, connection, client)
        }
    }

    @Test(arguments: ["http://other.test/next", "http://origin.test:81/next", "/next"])
    func `it stays where the way leads through the same parent`(location: String) async throws {
        try await Self.run(to: location) { proxy, connection, client in
            let request = try connection.request()
            #expect(request.startLine.hasSuffix("/next HTTP/1.1"))
            #expect(request.values("Proxy-Authorization") == ["Basic dTpw"])
            // The origin's goes to no other origin.
            #expect((request["Authorization"] == nil) == (location != "/next"))
            try connection.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }

    @Test func `a tunnel to an https target is asked for with it`() async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(everywhere("redirect: {follow: true}", settings)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/", [Self.password])
            let connection = try parent.accept()
            try connection.request()
            try connection.reply(302, "Location: https://secure.test/next")
            let passage = try parent.accept()
            let connect = try passage.requestHead()
            #expect(connect.startLine == "CONNECT secure.test:443 HTTP/1.1")
            #expect(connect["Proxy-Authorization"] == "Basic dTpw")
            try passage.send(head("HTTP/1.1 200 Connected"))
            let far = try passage.secure(try proxy.authority.server("secure.test", ["http/1.1"]))
            #expect(try far.request()["Proxy-Authorization"] == nil)
            try far.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }

    @Test(arguments: ["http://other.test/next", "/other"])
    func `another parent does not get it`(location: String) async throws {
        let second = try PlayedOrigin()
        let rules = """
              - {match: other.test, proxy: "http://\(second.authority)"}
              - {match: {path: /other}, proxy: "http://\(second.authority)"}
            """
        try await Self.run(rules, to: location) { proxy, _, client in
            let far = try second.accept()
            #expect(try far.request()["Proxy-Authorization"] == nil)
            try far.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }

    @Test func `another parent is not asked for a tunnel with it`() async throws {
        let second = try PlayedOrigin()
        let rules = "  - {match: secure.test, proxy: \"http://\(second.authority)\"}"
        try await Self.run(rules, to: "https://secure.test/") { proxy, _, client in
            let far = try second.accept()
            #expect(try far.requestHead()["Proxy-Authorization"] == nil)
            try far.reply(407, "Proxy-Authenticate: Basic realm=\"b\"")
            #expect(try client.response().status == 502)
        }
    }

    @Test func `an origin that is reached directly does not get it`() async throws {
        let origin = try PlayedOrigin()
        try await Self.run(to: origin.url("/next")) { proxy, _, client in
            let far = try origin.accept()
            #expect(try far.request()["Proxy-Authorization"] == nil)
            try far.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }

    @Test func `nor does a second parent get it on the way back`() async throws {
        let origin = try PlayedOrigin()
        try await Self.run(to: origin.url("/next")) { proxy, connection, client in
            let far = try origin.accept()
            try far.request()
            try far.reply(302, "Location: http://third.test/")
            // It was dropped on the direct way: who knows what the next one is.
            #expect(try connection.request()["Proxy-Authorization"] == nil)
            try connection.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }

    @Test func `a request that a step turns to https takes it along`() async throws {
        let parent = try PlayedOrigin()
        let rules = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: []}
            rules: [{match: origin.test, request: [{url: {scheme: https}}]}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/", [Self.password])
            let connection = try parent.accept()
            let connect = try connection.requestHead()
            #expect(connect.startLine == "CONNECT origin.test:443 HTTP/1.1")
            #expect(connect["Proxy-Authorization"] == "Basic dTpw")
            try connection.reply(403)
            #expect(try client.response().status == 502)
        }
    }
}
