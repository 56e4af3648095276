// Request bodies from HTTP/2 to an origin of HTTP/1.1: their lengths, ends and trailers.
import LupinTestKit
import Testing

struct UploadBridgeTests {
    private static func post(_ origin: PlayedOrigin, _ method: String = "POST") -> HTTP2Fields {
        .request(method, authority: origin.authority)
    }

    @Test func `a length that is known is kept`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = Self.post(origin) + ["content-length": "4"]
            let stream = try client.send(head, body: Array("body".utf8))
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Content-Length"] == "4")
            #expect(!request.isChunked)
            #expect(request.bodyText == "body")
            try far.reply()
            #expect(try client.response(on: stream).status == 200)
            #expect(try proxy.record()["http.request.body.size"] == "4")
        }
    }

    @Test func `a length that nobody knows is chunked`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(Self.post(origin))
            let far = try origin.accept()
            _ = try client.frames.send(.data(stream, "one "))
            var request = try far.requestHead()
            #expect(request["Transfer-Encoding"] == "chunked")
            try client.frames.send(.data(stream, "two "), .data(stream), .data(stream, end: true))
            try far.stream.body(of: &request)
            #expect(request.bodyText == "one two ")
            try far.reply()
            #expect(try client.response(on: stream).status == 200)
        }
    }

    @Test(arguments: ["POST", "PUT", "GET", "DELETE"])
    func `a body of nothing has a length or none`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let whole = try client.send(Self.post(origin, method))
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Content-Length"] == (method.hasPrefix("P") ? "0" : nil))
            #expect(!request.isChunked)
            try far.reply(body: "first")
            #expect(try client.response(on: whole).bodyText == "first")
            let open = try client.open(Self.post(origin, method))
            try client.frames.send(.data(open, end: true))
            #expect(try far.request().body.isEmpty)
            try far.reply(body: "second")
            #expect(try client.response(on: open).bodyText == "second")
        }
    }

    @Test func `trailers go up and down`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(
                Self.post(origin) + ["te": "trailers"],
                body: Array("up".utf8),
                trailers: ["x-up": "1", "cache-control": "no-store"]
            )
            let far = try origin.accept()
            let request = try far.request()
            #expect(request.bodyText == "up")
            #expect(request.trailer("x-up") == "1")
            #expect(request.trailer("cache-control") == nil)
            #expect(request["x-up"] == nil)
            try far.send(
                head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
                    + "4\r\ndown\r\n0\r\nX-Down: 2\r\nSet-Cookie: a\r\n\r\n"
            )
            let response = try client.response(on: stream)
            #expect(response.bodyText == "down")
            #expect(response.trailers["x-down"] == "2")
            #expect(response.trailers["set-cookie"] == nil)
            #expect(response["x-down"] == nil)
        }
    }

    @Test func `100 is asked for and passed on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(Self.post(origin) + ["expect": "100-continue"])
            let far = try origin.accept()
            var request = try far.requestHead()
            #expect(request["Expect"] == "100-continue")
            try far.send(head("HTTP/1.1 100 Continue"))
            #expect(try client.frames.head(on: stream)[":status"] == "100")
            try client.frames.send(.data(stream, "body", end: true))
            try far.stream.body(of: &request)
            #expect(request.bodyText == "body")
            try far.reply(body: "done")
            #expect(try client.response(on: stream).bodyText == "done")
        }
    }

    @Test func `interim responses come one by one`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            for link in ["<a>", "<b>"] {
                try far.send(head("HTTP/1.1 103 E", "Link: \(link)", "Connection: X", "X: y"))
                let early = try client.frames.head(on: stream)
                #expect(early[":status"] == "103")
                #expect(early["link"] == link)
                #expect(early["x"] == nil)
            }
            try far.reply(body: "done")
            #expect(try client.response(on: stream).bodyText == "done")
        }
    }

    @Test(arguments: [(413, "no"), (401, "")])
    func `an error before the end of the upload is whole, and the rest is not wanted`(
        status: Int,
        body: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(Self.post(origin))
            try client.frames.send(.data(stream, "some"))
            let far = try origin.accept()
            _ = try far.requestHead()
            try far.send(head("HTTP/1.1 \(status) S", "Content-Length: \(body.utf8.count)") + body)
            let response = try client.response(on: stream)
            #expect(response.status == status)
            #expect(response.bodyText == body)
            #expect(response.reset == nil)
            try client.endUnwanted(stream)
            try far.stream.socket.waitUntilClosedByPeer()
            try client.frames.expectAlive()
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }
}
