// HTTP under another name: what an origin may take for it is asked of none (RFC 9113 §3.1).
import LupinTestKit
import Testing

struct DisguisedUpgradeTests {
    /// Protocols are compared without their versions, so these are h2c to whoever does so too.
    @Test(arguments: ["h2c/1", "H2C/2", "x, h2c/1"])
    func `h2c with a version is not asked for, and no way past the rules`(
        wish: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Connection: Upgrade", "Upgrade: \(wish)"])
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Upgrade"]?.lowercased().contains("h2c") != true)
            try far.send(head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: h2c"))
            #expect(try client.response().status == 502)
        }
    }

    /// Upgrade has no quoted strings (RFC 9110 §7.8): an origin sees the commas between quotes.
    @Test(arguments: [
        "a\", h2c, \"b", "\"h2c\"", "a\\, h2c", "a b, h2c", "h2c/", "/h2c", "h2", "HTTP/2.0",
        "http/1.1", "TLS/1.0", "tls", "h2c, TLS/1.2, HTTP",
    ])
    func `a request that asks for nothing but HTTP goes on without Upgrade`(
        wish: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Connection: Upgrade", "Upgrade: \(wish)"])
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Upgrade"] == nil)
            #expect(request["Connection"] == nil)
            try far.reply(body: "plain")
            #expect(try client.response().bodyText == "plain")
        }
    }

    @Test func `other protocols go on, and each may be chosen in any version`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let wish = "Upgrade: \"x\", chat/1, h2c , WebSocket"
            try client.send("GET", origin.url(), ["Connection: Upgrade", wish])
            let far = try origin.accept()
            #expect(try far.request()["Upgrade"] == "chat/1, WebSocket")
            try far.send(head("HTTP/1.1 101 S", "Connection: Upgrade", "Upgrade: Chat/2"))
            let response = try client.response()
            #expect(response.status == 101)
            #expect(response["Upgrade"] == "Chat/2")
        }
    }

    @Test(arguments: ["x\", y, \"z", "y, h2c", "y, \"y\"", ""])
    func `an answer that names more than the protocols asked for is none`(
        choice: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Connection: Upgrade", "Upgrade: x, y"])
            let far = try origin.accept()
            try far.request()
            try far.send(head("HTTP/1.1 101 S", "Connection: Upgrade", "Upgrade: \(choice)"))
            #expect(try client.response().status == 502)
        }
    }
}
