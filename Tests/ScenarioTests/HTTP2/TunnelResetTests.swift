// A tunnel on a stream of HTTP/2 that breaks off at its origin's end (RFC 9113 §8.5).
import LupinTestKit
import Testing

struct TunnelResetTests {
    @Test func `a tunnel that its origin resets ends with CONNECT_ERROR`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let tunnel = try client.open(.connect(origin.authority))
            let far = try origin.accept()
            #expect(try client.frames.head(on: tunnel)[":status"] == "200")
            try client.frames.send(.data(tunnel, "hello"))
            #expect(try far.stream.text(5) == "hello")
            far.reset()
            #expect(try client.response(on: tunnel).reset == .connectError)
            try client.frames.expectAlive()
        }
    }
}
