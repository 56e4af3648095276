// An upload of unknown length, whose origin reads slowly, outgrows the chunks that were begun.
import LupinTestKit
import Testing

struct OutgrownChunkTests {
    /// More than the kernel keeps for an origin that reads nothing.
    private static let bodyBytes = 6 << 20
    /// No divisor of a block's size, so that bytes come to blocks whose chunk has begun.
    private static let pieceBytes = 15_000

    @Test func `a body that was held up arrives whole when the origin reads again`() async throws {
        try await ProxyFixture.run("limits: {h2: {window: 64KiB}}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            let far = try origin.accept()
            far.stream.socket.narrow()
            var request = try far.requestHead()
            #expect(request["Transfer-Encoding"] == "chunked")
            let body = BytePattern.bytes(1, Self.bodyBytes)
            let sending = TestThread {
                var start = 0
                while start < body.count {
                    let end = min(start + Self.pieceBytes, body.count)
                    let piece = Array(body[start..<end])
                    try client.frames.sendData(stream, piece, end: end == body.count)
                    start = end
                }
            }
            // Everything stands still: the client has no window left.
            try proxy.waitForStandstill { client.frames.sendWindow(stream) == 0 ? 1 : 0 }
            try far.stream.body(of: &request)
            try sending.join()
            #expect(request.body == body)
            try far.reply(body: "done")
            #expect(try client.response(on: stream).bodyText == "done")
        }
    }
}
