// Exchanges of HTTP/2 and of intercepted connections are captured as those of HTTP/1.1 are.
import LupinTestKit
import Testing

struct CapturedProtocolTests {
    @Test func `bodies of streams are kept`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request("POST", authority: origin.authority, path: "/a")
            let stream = try client.open(head + ["content-type": "a/b"])
            try client.frames.send(.data(stream, "ques"))
            try client.frames.send(.data(stream, "tion", end: true))
            let far = try origin.accept()
            #expect(try far.request().bodyText == "question")
            try far.reply(200, "Content-Type: c/d", body: "answer")
            #expect(try client.response(on: stream).bodyText == "answer")
            let detail = try proxy.captured()
            #expect(detail.side("request") == ["bytes": "8", "kept": "8", "type": "a/b"])
            #expect(detail.side("response") == ["bytes": "6", "kept": "6", "type": "c/d"])
            #expect(try proxy.body("request", of: detail) == "question")
            #expect(try proxy.body("response", of: detail) == "answer")
        }
    }

    @Test func `messages of a WebSocket on a stream are kept`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(HTTP2Fields.webSocket(authority: origin.authority))
            let far = try origin.accept()
            let key = try far.request()["Sec-WebSocket-Key"] ?? ""
            try far.send(
                head(
                    "HTTP/1.1 101 Switching Protocols",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Accept: \(WebSocketProof.accept(key))"
                )
            )
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            try far.send([0x81, 2, 0x68, 0x69])
            _ = try client.frames.bytes(of: stream, exactly: 4)
            try client.frames.send(.data(stream, "\u{01}\u{01}a", end: false))
            try client.frames.send(.data(stream, end: true))
            #expect(try far.waitForEnd() == .finished)
            far.close()
            try client.frames.expectEnd(of: stream)
            let detail = try proxy.captured()
            #expect(try proxy.messages(of: detail) == ["origin text hi"])
        }
    }

    @Test func `what is intercepted for the capture is kept`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {host: origin.test}, capture: true}]\n"
        try await Inside.run(rules) { inside in
            try inside.send("POST", "/a", "Content-Length: 8", body: "question")
            let far = try inside.accept()
            #expect(try far.request().bodyText == "question")
            try far.reply(body: "answer")
            #expect(try inside.client.response().bodyText == "answer")
            let index = try #require(
                try inside.proxy.records(1).firstIndex { $0["http.request.method"] == "POST" }
            )
            let detail = try inside.proxy.captured(index)
            #expect(try inside.proxy.body("request", of: detail) == "question")
            #expect(try inside.proxy.body("response", of: detail) == "answer")
        }
    }
}
