// A client that reads none of a long answer can still ask, and cancel, and costs no work meanwhile.
import LupinIO
import LupinTestKit
import Testing

struct UnreadStreamTests {
    /// A client whose windows never stop lupin, so that only its socket does.
    private static func client(_ proxy: ProxyFixture) throws -> HTTP2Client {
        let client = try HTTP2Client(
            inside: try proxy.client(receiveBuffer: 32 << 10),
            settings: [.initialWindowSize(0x7FFF_FFFF)],
            manners: .none
        )
        try client.frames.send(.settingsAcknowledgement, .windowUpdate(0, 0x7FFF_0000))
        return client
    }

    @Test func `it can ask for more and cancel before it has read what came`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try Self.client(proxy)
            let head = HTTP2Fields.request(authority: origin.authority)
            let unread = try client.send(head)
            let far = try origin.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: \(1 << 40)\r\n\r\n")
            try proxy.fill(far.stream.socket)
            let other = try client.send(head.with(":path", "/other"))
            let second = try origin.accept()
            #expect(try second.request().target == "/other")
            try client.frames.send(.resetStream(unread))
            _ = try far.waitForEnd()
            try second.reply(body: "fine")
            client.frames.manners = FrameStream.Manners()
            #expect(try client.response(on: other).bodyText == "fine")
        }
    }

    @Test func `a stream that waits for its window keeps nobody busy`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client([.initialWindowSize(1000)], manners: .none)
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.reply(body: String(repeating: "x", count: 5000))
            _ = try client.frames.head(on: stream)
            _ = try client.frames.bytes(of: stream, exactly: 1000)
            try proxy.waitUntilIdle()
            try client.frames.send(.windowUpdate(stream, 4000))
            #expect(try client.frames.bytes(of: stream, exactly: 4000).count == 4000)
        }
    }

    @Test func `a client that reads nothing is left when it has been idle`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_idle: 5s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try Self.client(proxy)
            let unread = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: \(1 << 40)\r\n\r\n")
            try proxy.fill(far.stream.socket)
            try client.frames.send(.resetStream(unread))
            _ = try far.waitForEnd()
            let port = try #require(client.frames.socket.address).port
            for _ in 0..<20 { try clock.advance(by: .seconds(1)) }
            let held = OpenSocket.all { ends in
                ends.local == proxy.address.port && ends.remote == port
            }
            #expect(held.isEmpty)
        }
    }
}
