// Requests whose stream the origin refused unprocessed: sent once more, whatever the method is.
import LupinTestKit
import Testing

struct UpstreamRefusedStreamTests {
    private static func body(of method: String) -> String? { method == "GET" ? nil : "one lamp" }

    @Test(arguments: ["GET", "POST", "PATCH"])
    func `a refused stream is tried once more, with equal bytes`(method: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(method, story.url("/a?b"), ["X: y"], body: Self.body(of: method))
            let origin = try story.accept()
            let first = try origin.request()
            try origin.reset(first.stream, .refusedStream)
            let second = try origin.request()
            #expect(second.stream > first.stream)
            #expect(second.fields == first.fields)
            #expect(second["x"] == "y")
            #expect(second.bodyText == Self.body(of: method) ?? "")
            try origin.reply(to: second.stream, body: "done")
            #expect(try client.response(to: method).bodyText == "done")
            try origin.expectNoRequest()
            let record = try story.proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.reset"] == "REFUSED_STREAM")
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.stream"] == "\(first.stream)")
            #expect(record["attempts.1.stream"] == "\(second.stream)")
            #expect(record["attempts.1.reused"] == "1")
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `a request that is refused twice gets 502 and a reason`(method: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(method, story.url(), body: Self.body(of: method))
            let origin = try story.accept()
            for _ in 0..<2 { try origin.reset(try origin.request().stream, .refusedStream) }
            let response = try client.response(to: method)
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("refused the stream") == true)
            try origin.expectNoRequest()
            let record = try story.proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["attempts.1.reason"] == "limit of 1 reached")
        }
    }

    @Test func `a body that had not all come goes on from the client`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let lines = ["POST \(story.url()) HTTP/1.1", "Host: a", "Content-Length: 6"]
            try client.send(lines.joined(separator: "\r\n") + "\r\n\r\nabc")
            let origin = try story.accept()
            let first = try origin.requestHead()
            #expect(try origin.frames.bytes(of: first.stream, exactly: 3) == Array("abc".utf8))
            try origin.reset(first.stream, .refusedStream)
            let second = try origin.requestHead()
            #expect(try origin.frames.bytes(of: second.stream, exactly: 3) == Array("abc".utf8))
            try client.send("def")
            #expect(try origin.frames.bytes(of: second.stream, exactly: 3) == Array("def".utf8))
        }
    }

    @Test func `a chunked body with trailers is sent again whole`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let lines = ["POST \(story.url()) HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"]
            let body = "4\r\none \r\n4\r\nlamp\r\n0\r\nX-Sum: 8\r\n\r\n"
            try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
            let origin = try story.accept()
            let first = try origin.request()
            try origin.reset(first.stream, .refusedStream)
            let second = try origin.request()
            for request in [first, second] {
                #expect(request.bodyText == "one lamp")
                #expect(request.trailers["x-sum"] == "8")
            }
            try origin.reply(to: second.stream)
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `a body that outgrew what is kept is not sent again`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let thread = TestThread {
                try client.send("POST", story.url(), body: String(repeating: "x", count: 300 << 10))
            }
            let origin = try story.accept()
            let first = try origin.requestHead()
            _ = try origin.frames.bytes(of: first.stream, exactly: 290 << 10)
            try origin.reset(first.stream, .refusedStream)
            let response = try client.response(to: "POST")
            try thread.join()
            #expect(response.status == 502)
            #expect(try story.proxy.record()["attempts.0.reason"] == "the body was not kept")
        }
    }

    @Test func `a client of HTTP 2 does not see that its stream was refused`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let stream = try client.send(story.head("POST"), body: Array("one lamp".utf8))
            let origin = try story.accept()
            try origin.reset(try origin.request().stream, .refusedStream)
            let second = try origin.request()
            #expect(second.bodyText == "one lamp")
            try origin.reply(to: second.stream, body: "done")
            #expect(try client.response(on: stream).bodyText == "done")
        }
    }
}
