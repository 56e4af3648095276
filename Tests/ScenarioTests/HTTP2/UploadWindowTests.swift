// Who uploads faster than the origin reads runs out of window, and goes on when it reads again.
import LupinIO
import LupinTestKit
import Testing

struct UploadWindowTests {
    private static let bodyBytes = 1 << 20
    /// What lupin's own window lets a client send ahead.
    private static let windowBytes = 256 << 10

    @Test func `an origin of HTTP 2 that reads nothing stops the client`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.http2Origin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(
                "POST",
                scheme: "https",
                authority: origin.authority("origin.test")
            )
            let stream = try client.open(head)
            let far = try origin.accept(manners: .patient)
            let request = try far.requestHead()
            let body = BytePattern.bytes(5, Self.bodyBytes)
            let sent = try proxy.fill(stream, of: client, with: body)
            // What the origin's window has let through is not given back at once.
            #expect((Self.windowBytes...Self.windowBytes + 65_535).contains(sent))
            try proxy.waitUntilIdle()
            try far.frames.expectAlive()
            let sending = TestThread {
                try client.frames.sendData(stream, Array(body[sent...]))
            }
            far.frames.manners = FrameStream.Manners()
            try far.frames.send(.windowUpdate(0, 65_535), .windowUpdate(request.stream, 65_535))
            #expect(try far.rest(of: request).body == body)
            try sending.join()
            try far.reply(to: request.stream, 201)
            #expect(try client.response(on: stream).status == 201)
        }
    }

    @Test func `an origin of HTTP 1 that reads nothing stops the client`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            let far = try origin.accept()
            far.stream.socket.narrow()
            let body = BytePattern.bytes(6, 12 << 20)
            let sent = try proxy.fill(stream, of: client, with: body)
            #expect(sent < body.count)
            #expect(client.frames.sendWindow(stream) == 0)
            let queued = SocketEntry.queuedBytes(ports: [proxy.address.port, origin.address.port])
            // The window may have grown while the kernel took everything.
            #expect(sent - queued < 8 << 20)
            try proxy.waitUntilIdle()
            let sending = TestThread {
                try client.frames.sendData(stream, Array(body[sent...]))
            }
            let request = try far.request()
            #expect(request.isChunked)
            #expect(request.body == body)
            try sending.join()
            try far.reply(201)
            #expect(try client.response(on: stream).status == 201)
        }
    }
}

extension ProxyFixture {
    /// Sends of `body` what the windows let through, until no more comes of them.
    fileprivate func fill(
        _ stream: UInt32,
        of client: HTTP2Client,
        with body: [UInt8]
    ) throws -> Int {
        var sent = 0
        try rest {
            let room = min(client.frames.sendWindow(stream), client.frames.sendWindow(0))
            let piece = Array(body[sent...].prefix(max(0, room)))
            _ = try? client.frames.sendData(stream, piece, end: false)
            sent += piece.count
            try? client.frames.expectAlive()
            return sent
        }
        return sent
    }
}
