// An upload that is answered before its end: how much of the rest passes by unread, and how long.
import LupinTestKit
import Testing

struct UnwantedUploadTests {
    private static let rules = """
        rules: [{name: canned, match: {host: a.test}, respond: {status: 413, body: enough}}]
        """

    private func upload(_ proxy: ProxyFixture) throws -> (HTTP2Client, UInt32) {
        let client = try proxy.http2Client()
        let stream = try client.open(.request("POST", authority: "a.test"))
        let response = try client.response(on: stream)
        #expect(response.status == 413)
        #expect(response.bodyText == "enough")
        return (client, stream)
    }

    @Test func `a megabyte passes by, and its end ends the stream`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (client, stream) = try upload(proxy)
            // More than any window: what passes by is given back.
            let piece = [UInt8](repeating: 0x61, count: 250 << 10)
            for _ in 0..<4 { try client.frames.sendData(stream, piece, end: false) }
            try client.endUnwanted(stream)
        }
    }

    @Test func `what is beyond 32 MiB is refused with NO_ERROR`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (client, stream) = try upload(proxy)
            let piece = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<33 { try client.frames.sendData(stream, piece, end: false) }
            try client.frames.expectReset(stream, .noError)
            try client.frames.expectAlive()
        }
    }

    @Test func `a client that takes its time is not waited for`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let (client, stream) = try upload(proxy)
            try client.frames.sendData(stream, Array("some".utf8), end: false)
            try client.frames.expectAlive()
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            try client.frames.expectReset(stream, .noError)
            #expect(try client.request(authority: "a.test").bodyText == "enough")
        }
    }
}
