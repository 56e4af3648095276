// Messages that break off: the other side learns that something is missing, and at once.
import LupinTestKit
import Testing

struct BrokenStreamTests {
    /// What there is of a response before the origin leaves.
    static let pieces = [
        "Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", "Content-Length: 9\r\n\r\n",
    ]

    @Test(arguments: pieces, [true, false])
    func `a response that breaks off is reset and never ends`(
        piece: String,
        isReset: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n" + piece)
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            if piece.hasSuffix("half") || piece.hasSuffix("half\r\n") {
                #expect(try client.frames.text(of: stream, exactly: 4) == "half")
            }
            if isReset { far.reset() } else { far.close() }
            try client.frames.expectReset(stream, .internalError)
            try client.frames.expectAlive()
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["network.reset"] == "INTERNAL_ERROR")
            #expect(record["network.reset_by"] == "proxy")
        }
    }

    @Test func `a body until close that ends by RST is broken as well`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nhalf")
            _ = try client.frames.head(on: stream)
            #expect(try client.frames.text(of: stream, exactly: 4) == "half")
            far.reset()
            try client.frames.expectReset(stream, .internalError)
        }
    }

    @Test(arguments: ["waiting", "reading", "sending"])
    func `a client that gives a stream up ends the origin's work at once`(
        moment: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let method = moment == "sending" ? "POST" : "GET"
            let head = HTTP2Fields.request(method, authority: origin.authority)
            let stream = try moment == "sending" ? client.open(head) : client.send(head)
            let far = try origin.accept()
            _ = try far.requestHead()
            if moment == "sending" { try client.frames.send(.data(stream, "some")) }
            if moment == "reading" {
                try far.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
                _ = try client.frames.head(on: stream)
            }
            try client.frames.send(.resetStream(stream, .cancel))
            try far.stream.socket.waitUntilClosedByPeer()
            try client.frames.expectAlive()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
        }
    }

    @Test func `a client that leaves ends all its streams`() async throws {
        try await ProxyFixture.run { proxy in
            let origins = try (0..<3).map { _ in try PlayedOrigin() }
            let client = try proxy.http2Client()
            let connections = try origins.map { origin in
                try client.send(.request(authority: origin.authority))
                let far = try origin.accept()
                try far.request()
                return far
            }
            client.close()
            for far in connections { _ = try far.waitForEnd() }
            #expect(try proxy.records(3).allSatisfy { $0["outcome"] == "aborted" })
        }
    }

    @Test func `a stream of HTTP 2 upstream is given up with the client's`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.http2Origin()
            let authority = origin.authority("origin.test")
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(scheme: "https", authority: authority)
            let first = try client.send(head)
            let far = try origin.accept()
            let request = try far.request()
            let second = try client.send(head)
            let other = try far.request()
            try client.frames.send(.resetStream(first, .cancel))
            try far.frames.expectReset(request.stream, .cancel)
            try far.reply(to: other.stream, body: "other")
            #expect(try client.response(on: second).bodyText == "other")
            // And the other way round.
            let third = try client.send(head)
            let last = try far.request()
            try far.sendHead(last.stream)
            _ = try client.frames.head(on: third)
            try far.frames.send(.data(last.stream, "half"), .resetStream(last.stream, .cancel))
            #expect(try client.response(on: third).reset == .internalError)
        }
    }
}
