// A response that comes before the end of an upload whose length the client has told: its end waits
// for the rest, since clients that have a whole response read no more windows.
import LupinTestKit
import Testing

struct EarlyResponseTests {
    private static let piece = [UInt8](repeating: 0x61, count: 100_000)
    private static let length = 3 * piece.count

    private func upload(
        _ client: HTTP2Client,
        to authority: String,
        _ fields: HTTP2Fields = [:]
    ) throws -> UInt32 {
        let head = HTTP2Fields.request("PUT", authority: authority)
        return try client.open(head + ["content-length": "\(Self.length)"] + fields)
    }

    /// Sends all of the upload, more than a window, and reads the response to its end.
    private func finish(_ client: HTTP2Client, _ stream: UInt32) throws -> String {
        for index in 0..<3 { try client.frames.sendData(stream, Self.piece, end: index == 2) }
        let response = try client.response(on: stream)
        #expect(response.reset == nil)
        #expect(response.status / 100 == 2)
        try client.frames.expectAlive()
        return response.bodyText
    }

    @Test(arguments: [
        ("200 OK", "Content-Length: 5", "early"), ("200 OK", "Content-Length: 1", "e"),
        ("200 OK", "Content-Length: 0", ""), ("204 No Content", "X: y", ""),
        ("201 Created", "Transfer-Encoding: chunked", "5\r\nearly\r\n0\r\n\r\n"),
    ])
    func `an origin that answers at once and leaves`(
        status: String,
        field: String,
        body: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try upload(client, to: origin.authority)
            let far = try origin.accept()
            _ = try far.requestHead()
            try far.send(head("HTTP/1.1 \(status)", field) + body)
            far.stream.socket.close()
            try client.frames.expectAlive()
            let text = try finish(client, stream)
            #expect(body.isEmpty ? text.isEmpty : body.contains(text) && !text.isEmpty)
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `what came is there before the end`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try upload(client, to: origin.authority)
            let far = try origin.accept()
            _ = try far.requestHead()
            try far.send(head("HTTP/1.1 200 OK", "Content-Length: 5") + "early")
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            #expect(try client.frames.text(of: stream, exactly: 4) == "earl")
            for index in 0..<3 {
                try client.frames.sendData(stream, Self.piece, end: index == 2)
            }
            #expect(try client.frames.text(of: stream, exactly: 1) == "y")
        }
    }

    @Test func `a rule's answer`() async throws {
        let rules =
            "rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: canned}}]"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client()
            let stream = try upload(client, to: "a.test")
            #expect(try finish(client, stream) == "canned")
        }
    }

    @Test(arguments: [["expect": "100-continue"] as HTTP2Fields, nil])
    func `a client that may wait for the answer has it at once`(
        asks: HTTP2Fields?
    ) async throws {
        let rules =
            "rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: canned}}]"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client()
            // Without a length it may be a stream in both directions.
            let stream =
                try asks.map { try upload(client, to: "a.test", $0) }
                ?? client.open(.request("POST", authority: "a.test"))
            #expect(try client.response(on: stream).bodyText == "canned")
        }
    }

    @Test func `an origin that reads nothing more keeps nobody waiting`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try upload(client, to: origin.authority)
            let far = try origin.accept()
            _ = try far.requestHead()
            try far.send(head("HTTP/1.1 200 OK", "Content-Length: 5") + "early")
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            #expect(try client.frames.text(of: stream, exactly: 4) == "earl")
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            #expect(try client.frames.text(of: stream, exactly: 1) == "y")
        }
    }

    @Test func `a client that takes its time gets the end nevertheless`() async throws {
        let rules =
            "rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: canned}}]"
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let client = try proxy.http2Client()
            let stream = try upload(client, to: "a.test")
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            #expect(try client.frames.text(of: stream, exactly: 5) == "canne")
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            #expect(try client.frames.text(of: stream, exactly: 1) == "d")
            try client.frames.expectReset(stream, .noError)
        }
    }
}
