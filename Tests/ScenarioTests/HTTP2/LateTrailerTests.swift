// Trailers for a stream that lupin has reset are no head that the client leaves unfinished.
import LupinTestKit
import Testing

struct LateTrailerTests {
    private static let rules = """
        timeouts: {client_header: 5s}
        rules: [{name: canned, match: {host: a.test}, respond: {status: 413, body: enough}}]
        """

    @Test func `they don't cost the client its connection`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request("POST", authority: "a.test")
            let stream = try client.open(head + ["content-length": "500000"])
            try client.frames.send(.data(stream, "some"))
            #expect(try client.response(on: stream).bodyText == "enough")
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            try client.frames.expectReset(stream, .noError)
            try client.frames.send(.headers(stream, ["x-late": "1"], end: true))
            try client.frames.expectAlive()
            for _ in 0..<7 { try clock.advance(by: .seconds(1)) }
            try client.frames.expectAlive()
            #expect(try client.request(authority: "a.test").bodyText == "enough")
        }
    }
}
