// What counts as a flood: streams whose bodies lie about their length, and PINGs beside no message.
import LupinTestKit
import Testing

struct CountedFrameTests {
    private static let limit = 20

    @Test(arguments: ["1", "9"])
    func `a body of another length than its head says counts as a reset`(length: String)
        async throws
    {
        let rules = "limits: {h2: {resets: \(Self.limit)/30s}}"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                // Some are given up as soon as they are there.
                while (try? connection.nextRequest()) != nil { try? connection.reply() }
            }
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request("POST", authority: origin.authority)
            for _ in 0..<Self.limit {
                let stream = client.frames.nextStream()
                try client.frames.send(
                    .headers(stream, head + ["content-length": length]),
                    .data(stream, "liar", end: true)
                )
                try client.frames.expectReset(stream, .protocolError)
            }
            let last = client.frames.nextStream()
            client.frames.sendAnyway(
                .headers(last, head + ["content-length": length]),
                .data(last, "liar", end: true)
            )
            try client.frames.expectCalm()
        }
    }

    private static let control = "limits: {h2: {control: \(limit)/30s}}"

    @Test func `a PING for each DATA of an upload is no flood`() async throws {
        try await ProxyFixture.run(Self.control) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            for _ in 0..<Self.limit * 3 { try client.frames.send(.data(stream, "x"), .ping()) }
            try client.frames.send(.data(stream, end: true))
            let far = try origin.accept()
            #expect(try far.request().body.count == Self.limit * 3)
            try far.reply(body: "fine")
            #expect(try client.response(on: stream).bodyText == "fine")
        }
    }

    @Test func `a PING for each DATA of an answer is no flood`() async throws {
        try await ProxyFixture.run(Self.control) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            let count = Self.limit * 3
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
            _ = try client.frames.head(on: stream)
            for _ in 0..<count {
                try far.send("x")
                _ = try client.frames.bytes(of: stream, exactly: 1)
                try client.frames.expectAlive()
            }
        }
    }

    @Test func `PINGs beside a request that waits are one`() async throws {
        try await ProxyFixture.run(Self.control) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            _ = try client.send(.request(authority: origin.authority))
            for _ in 0...Self.limit { client.frames.sendAnyway(.ping()) }
            try client.frames.expectCalm()
        }
    }
}
