// 101: only for clients that asked, and no byte behind it is lost (RFC 9110 §7.8).
import LupinTestKit
import Testing

struct SwitchingProtocolsTests {
    private let switching =
        head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: chat", "X-Key: k")

    @Test func `bytes behind 101 in the same packet arrive, and both sides speak`() async throws {
        try await ProxyFixture.run { [switching] proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request["upgrade"] == "chat")
                #expect(request["connection"]?.lowercased() == "upgrade")
                #expect(request["x-private"] == nil)
                try connection.send(switching + "welcome")
                #expect(try connection.stream.text(4) == "ping")
                try connection.send("pong")
                #expect(try connection.waitForEnd() == .finished)
            }
            let client = try proxy.client()
            let response = try client.get(
                origin.url("/chat"),
                "Connection: upgrade, X-Private",
                "Upgrade: chat",
                "X-Private: 1"
            )
            #expect(response.startLine == "HTTP/1.1 101 Switching")
            #expect(response["upgrade"] == "chat")
            #expect(response["connection"]?.lowercased() == "upgrade")
            #expect(response["x-key"] == "k")
            #expect(response["content-length"] == nil)
            #expect(try client.stream.text(7) == "welcome")
            try client.send("ping")
            #expect(try client.stream.text(4) == "pong")
            client.close()
            let record = try proxy.record()
            #expect(record["mode"] == "upgrade")
            #expect(record["http.response.status_code"] == "101")
            #expect(record["http.request.body.size"] == "0")
            #expect(record["tunnel.sent"] == "4")
            #expect(record["tunnel.received"] == "11")
        }
    }

    @Test func `client bytes sent right behind the request reach the origin`() async throws {
        try await ProxyFixture.run { [switching] proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(switching)
                #expect(try connection.stream.text(5) == "early")
                connection.close()
            }
            let client = try proxy.client()
            try client.send(
                head(
                    "GET \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Connection: upgrade",
                    "Upgrade: chat"
                ) + "early"
            )
            #expect(try client.response().status == 101)
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test(arguments: [
        [], ["Upgrade: chat"], ["Connection: upgrade", "Upgrade: websocket"],
        ["Connection: upgrade", "Upgrade: h2c"],
    ])
    func `101 to what was not asked for is a 502`(fields: [String]) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: chat")
            )
            let client = try proxy.client()
            try client.send("GET", origin.url(), fields)
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["proxy-status"]?.contains("error=http_upgrade_failed") == true)
            #expect(try proxy.record()["error.type"] == "http_upgrade_failed")
        }
    }

    @Test(arguments: [("chat, ipp/1.0", "IPP/1.0"), ("Chat/1, irc", "chat/2")])
    func `names of protocols are compared without case and version`(
        wished: String,
        chosen: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["upgrade"] == wished)
                try connection.send(
                    head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: \(chosen)")
                )
            }
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Connection: upgrade", "Upgrade: \(wished)"])
            #expect(try client.response()["upgrade"] == chosen)
        }
    }

    @Test func `h2c is not passed on and others beside it are`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request["http2-settings"] == nil)
                    try connection.reply(body: request["upgrade"] ?? "none")
                }
            }
            let client = try proxy.client()
            let fields = ["Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk"]
            try client.send("GET", origin.url(), fields + ["Upgrade: h2c"])
            #expect(try client.response().bodyText == "none")
            try client.send("GET", origin.url(), fields + ["Upgrade: H2C, chat/2"])
            #expect(try client.response().bodyText == "chat/2")
        }
    }

    @Test func `an origin that declines answers as usual and the connections live on`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Content-Length: 2") + "no"
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(
                    origin.url(),
                    "Connection: upgrade",
                    "Upgrade: chat"
                )
                #expect(response.bodyText == "no")
            }
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `Upgrade that Connection does not name is not passed on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["upgrade"] == nil)
                try connection.reply()
            }
            #expect(try proxy.client().get(origin.url(), "Upgrade: chat").status == 200)
        }
    }
}
