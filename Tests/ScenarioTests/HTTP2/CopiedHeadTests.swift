// What of an origin's heads and trailers reaches a client of HTTP/2: all that may, however long.
import LupinTestKit
import Testing

struct CopiedHeadTests {
    @Test func `a response head of nearly the largest size arrives`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            let value = String(repeating: "v", count: 250)
            let lines = (100..<349).map { "x-\($0): \(value)\r\n" }.joined()
            try far.send("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 2\r\n\r\nok")
            let response = try client.response(on: stream)
            #expect(response.status == 200)
            #expect(response.bodyText == "ok")
            for number in [100, 348] { #expect(response["x-\(number)"] == value) }
            #expect(response.fields.names.count { $0.hasPrefix("x-") } == 249)
        }
    }

    /// Fields that mean something else, or nothing, behind a body (RFC 9110 §6.5.1).
    private static let forbidden: HTTP2Fields = [
        "authorization": "Basic eA==", "set-cookie": "a=b", "cache-control": "no-store",
    ]

    @Test func `trailers keep what may stand there, and nothing else`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let stream = try client.send(
                story.head("POST") + ["te": "trailers"],
                body: Array("up".utf8),
                trailers: Self.forbidden + ["x-up": "1"]
            )
            let origin = try story.accept()
            let request = try origin.request()
            #expect(request.trailers == ["x-up": "1"])
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "down"))
            try origin.sendTrailers(
                request.stream,
                Self.forbidden + ["content-length": "4", "x-down": "2"]
            )
            let response = try client.response(on: stream)
            #expect(response.bodyText == "down")
            #expect(response.trailers == ["x-down": "2"])
        }
    }

    @Test(arguments: [200, 404, 500])
    func `the answer to HEAD says how long the one to GET is`(status: Int) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("HEAD", story.url())
            let origin = try story.accept()
            let stream = try origin.request().stream
            try origin.sendHead(stream, status, ["content-length": "1234"], end: true)
            let response = try client.response(to: "HEAD")
            #expect(response.status == status)
            #expect(response["Content-Length"] == "1234")
        }
    }
}
