// The messages of a WebSocket are kept, in both directions.
import LupinCoding
import LupinTestKit
import Testing

struct CapturedWebSocketTests {
    static let wish = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    static let consent =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    /// Both ends of a WebSocket through the proxy.
    private func open(_ proxy: ProxyFixture) throws -> (ScriptedClient, OriginConnection) {
        let origin = try PlayedOrigin()
        let client = try proxy.client()
        try client.send("GET", origin.url("/chat"), Self.wish)
        let far = try origin.accept()
        try far.request()
        try far.send(Self.consent)
        #expect(try client.response().status == 101)
        return (client, far)
    }

    @Test func `messages of both directions are kept, compressed ones too`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let (client, far) = try open(proxy)
            // RFC 6455 §5.7: "Hello", masked; in two fragments; a ping.
            let masked: [UInt8] = [
                0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58,
            ]
            for byte in masked { try client.send([byte]) }
            _ = try far.stream.text(11)
            let fragments: [UInt8] = [0x01, 3, 0x48, 0x65, 0x6C, 0x89, 0, 0x80, 2, 0x6C, 0x6F]
            // RFC 7692 §7.2.3.2: "Hello" twice, sharing a window.
            let compressed: [UInt8] = [
                0xC1, 7, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0xC1, 5, 0xF2, 0x00, 0x11, 0, 0,
            ]
            try far.send(fragments + compressed + [0x88, 2, 0x03, 0xE8])
            _ = try client.stream.text(11 + 16 + 4)
            client.shutdownWrite()
            #expect(try far.waitForEnd() == .finished)
            far.close()
            #expect(try client.waitForEnd() == .finished)
            let detail = try proxy.captured()
            #expect(detail["messages"] == "6")
            let messages = try proxy.messages(of: detail)
            #expect(messages.filter { $0.hasPrefix("client") } == ["client text Hello"])
            #expect(
                messages.filter { $0.hasPrefix("origin") }.dropLast() == [
                    "origin ping ", "origin text Hello", "origin text Hello", "origin text Hello",
                ]
            )
        }
    }

    /// A line of the log is bounded; what a person captured is not.
    @Test func `a long message is given as it is`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let (client, far) = try open(proxy)
            let text = String(repeating: "a\tbc\u{2028}", count: 2000)
            let length = text.utf8.count
            try far.send([0x81, 126, UInt8(length >> 8), UInt8(length & 0xFF)] + Array(text.utf8))
            _ = try client.stream.text(4 + length)
            client.shutdownWrite()
            far.close()
            #expect(try client.waitForEnd() == .finished)
            let id = try #require(try proxy.captured()["record.id"])
            let answer = try proxy.adminJSON("/v1/exchanges/\(id)/messages")
            #expect(answer["messages.0.text"] == text)
        }
    }
}
