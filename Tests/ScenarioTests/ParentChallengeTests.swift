// A parent's 407 to a client that has sent credentials: a refusal of these, or a step of a login.
import LupinTestKit
import Testing

struct ParentChallengeTests {
    private static func run(
        decrypts: Bool = false,
        _ body: @Sendable @escaping (ProxyFixture, PlayedOrigin) throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        try await ProxyFixture.run(settings + (decrypts ? Inside.rule : "")) { proxy in
            try body(proxy, parent)
        }
    }

    private static func ask(_ client: ScriptedClient, _ method: String, _ field: String) throws {
        let target = method == "GET" ? "http://origin.test/" : "origin.test:443"
        try client.send(method, target, ["Proxy-Authorization: \(field)"])
    }

    @Test(
        arguments: [("GET", false), ("CONNECT", false), ("CONNECT", true)],
        ["Basic dTpw", "NTLM three"]
    )
    func `credentials that it refuses are named by their scheme`(
        row: (method: String, decrypts: Bool),
        credentials: String
    ) async throws {
        try await Self.run(decrypts: row.decrypts) { proxy, parent in
            let client = try proxy.client()
            try Self.ask(client, row.method, credentials)
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == credentials)
            let scheme = String(credentials.prefix { $0 != " " })
            try link.reply(407, "Proxy-Authenticate: \(scheme)", body: "who?")
            let response = try client.response(to: row.method)
            #expect(response.status == 407)
            #expect(response["Proxy-Authenticate"] == scheme)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.parent_refused"] == scheme)
            let words = "answered 407 to the client's credentials (\(scheme))."
            #expect(record["error.detail"]?.contains(words) == true)
            #expect(record["login"] == nil)
            #expect(!proxy.logText.contains("dTpw") && !proxy.logText.contains("three"))
        }
    }

    @Test(arguments: [("GET", false), ("CONNECT", false), ("CONNECT", true)])
    func `a step of a login is no failure`(method: String, decrypts: Bool) async throws {
        try await Self.run(decrypts: decrypts) { proxy, parent in
            let client = try proxy.client()
            try Self.ask(client, method, "NTLM one")
            let link = try parent.accept()
            _ = try link.requestHead()
            try link.reply(407, "Proxy-Authenticate: NTLM two", body: "go on")
            #expect(try client.response(to: method).status == 407)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["login"] == "NTLM")
            #expect(record["error.type"] == nil)
            // On the same two connections.
            try Self.ask(client, method, "NTLM three")
            #expect(try link.requestHead()["Proxy-Authorization"] == "NTLM three")
            #expect(!parent.hasWaiting)
        }
    }

    @Test func `a step of a login to an origin is told as one`() async throws {
        let origin = try PlayedOrigin()
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send("GET", origin.url("/"), ["Authorization: NTLM one"])
            let link = try origin.accept()
            try link.request()
            try link.reply(401, "WWW-Authenticate: NTLM two")
            #expect(try client.response().status == 401)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["login"] == "NTLM")
        }
    }

    @Test func `where the parent closes the connection, the client logs in to the next one`()
        async throws
    {
        try await Self.run { proxy, parent in
            let client = try proxy.client()
            try Self.ask(client, "GET", "NTLM three")
            let link = try parent.accept()
            try link.request()
            try link.reply(302, "Location: http://other.test/", "Connection: close")
            let response = try client.response()
            #expect(response.status == 302)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
        }
    }
}
