// RST_STREAM of an origin that says nothing of being unprocessed, before and after a response head.
import LupinTestKit
import Testing

struct UpstreamResetTests {
    static let codes: [HTTP2Frame.Code] = [
        .noError, .protocolError, .internalError, .cancel, .streamClosed, .enhanceYourCalm,
        .inadequateSecurity, HTTP2Frame.Code(rawValue: 0x77),
    ]

    @Test(arguments: codes)
    func `before the response it is 502, once for each request`(
        code: HTTP2Frame.Code
    ) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            for method in ["POST", "GET"] {
                try client.send(method, story.url(), body: method == "POST" ? "x" : nil)
                try origin.reset(try origin.request().stream, code)
                let response = try client.response(to: method)
                #expect(response.status == 502)
                #expect(response["Proxy-Status"]?.contains("connection_terminated") == true)
                try origin.expectNoRequest()
            }
            #expect(!story.origin.hasWaiting)
            let records = try story.proxy.records(3)
            for record in records[1...] {
                #expect(record["outcome"] == "error")
                #expect(record.count("attempts") == 1)
                #expect(record["attempts.0.decision"] == "give-up")
                #expect(record["attempts.0.reset"] != nil)
            }
            // The connection itself is as good as before.
            try client.send("GET", story.url("/last"))
            try origin.reply(to: try origin.request().stream, body: "last")
            #expect(try client.response().bodyText == "last")
        }
    }

    @Test(arguments: codes)
    func `behind the head a body of known length breaks off`(code: HTTP2Frame.Code) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            try origin.sendHead(request.stream, 200, ["content-length": "10"])
            try origin.frames.send(
                .data(request.stream, "01234"),
                .resetStream(request.stream, code)
            )
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            #expect(try client.waitForEnd() == .finished)
            try origin.expectNoRequest()
            let record = try story.proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.0.reset"] != nil)
        }
    }

    @Test func `behind the head a chunked body gets no last chunk`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "01234"))
            try origin.reset(request.stream, .internalError)
            #expect(try client.stream.head()?["transfer-encoding"] == "chunked")
            let (rest, end) = try client.stream.untilEnd()
            #expect(String(decoding: rest, as: UTF8.self) == "5\r\n01234\r\n")
            #expect(end == .finished)
        }
    }

    @Test func `a client of HTTP 1_0 gets RST, which is no end of a body`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("GET \(story.url()) HTTP/1.0\r\nHost: a\r\n\r\n")
            let origin = try story.accept()
            let request = try origin.request()
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "01234"))
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            try origin.reset(request.stream, .internalError)
            #expect(try client.stream.untilEnd().end == .reset)
        }
    }

    @Test func `a client of HTTP 2 gets a reset, and its other streams go on`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let first = try client.send(story.head("GET", "/one"))
            let origin = try story.accept()
            let one = try origin.request()
            let second = try client.send(story.head("GET", "/two"))
            let two = try origin.request()
            try origin.sendHead(one.stream)
            try origin.frames.send(.data(one.stream, "01234"))
            try origin.reset(one.stream, .cancel)
            let cut = try client.response(on: first)
            #expect(cut.bodyText == "01234")
            #expect(cut.reset == .internalError)
            try origin.reply(to: two.stream, body: "two")
            #expect(try client.response(on: second).bodyText == "two")
        }
    }

    @Test func `behind the whole response NO_ERROR only ends the upload`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let stream = try client.open(story.head("POST"))
            try client.frames.send(.data(stream, "some of it"))
            let origin = try story.accept()
            let request = try origin.requestHead()
            try origin.reply(to: request.stream, 413, body: "too long")
            try origin.reset(request.stream, .noError)
            let response = try client.response(on: stream)
            #expect(response.status == 413)
            #expect(response.bodyText == "too long")
            #expect(response.reset == nil)
            try client.endUnwanted(stream)
            #expect(try story.proxy.record()["outcome"] == "ok")
        }
    }
}
