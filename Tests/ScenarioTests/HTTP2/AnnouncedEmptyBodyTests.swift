// `content-length: 0` without END_STREAM: a message that is whole only once its end has come.
import LupinTestKit
import Testing

struct AnnouncedEmptyBodyTests {
    private static func post(_ origin: PlayedOrigin) -> HTTP2Fields {
        .request("POST", authority: origin.authority) + ["content-length": "0"]
    }

    @Test func `a request waits for its end, and goes on as one without a body`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            try client.frames.send(.headers(stream, Self.post(origin)))
            try client.frames.expectAlive()
            try proxy.settle()
            #expect(!origin.hasWaiting)
            try client.frames.send(.data(stream), .data(stream, end: true))
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Content-Length"] == "0")
            #expect(!request.isChunked)
            try far.reply(body: "fine")
            #expect(try client.response(on: stream).bodyText == "fine")
        }
    }

    @Test func `trailers are an end, too`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            try client.frames.send(
                .headers(stream, Self.post(origin)),
                .headers(stream, ["x-sum": "0"], end: true)
            )
            let far = try origin.accept()
            #expect(try far.request()["Content-Length"] == "0")
            try far.reply(body: "fine")
            #expect(try client.response(on: stream).bodyText == "fine")
        }
    }

    @Test(arguments: [true, false])
    func `a body that was not announced reaches no origin, nor does its head`(
        isAtOnce: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            try client.frames.send(.headers(stream, Self.post(origin)))
            if !isAtOnce { try client.frames.expectAlive() }
            try client.frames.send(.data(stream, "body", end: true))
            try client.frames.expectReset(stream, .protocolError)
            try client.frames.expectAlive()
            try proxy.settle()
            #expect(!origin.hasWaiting)
            let record = try proxy.record()
            #expect(record["http.response.status_code"] == nil)
            #expect(record["error.type"] == "http_request_error")
        }
    }

    @Test func `a request that is given up before its end reaches no origin`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            try client.frames.send(.headers(stream, Self.post(origin)), .resetStream(stream))
            try client.frames.expectAlive()
            #expect(try proxy.record()["outcome"] == "aborted")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a request that never ends costs the connection, like a head`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_header: 5s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            try client.frames.send(.headers(client.frames.nextStream(), Self.post(origin)))
            try client.frames.expectAlive()
            for _ in 0..<7 { try clock.advance(by: .seconds(1)) }
            try client.frames.expectCalm()
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func `an empty DATA frame behind the head is no body`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            let fields = HTTP2Fields.request(method, authority: origin.authority)
            try client.frames.send(.headers(stream, fields))
            try client.frames.expectAlive()
            #expect(!origin.hasWaiting)
            try client.frames.send(.data(stream, end: true))
            let far = try origin.accept()
            let request = try far.request()
            #expect(!request.isChunked)
            #expect(request["Content-Length"] == nil)
            try far.send(head("HTTP/1.1 204 No Content"))
            #expect(try client.response(on: stream).status == 204)
        }
    }

    @Test func `a GET with a body goes on as soon as that comes`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            let fields = HTTP2Fields.request("GET", authority: origin.authority)
            try client.frames.send(.headers(stream, fields), .data(stream, "some"))
            let far = try origin.accept()
            #expect(try far.requestHead()["Transfer-Encoding"] == "chunked")
            try client.frames.send(.data(stream, "thing", end: true))
            try far.reply(body: "fine")
            #expect(try client.response(on: stream).bodyText == "fine")
        }
    }

    @Test func `a response waits for its end`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            try client.send("GET", story.url())
            let request = try origin.request()
            try origin.frames.send(
                .headers(request.stream, [":status": "200", "content-length": "0"]),
                .data(request.stream, end: true)
            )
            let response = try client.response()
            #expect(response.status == 200)
            #expect(response["Content-Length"] == "0")
        }
    }
}
