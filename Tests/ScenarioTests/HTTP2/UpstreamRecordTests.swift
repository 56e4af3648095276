// What a record says of an exchange whose origin spoke HTTP/2.
import LupinTestKit
import Testing

struct UpstreamRecordTests {
    @Test func `attempts name protocol, stream and whether the connection was new`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            try client.send("GET", story.url("/two"))
            try origin.reply(to: try origin.request().stream, body: "two")
            _ = try client.response()
            let records = try story.proxy.records(2)
            for (record, stream) in zip(records, ["1", "3"]) {
                #expect(record["network.protocol.version"] == "1.1")
                #expect(record["attempts.0.protocol"] == "2")
                #expect(record["attempts.0.stream"] == stream)
                #expect(record["attempts.0.tls"] == "1.3")
                #expect(record["attempts.0.peer"] == story.origin.authority)
                #expect(record["attempts.0.status"] == "200")
                #expect(record["attempts.0.reset"] == nil)
                #expect(record["attempts.0.goaway"] == nil)
            }
            #expect(records[0]["attempts.0.reused"] == nil)
            #expect(records[0]["attempts.0.timing.tls"] != nil)
            #expect(records[1]["attempts.0.reused"] == "1")
            #expect(records[1]["attempts.0.timing.tls"] == nil)
        }
    }

    @Test func `bytes are those of the stream, frame headers included`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            try client.send("POST", story.url(), body: String(repeating: "x", count: 1000))
            let request = try origin.request()
            let head: HTTP2Fields = [":status": "200", "content-length": "500"]
            let frames: [HTTP2Frame] = [
                .headers(request.stream, head),
                .data(request.stream, [UInt8](repeating: 0, count: 200)),
                .data(request.stream, [UInt8](repeating: 0, count: 300), end: true),
            ]
            try origin.frames.send(frames)
            _ = try client.response(to: "POST")
            let record = try story.proxy.records(2)[1]
            let received = try #require(record.number("bytes.upstream_in"))
            let sent = try #require(record.number("bytes.upstream_out"))
            #expect(received == Double(frames.map(\.bytes.count).reduce(0, +)))
            // One DATA frame and a head that is compressed: no exact sum can be told.
            #expect(sent > 1009 && sent < 1400)
            #expect(record.number("http.request.body.size") == 1000)
            #expect(record.number("http.response.body.size") == 500)
        }
    }

    @Test func `siblings on one connection don't count each other's bytes`() async throws {
        try await UpstreamStory.run { story in
            let (large, small) = (try story.client(), try story.client())
            let (origin, first) = try story.asked(by: large)
            try small.send("GET", story.url("/small"))
            let second = try origin.request()
            try origin.reply(to: first.stream, body: String(repeating: "x", count: 20_000))
            #expect(try large.response().body.count == 20_000)
            try origin.reply(to: second.stream, body: "small")
            #expect(try small.response().bodyText == "small")
            let records = try story.proxy.records(2)
            #expect((records[0].number("bytes.upstream_in") ?? 0) > 20_000)
            #expect((records[1].number("bytes.upstream_in") ?? 0) < 200)
            #expect((records[1].number("bytes.upstream_out") ?? 1000) < 300)
        }
    }

    @Test func `a reset in the middle of a body is noted with its code`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let stream = try client.send(story.head())
            let origin = try story.accept()
            let request = try origin.request()
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "some"))
            try origin.reset(request.stream, .enhanceYourCalm)
            #expect(try client.response(on: stream).reset == .internalError)
            let record = try story.proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.0.reset"] == "ENHANCE_YOUR_CALM")
            #expect(record["attempts.0.status"] == "200")
            #expect(record["error.type"] == "http_response_incomplete")
            #expect(record["error.detail"]?.contains("ENHANCE_YOUR_CALM") == true)
        }
    }
}
