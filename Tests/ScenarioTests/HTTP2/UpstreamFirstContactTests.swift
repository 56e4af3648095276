// Many requests for an origin that nobody has spoken to: who shares, who waits, and who fails.
import LupinTestKit
import Testing

struct UpstreamFirstContactTests {
    @Test func `after an upgrade by HTTP 1 requests share a connection of HTTP 2`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(
                "GET",
                story.url("/chat"),
                [
                    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                ]
            )
            let far = try story.acceptHTTP1()
            try far.request()
            try far.reply(403, "Connection: close")
            far.close()
            #expect(try client.response().status == 403)
            let clients = try (0..<4).map { _ in try story.client() }
            for client in clients { try client.send("GET", story.url()) }
            let origin = try story.accept()
            for _ in clients { try origin.reply(to: try origin.request().stream, body: "shared") }
            for client in clients { #expect(try client.response().bodyText == "shared") }
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `an origin that stalls in TLS fails for all who wait at the same time`()
        async throws
    {
        let clock = VirtualClock()
        try await UpstreamStory.run("timeouts: {tls: 5s}", clock: clock) { story in
            let clients = try (0..<4).map { _ in try story.client() }
            // None is repeated for what it is.
            for client in clients { try client.send("POST", story.url(), body: "x") }
            let first = try story.origin.accept()
            _ = try first.stream.bytes(1)
            try story.proxy.settle()
            #expect(!story.origin.hasWaiting)
            try clock.advance(by: .milliseconds(5100))
            first.close()
            // The first tries again; the others don't wait for that.
            let stalled = try clients.map { _ in try story.origin.accept() }
            for far in stalled { _ = try far.stream.bytes(1) }
            // What is tried again from now on fails at once.
            story.origin.close()
            try clock.advance(by: .milliseconds(5100))
            for client in clients {
                #expect([502, 504].contains(try client.response(to: "POST").status))
            }
        }
    }

    @Test func `an origin gets one request until it has said how many it takes`() async throws {
        try await UpstreamStory.run { story in
            let clients = try (0..<6).map { _ in try story.client() }
            for client in clients { try client.send("GET", story.url()) }
            let server = try story.proxy.authority.server("origin.test", ["h2"])
            let secured = try SecureSocket(over: try story.origin.listener.accept(), as: server)
            // Its first word must be SETTINGS (RFC 9113 §3.4), and comes late.
            let frames = FrameStream(
                secured.plain,
                to: .client,
                manners: .none,
                owner: secured
            )
            let stream = try frames.first("a request") { event in
                if case .fields(let stream, _, _) = event { stream } else { nil }
            }
            try story.proxy.settle()
            try frames.send(.settings(.maxConcurrentStreams(1)))
            try frames.expectAlive()
            #expect(!frames.unasked.contains { $0.isOfMessage })
            // The others get connections of their own, one by one.
            let others = try clients.dropFirst().map { _ in
                let origin = try story.accept(settings: [.maxConcurrentStreams(1)])
                return (origin, try origin.request().stream)
            }
            try frames.sendMessage(stream, [":status": "200"])
            for (origin, stream) in others { try origin.reply(to: stream) }
            for client in clients { #expect(try client.response().status == 200) }
        }
    }
}
