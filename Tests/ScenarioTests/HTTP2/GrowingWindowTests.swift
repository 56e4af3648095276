// How far a client may send ahead: further where its bytes are taken, unless the file says how far.
import LupinTestKit
import Testing

struct GrowingWindowTests {
    @Test(arguments: [("auto", true), ("128KiB", false)])
    func `a window grows with its reader, where it may`(
        window: String,
        grows: Bool
    ) async throws {
        try await ProxyFixture.run("limits: {h2: {window: \(window)}}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            let far = try origin.accept()
            let reading = TestThread { try far.request() }
            let before = client.frames.sendWindow(stream)
            #expect(before == (grows ? 256 << 10 : 128 << 10))
            try client.frames.sendData(stream, BytePattern.bytes(3, 2 << 20), end: false)
            // Every answer to a PING comes behind the windows that were given back by then.
            for _ in 0..<100 where client.frames.sendWindow(stream) <= before {
                try client.frames.expectAlive()
            }
            #expect((client.frames.sendWindow(stream) > before) == grows)
            try client.frames.send(.data(stream, "", end: true))
            try reading.join()
            try far.reply(204)
            #expect(try client.response(on: stream).status == 204)
        }
    }
}
