// Messages from HTTP/2 to HTTP/2: two connections, and nothing of the one's own on the other.
import LupinTestKit
import Testing

struct StreamBridgeTests {
    private static func run(
        _ rules: String = "",
        _ story:
            @escaping @Sendable (
                ProxyFixture, HTTP2Client, PlayedHTTP2Origin, HTTP2Fields
            ) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.http2Origin()
            let authority = origin.authority("origin.test")
            let head = HTTP2Fields.request(scheme: "https", authority: authority)
            try story(proxy, try proxy.http2Client(), origin, head)
        }
    }

    @Test func `a message and its answer go through whole`() async throws {
        try await Self.run { proxy, client, origin, head in
            let body = BytePattern.bytes(4, 100_000)
            let post = head.with(":method", "POST").with(":path", "/a?b=c")
            let fields: HTTP2Fields = ["x-a": "1", "te": "trailers", "x-a": "2"]
            let stream = try client.open(post + fields)
            let far = try origin.accept()
            let sending = TestThread {
                try client.frames.sendData(stream, body, end: false)
                try client.frames.send(.headers(stream, ["x-up": "1"], end: true))
            }
            let request = try far.request()
            try sending.join()
            #expect(request.method == "POST")
            #expect(request.path == "/a?b=c")
            #expect(request[":scheme"] == "https")
            #expect(request[":authority"] == head[":authority"])
            #expect(request.fields.values("x-a") == ["1", "2"])
            #expect(request["te"] == "trailers")
            #expect(request["via"]?.hasPrefix("2 lupin-") == true)
            #expect(request.body == body)
            #expect(request.trailers["x-up"] == "1")
            try far.sendHead(request.stream, 103, ["link": "<a>"])
            try far.sendHead(request.stream, 201, ["x-b": "1"])
            try far.frames.sendData(request.stream, body, end: false)
            try far.sendTrailers(request.stream, ["x-down": "2"])
            let response = try client.response(on: stream)
            #expect(response.interim.map { $0["link"] } == ["<a>"])
            #expect(response.status == 201)
            #expect(response["x-b"] == "1")
            #expect(response["content-length"] == nil)
            #expect(response["via"]?.hasPrefix("2 lupin-") == true)
            #expect(response.body == body)
            #expect(response.trailers["x-down"] == "2")
            let record = try proxy.record()
            #expect(record["network.protocol.version"] == "2")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["network.reset"] == nil)
            #expect(record["http.request.body.size"] == "100000")
            #expect(record["http.response.body.size"] == "100000")
            #expect(record["attempts.0.stream"] == "\(request.stream)")
            let sent = try #require(record.number("bytes.client_in"))
            #expect((100_000...110_000).contains(sent))
        }
    }

    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func `responses without a body end with their heads`(
        method: String,
        status: Int
    ) async throws {
        try await Self.run { _, client, origin, head in
            let stream = try client.send(head.with(":method", method))
            let far = try origin.accept()
            let request = try far.request()
            #expect(request.body.isEmpty)
            let length: HTTP2Fields = status == 204 ? [:] : ["content-length": "42"]
            try far.sendHead(request.stream, status, length, end: true)
            guard case .fields(_, let fields, let ends) = try client.frames.part(of: stream) else {
                throw SocketFailure("no head")
            }
            #expect(ends)
            #expect(fields[":status"] == "\(status)")
            #expect(fields["content-length"] == length["content-length"])
        }
    }

    @Test func `streams of several clients share a connection`() async throws {
        try await Self.run { proxy, client, origin, head in
            let first = try client.send(head.with(":path", "/1"))
            let far = try origin.accept()
            let one = try far.request()
            let other = try proxy.http2Client()
            let second = try other.send(head.with(":path", "/2"))
            let two = try far.request()
            #expect([one.path, two.path] == ["/1", "/2"])
            try far.reply(to: two.stream, body: "two")
            #expect(try other.response(on: second).bodyText == "two")
            try far.reply(to: one.stream, body: "one")
            #expect(try client.response(on: first).bodyText == "one")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `an answer before the end of the upload is whole`() async throws {
        try await Self.run { _, client, origin, head in
            let stream = try client.open(head.with(":method", "POST"))
            try client.frames.send(.data(stream, "some"))
            let far = try origin.accept()
            let request = try far.requestHead()
            try far.sendHead(request.stream, 413, end: true)
            let response = try client.response(on: stream)
            #expect(response.status == 413)
            #expect(response.reset == nil)
            try client.endUnwanted(stream)
            try far.frames.expectReset(request.stream, .cancel, .noError)
            try client.frames.expectAlive()
        }
    }
}
