// A CONNECT or Upgrade that comes to nothing: what was meant for the tunnel is no request.
import LupinTestKit
import Testing

struct RefusedTunnelTests {
    private static let inner = head("GET http://inner.test/ HTTP/1.1", "Host: inner.test")

    @Test func `bytes behind a refused CONNECT are not taken for a request`() async throws {
        try await ProxyFixture.run("access: {connect_ports: [443]}") { proxy in
            let client = try proxy.client()
            let connect = head("CONNECT inner.test:22 HTTP/1.1", "Host: inner.test:22")
            try client.send(connect + Self.inner)
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.records(1).count == 1)
        }
    }

    @Test func `a parent's 101 to a CONNECT is no answer`() async throws {
        let parent = try PlayedOrigin()
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:443")
            let connection = try parent.accept()
            _ = try connection.requestHead()
            try connection.send(
                head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: x")
            )
            #expect(try client.response().status == 502)
        }
    }

    @Test func `an HTTP 1.0 client's Upgrade is ignored`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request["Upgrade"] == nil)
                try connection.reply(body: "plain")
            }
            let client = try proxy.client()
            try client.send(
                head("GET \(origin.url()) HTTP/1.0", "Connection: Upgrade", "Upgrade: websocket")
            )
            #expect(try client.response().bodyText == "plain")
        }
    }

    /// What is left of the body would go to the origin as bytes of the new protocol.
    @Test func `a 101 before the whole request has come is an error`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url(),
                ["Connection: Upgrade", "Upgrade: websocket", "Content-Length: 10"]
            )
            try client.send("half")
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.send(
                head(
                    "HTTP/1.1 101 Switching Protocols",
                    "Connection: Upgrade",
                    "Upgrade: websocket"
                )
            )
            #expect(try client.response().status == 502)
        }
    }

    /// The client may have sent bytes for the tunnel that have not come yet (RFC 9931 §8).
    @Test(arguments: [
        ("access: {connect_ports: [443]}", 403),
        ("rules: [{match: inner.test, respond: {status: 503}}]", 503),
    ])
    func `every refusal of a CONNECT ends the connection`(
        rules: String,
        status: Int
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            let response = try client.connect("inner.test:22")
            #expect(response.status == status)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `so does a demand for a password`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let client = try proxy.client()
            let response = try client.connect("inner.test:22")
            #expect(response.status == 407)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `so does a parent's`() async throws {
        let parent = try PlayedOrigin()
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:443")
            let connection = try parent.accept()
            _ = try connection.requestHead()
            try connection.send(head("HTTP/1.1 404 No", "Content-Length: 2") + "no")
            let response = try client.response(to: "CONNECT")
            #expect(response.status == 404)
            #expect(response.bodyText == "no")
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
        }
    }
}
