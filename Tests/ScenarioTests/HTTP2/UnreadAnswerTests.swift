// Clients that ask and never take the answers: what piles up for them is bounded.
import LupinIO
import LupinTestKit
import Testing

struct UnreadAnswerTests {
    private static let rules = """
        rules:
          - name: canned
            match: {host: a.test}
            respond: {status: 200, body: \(String(repeating: "z", count: 5000))}
        """

    private static let get = HTTP2Fields.request(authority: "a.test")

    @Test func `requests without a window wait`() async throws {
        let rules = "limits: {h2: {streams: 20}}\n" + Self.rules
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client([.initialWindowSize(0)])
            let innocent = try proxy.http2Client()
            let streams = try (0..<20).map { _ in try client.send(Self.get) }
            for stream in streams {
                #expect(try client.frames.head(on: stream)[":status"] == "200")
            }
            #expect(try innocent.request(Self.get).body.count == 5000)
            try proxy.waitUntilIdle()
            // They have cost nothing but their place.
            try client.frames.send(.settings(.initialWindowSize(65_535)))
            for stream in streams {
                #expect(try client.frames.bytes(of: stream, exactly: 5000).count == 5000)
            }
        }
    }

    @Test func `a request more than may wait is refused`() async throws {
        try await ProxyFixture.run("limits: {h2: {streams: 20}}\n" + Self.rules) { proxy in
            let client = try proxy.http2Client([.initialWindowSize(0)])
            let innocent = try proxy.http2Client()
            let streams = try (0..<20).map { _ in try client.send(Self.get) }
            for stream in streams {
                #expect(try client.frames.head(on: stream)[":status"] == "200")
            }
            let late = try client.send(Self.get)
            // nghttp2 ends the connection: the client knew the limit (RFC 9113 §5.1.2, §5.4.2).
            try client.frames.expectStreamError(late, .refusedStream, .protocolError)
            #expect(try innocent.request(Self.get).body.count == 5000)
        }
    }

    @Test func `answers that nobody reads stop what is read of requests`() async throws {
        try await ProxyFixture.run("limits: {h2: {streams: 65535}}\n" + Self.rules) { proxy in
            let scripted = try proxy.client(receiveBuffer: 64 << 10)
            let client = try HTTP2Client(
                inside: scripted,
                settings: [.initialWindowSize(0x7FFF_FFFF)]
            )
            let innocent = try proxy.http2Client()
            try client.frames.send(.windowUpdate(0, 0x7FFF_FFFF - 65_535))
            let asking = TestThread {
                // Ends in vain: nobody takes so many.
                for _ in 0..<200 {
                    let requests = (0..<50).map { _ in
                        HTTP2Frame.headers(client.frames.nextStream(), Self.get, end: true)
                    }
                    guard (try? client.frames.send(requests)) != nil else { return }
                }
            }
            try eventually("answers") { proxy.recordsSoFar().count > 10 }
            try proxy.rest { proxy.recordsSoFar().count }
            let answered = proxy.recordsSoFar().count
            let queued = SocketEntry.queuedBytes(ports: [proxy.address.port])
            // A backlog of 64 KiB, and the answers to what came in one piece.
            #expect(answered * 5000 < queued + (64 << 10) + 100 * 5100)
            #expect(try innocent.request(Self.get).body.count == 5000)
            // Who sends comes back before the descriptor may be somebody else's.
            client.frames.shutdownWrite()
            try asking.join()
        }
    }
}
