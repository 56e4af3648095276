// 101: the connection leaves HTTP and becomes bytes both ways (RFC 9110 §7.8).
import LupinTestKit
import Testing

struct UpgradeTests {
    private static let wish = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    private static let consent =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    @Test func `frames go both ways and the end passes on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/chat"), Self.wish)
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Connection"] == "Upgrade")
            #expect(request["Upgrade"] == "websocket")
            #expect(request["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ==")
            // The first frame comes in the packet of the 101.
            try far.send(Self.consent + "\u{1}hello")
            let response = try client.response()
            #expect(response.status == 101)
            #expect(response["Upgrade"] == "websocket")
            #expect(response["Connection"] == "Upgrade")
            #expect(response["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(response["Content-Length"] == nil)
            #expect(try client.stream.text(6) == "\u{1}hello")
            try client.send("\u{2}GET / HTTP/1.1\r\n\r\n")
            #expect(try far.stream.text(19) == "\u{2}GET / HTTP/1.1\r\n\r\n")
            client.shutdownWrite()
            #expect(try far.waitForEnd() == .finished)
            try far.send("bye")
            far.close()
            #expect(try client.stream.text(3) == "bye")
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.record()
            #expect(record["mode"] == "upgrade")
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.status_code"] == "101")
            #expect(record["tunnel.sent"] == "19")
            #expect(record["tunnel.received"] == "9")
        }
    }

    @Test func `frames sent before the 101 wait for it`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/chat"), Self.wish)
            try client.send("eager")
            let far = try origin.accept()
            try far.request()
            try proxy.settle()
            #expect(far.stream.unread.isEmpty)
            try far.send(Self.consent)
            #expect(try client.response().status == 101)
            #expect(try far.stream.text(5) == "eager")
        }
    }

    @Test func `a refused upgrade is a response like others`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/chat"), Self.wish)
            let far = try origin.accept()
            try far.request()
            try far.reply(426, "Upgrade: other", "Connection: upgrade", body: "no")
            #expect(try client.response().status == 426)
            try client.send("GET", origin.url("/plain"))
            #expect(try far.request()["Upgrade"] == nil)
            try far.reply(body: "plain")
            #expect(try client.response().bodyText == "plain")
        }
    }

    @Test(arguments: [true, false])
    func `RST of one side is RST of the other`(isClient: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/chat"), Self.wish)
            let far = try origin.accept()
            try far.request()
            try far.send(Self.consent)
            try client.response()
            if isClient {
                client.reset()
                #expect(try far.waitForEnd() == .reset)
            } else {
                far.reset()
                #expect(try client.waitForEnd() == .reset)
            }
        }
    }
}
