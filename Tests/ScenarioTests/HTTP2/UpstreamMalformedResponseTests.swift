// Responses that no HTTP/2 client may take (RFC 9113 §8.1.1): 502 or a broken body, for one stream.
import LupinTestKit
import Testing

struct UpstreamMalformedResponseTests {
    /// A malformed response, sent on the stream that it is given.
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let errorType: String
        let frames: @Sendable (UInt32) -> [HTTP2Frame]

        init(
            _ name: String,
            _ errorType: String = "http_protocol_error",
            _ frames: @escaping @Sendable (UInt32) -> [HTTP2Frame]
        ) {
            testDescription = name
            self.errorType = errorType
            self.frames = frames
        }

        /// One head that ends the stream.
        init(_ name: String, head: HTTP2Fields) {
            self.init(name) { [.headers($0, head, end: true)] }
        }
    }

    static let heads = [
        Sample("no :status", head: ["server": "x"]),
        Sample("an empty head", head: [:]),
        Sample(":status twice", head: [":status": "200", ":status": "200"]),
        Sample(":status behind a field", head: ["a": "b", ":status": "200"]),
        Sample(":status of letters", head: [":status": "abc"]),
        Sample(":status of two digits", head: [":status": "20"]),
        Sample(":status of four digits", head: [":status": "2000"]),
        Sample(":status below 100", head: [":status": "099"]),
        Sample(":status 101", head: [":status": "101"]),
        Sample("an interim response that ends", head: [":status": "103"]),
        Sample("a pseudo-field of requests", head: [":status": "200", ":path": "/"]),
        Sample("a pseudo-field of nobody", head: [":status": "200", ":x": "y"]),
        Sample("a name in upper case", head: [":status": "200", "Server": "x"]),
        Sample("a name with a space", head: [":status": "200", "a b": "c"]),
        Sample("an empty name", head: [":status": "200", "": "c"]),
        Sample("a value with a line break", head: [":status": "200", "a": "b\r\nc: d"]),
        Sample("a value with NUL", head: [":status": "200", "a": "b\0c"]),
        Sample("connection", head: [":status": "200", "connection": "close"]),
        Sample("keep-alive", head: [":status": "200", "keep-alive": "timeout=5"]),
        Sample("transfer-encoding", head: [":status": "200", "transfer-encoding": "chunked"]),
        Sample("upgrade", head: [":status": "200", "upgrade": "h2c"]),
        Sample("proxy-connection", head: [":status": "200", "proxy-connection": "close"]),
        Sample("a length and no body", head: [":status": "200", "content-length": "5"]),
        Sample("a length of letters", head: [":status": "200", "content-length": "x"]),
        Sample("a negative length", head: [":status": "200", "content-length": "-1"]),
        Sample(
            "two lengths",
            head: [":status": "200", "content-length": "0", "content-length": "0"]
        ),
        Sample("a body behind a length of 0") {
            [.headers($0, [":status": "200", "content-length": "0"]), .data($0, "x", end: true)]
        },
        Sample("DATA behind an interim response") {
            [.headers($0, [":status": "103"]), .data($0, "body", end: true)]
        },
    ]

    @Test(arguments: heads)
    func `a malformed head is 502, and the origin is not asked again`(
        sample: Sample
    ) async throws {
        try await UpstreamStory.run { story in
            let (client, other) = (try story.client(), try story.client())
            let origin = try story.served(by: client)
            try client.send("GET", story.url())
            let request = try origin.request()
            try other.send("GET", story.url("/other"))
            let sibling = try origin.request()
            try origin.frames.send(sample.frames(request.stream))
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("http_protocol_error") == true)
            try origin.frames.expectReset(request.stream, .protocolError)
            // Nobody else suffers by it.
            try origin.reply(to: sibling.stream, body: "well")
            #expect(try other.response().bodyText == "well")
            try origin.expectNoRequest()
            let records = try story.proxy.records(3)
            #expect(records.map { $0.count("attempts") } == [1, 1, 1])
        }
    }

    static let bodies = [
        Sample("more than content-length") {
            [
                .headers($0, [":status": "200", "content-length": "7"]),
                .data($0, "01234"), .data($0, "56789", end: true),
            ]
        },
        Sample("less than content-length") {
            [
                .headers($0, [":status": "200", "content-length": "7"]),
                .data($0, "01234", end: true),
            ]
        },
        Sample("trailers before content-length is there") {
            [
                .headers($0, [":status": "200", "content-length": "7"]),
                .data($0, "01234"), .headers($0, ["a": "b"], end: true),
            ]
        },
        Sample("trailers that don't end the stream") {
            [
                .headers($0, [":status": "200"]), .data($0, "01234"), .headers($0, ["a": "b"]),
            ]
        },
        Sample("a pseudo-field in trailers") {
            [
                .headers($0, [":status": "200"]), .data($0, "01234"),
                .headers($0, [":status": "200"], end: true),
            ]
        },
        Sample("upper case in trailers") {
            [
                .headers($0, [":status": "200"]), .data($0, "01234"),
                .headers($0, ["A": "b"], end: true),
            ]
        },
        Sample("trailers that are too large", "http_response_trailer_section_size") {
            [
                .headers($0, [":status": "200"]), .data($0, "01234"),
                .headers($0, ["a": String(repeating: "x", count: 9000)], end: true),
            ]
        },
    ]

    @Test(arguments: bodies, [true, false])
    func `a malformed body never ends cleanly`(sample: Sample, isHTTP2: Bool) async throws {
        try await UpstreamStory.run { story in
            let streams = try story.streams()
            let client = try story.client()
            let stream = isHTTP2 ? try streams.send(story.head()) : 0
            if !isHTTP2 { try client.send("GET", story.url()) }
            let origin = try story.accept()
            let request = try origin.request()
            try origin.frames.send(sample.frames(request.stream))
            if isHTTP2 {
                let response = try streams.frames.message(on: stream, to: "HEAD")
                let isBroken = response.status == 502 || response.reset == .internalError
                #expect(isBroken, "\(response)")
            } else {
                let head = try #require(try client.stream.head())
                if head.status != 502 {
                    let (rest, _) = try client.stream.untilEnd()
                    #expect(!String(decoding: rest, as: UTF8.self).contains("0\r\n\r\n"))
                    #expect(rest.count < 20)
                }
            }
            try origin.frames.expectReset(request.stream, .protocolError)
            let record = try story.proxy.record()
            #expect(record["outcome"] == "truncated" || record["outcome"] == "error")
            #expect(record["error.type"] == sample.errorType)
            // The connection lives.
            client.close()
            let next = try streams.send(story.head("GET", "/next"))
            try origin.reply(to: try origin.request().stream, body: "next")
            #expect(try streams.response(on: next).bodyText == "next")
        }
    }
}
