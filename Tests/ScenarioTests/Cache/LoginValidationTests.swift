// A stale response is validated by the way of its client, with its login or not at all.
import LupinTestKit
import Testing

struct LoginValidationTests {
    /// Runs a story up to a stored response that is stale, inside a tunnel through a parent.
    private static func run(
        _ password: String,
        _ body:
            @Sendable @escaping (ProxyFixture, PlayedOrigin, OriginConnection, ScriptedClient)
            throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: []}
            rules: [{match: origin.test, cache: {stale_while_revalidate: 1h}}]
            """
        try await ProxyFixture.run(settings) { proxy in
            let outer = try proxy.client()
            try outer.send("CONNECT", "origin.test:443", ["Proxy-Authorization: \(password)"])
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == password)
            try link.send(head("HTTP/1.1 200 Connected"))
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/")
            let far = try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            try far.request()
            let fields = "Cache-Control: max-age=600\r\nAge: 1000\r\nETag: \"v1\""
            try far.reply(200, fields, body: "one")
            #expect(try client.response().bodyText == "one")
            try body(proxy, parent, far, client)
        }
    }

    @Test func `in the background it has the client's password for the parent`() async throws {
        try await Self.run("Basic dTpw") { proxy, parent, far, client in
            // The connection that is kept is closed, so another tunnel is needed.
            far.close()
            try proxy.settle()
            try client.send("GET", "https://origin.test/")
            let stale = try client.response()
            #expect(stale.bodyText == "one")
            #expect(stale.caching.hasPrefix("lupin; hit; ttl=-4"))
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == "Basic dTpw")
            try link.send(head("HTTP/1.1 200 Connected"))
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let again = try link.secure(server)
            #expect(try again.request()["If-None-Match"] == "\"v1\"")
            try again.reply(200, "Cache-Control: max-age=600", body: "two")
            _ = try proxy.records(3)
            try client.send("GET", "https://origin.test/")
            let fresh = try client.response()
            #expect(fresh.isHit)
            #expect(fresh.bodyText == "two")
        }
    }

    @Test func `a login to the connection is not left to the background`() async throws {
        try await Self.run("NTLM three") { proxy, parent, far, client in
            try client.send("GET", "https://origin.test/")
            #expect(try far.request()["If-None-Match"] == "\"v1\"")
            #expect(!client.stream.socket.hasUnread)
            try far.reply(304, "Cache-Control: max-age=600", "ETag: \"v1\"")
            let response = try client.response()
            #expect(response.bodyText == "one")
            #expect(response.caching.contains("fwd=stale"))
            #expect(!parent.hasWaiting)
        }
    }
}
