// Where the point of no return lies: at the first byte, or behind what `hold` keeps back.
import LupinTestKit
import Testing

struct HeldBackTests {
    private static let plain = everywhere("retry: {use: standard, backoff: none}")
    private static let held = everywhere("retry: {use: standard, backoff: none, hold: 16KiB}")

    /// A response of which only the beginning comes.
    private static func broken(_ sent: Int, of count: Int) -> FlakyOrigin.Deed {
        let body = String(repeating: "x", count: sent)
        return .breakOff(head("HTTP/1.1 200 OK", "Content-Length: \(count)") + body)
    }

    @Test func `behind the first byte nothing is repaired`() async throws {
        try await ProxyFixture.run(Self.plain) { proxy in
            let (flaky, origin) = try proxy.flaky(Self.broken(1, of: 100), .good)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(try client.stream.head()?["Content-Length"] == "100")
            let (bytes, end) = try client.stream.untilEnd()
            #expect(bytes.count == 1)
            #expect(end == .finished)
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record.count("attempts") == 1)
        }
    }

    @Test(arguments: [0, 1, 16_000])
    func `a break within what is held back is repaired`(sent: Int) async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let (flaky, origin) = try proxy.flaky(Self.broken(sent, of: 50_000), .good)
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response.bodyText == "good")
            #expect(response["Content-Length"] == "4")
            #expect(flaky.asked == 2)
            // The client's connection goes on behind one clean response.
            #expect(try client.get(origin.url()).bodyText == "good")
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.reason"] == "reset")
            #expect(record["attempts.0.error.type"] == "http_response_incomplete")
        }
    }

    @Test func `a stream sees one clean response too`() async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let (_, origin) = try proxy.flaky(Self.broken(10, of: 50_000), .good)
            let client = try proxy.http2Client()
            #expect(try client.request(authority: origin.authority).bodyText == "good")
        }
    }

    @Test func `a chunked body that breaks is repaired, and one that does not is whole`()
        async throws
    {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let chunked = head("HTTP/1.1 200 OK", "Trailer: X-Sum", "Transfer-Encoding: chunked")
            let (flaky, origin) = try proxy.flaky(
                .breakOff(chunked + "5\r\nwrong\r\n"),
                .say(chunked + "4\r\ngood\r\n0\r\nX-Sum: 7\r\n\r\n")
            )
            let response = try proxy.client().get(origin.url(), "TE: trailers", "Connection: TE")
            #expect(response.bodyText == "good")
            #expect(response.trailer("X-Sum") == "7")
            #expect(flaky.asked == 2)
        }
    }

    @Test(arguments: [(16 << 10) - 1, 16 << 10, (16 << 10) + 1, 300_000])
    func `a body of any length comes whole`(count: Int) async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let body = String(repeating: "y", count: count)
            let (flaky, origin) = try proxy.flaky(.status(200, body: body))
            #expect(try proxy.client().get(origin.url()).bodyText == body)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a break behind it truncates`() async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: 50000"))
            try connection.send(String(repeating: "x", count: 20_000))
            #expect(try client.stream.head()?.status == 200)
            connection.close()
            #expect(try client.stream.untilEnd().bytes.count == 20_000)
            #expect(!origin.hasWaiting)
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `a POST is not held back, for nobody could repeat it`() async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "lamp")
            let connection = try origin.accept()
            try connection.request()
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: 10") + "01234")
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            connection.close()
            _ = try client.stream.untilEnd()
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `the last attempt is not held back either`() async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let (flaky, origin) = try proxy.flaky(Self.broken(7, of: 50_000))
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.untilEnd().bytes.count == 7)
            #expect(flaky.asked == 3)
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `a slow body is held back for no longer than two seconds`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.held, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: 10") + "01234")
            try clock.advance(by: .milliseconds(1900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(120))
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            try connection.send("56789")
            #expect(try client.stream.text(5) == "56789")
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test(arguments: ["text/event-stream", "application/x-ndjson"])
    func `a stream is not held back`(type: String) async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                head("HTTP/1.1 200 OK", "Content-Type: \(type)", "Content-Length: 10") + "01234"
            )
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            try connection.send("56789")
            #expect(try client.stream.text(5) == "56789")
        }
    }

    @Test func `what has no body is not waited for`() async throws {
        try await ProxyFixture.run(Self.held, clock: VirtualClock()) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.send(
                        request.method == "HEAD"
                            ? head("HTTP/1.1 200 OK", "Content-Length: 70000")
                            : head("HTTP/1.1 \(request.target.dropFirst()) None")
                    )
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/204")).status == 204)
            #expect(try client.get(origin.url("/304")).status == 304)
            try client.send("HEAD", origin.url())
            #expect(try client.response(to: "HEAD")["Content-Length"] == "70000")
            #expect(origin.connections.count == 1)
        }
    }
}
