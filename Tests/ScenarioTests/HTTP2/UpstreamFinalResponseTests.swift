// Origins of HTTP/2 that never come to a final response, or to one that HTTP/2 has no place for.
import LupinTestKit
import Testing

struct UpstreamFinalResponseTests {
    @Test(arguments: ["000", "099", "101"])
    func `a status that HTTP 2 does not have is a 502`(status: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked("POST", by: client)
            try origin.frames.send(.headers(request.stream, [":status": status]))
            let response = try client.response(to: "POST")
            #expect(response.status == 502)
            try origin.frames.expectReset(request.stream, .protocolError)
            // The others on the connection are none the worse.
            try client.send("GET", story.url("/next"))
            try origin.reply(to: try origin.request().stream, body: "next")
            #expect(try client.response().bodyText == "next")
        }
    }

    /// How a stream ends before its final response.
    enum End: CaseIterable { case interim, dataBehindInterim, trailersBehindInterim, reset }

    @Test(arguments: End.allCases)
    func `a stream that ends without a final response is a 502`(end: End) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked("POST", by: client)
            let stream = request.stream
            switch end {
            case .interim: try origin.sendHead(stream, 103, end: true)
            case .dataBehindInterim:
                try origin.sendHead(stream, 103)
                try origin.frames.send(.data(stream, end: true))
            case .trailersBehindInterim:
                try origin.sendHead(stream, 103)
                try origin.sendTrailers(stream, ["x": "y"])
            case .reset:
                try origin.sendHead(stream, 103)
                try origin.reset(stream, .noError)
            }
            #expect(try client.response(to: "POST").status == 502)
        }
    }

    /// Each counts as 64 bytes of `limits.header_bytes` at least.
    @Test(arguments: [16, 17])
    func `empty interim responses are as many as fit into one head`(count: Int) async throws {
        try await UpstreamStory.run("limits: {header_bytes: 1KiB}") { story in
            let client = try story.client()
            let (origin, request) = try story.asked("POST", by: client)
            for _ in 0..<count { try origin.sendHead(request.stream, 103) }
            if count == 16 { try origin.reply(to: request.stream, body: "fine") }
            let response = try client.response(to: "POST")
            #expect(response.status == (count == 16 ? 200 : 502))
            if count == 17 { try origin.frames.expectReset(request.stream, .cancel) }
        }
    }

    @Test func `a stream that is reset on a connection that lives is not repeated`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            try client.send("GET", story.url("/two"))
            try origin.reset(try origin.request().stream, .protocolError)
            #expect(try client.response().status == 502)
            try origin.expectNoRequest()
            #expect(!story.origin.hasWaiting)
            #expect(try story.proxy.records(2)[1].count("attempts") == 1)
        }
    }
}
