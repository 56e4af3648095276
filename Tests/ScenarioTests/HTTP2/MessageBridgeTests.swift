// Messages from HTTP/2 to an origin of HTTP/1.1: what arrives, and what of it belongs to neither.
import LupinTestKit
import Testing

struct MessageBridgeTests {
    @Test func `method, target and fields arrive`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(
                "PATCH",
                authority: origin.authority,
                path: "/a/b?c=d&e"
            )
            let stream = try client.send(head + ["x-a": "1", "accept": "*/*", "x-a": "2"])
            let far = try origin.accept()
            let request = try far.request()
            #expect(request.startLine == "PATCH /a/b?c=d&e HTTP/1.1")
            #expect(request.values("Host") == [origin.authority])
            #expect(request.values("x-a") == ["1", "2"])
            #expect(request["accept"] == "*/*")
            #expect(request["Content-Length"] == "0")
            #expect(!request.names.contains { $0.hasPrefix(":") })
            try far.reply(201, "X-B: 1", "x-b: 2", "Set-Cookie: a", "Set-Cookie: b", body: "made")
            let response = try client.response(on: stream)
            #expect(response.status == 201)
            #expect(response.fields.values("x-b") == ["1", "2"])
            #expect(response.fields.values("set-cookie") == ["a", "b"])
            #expect(response["content-length"] == "4")
            #expect(response.bodyText == "made")
            #expect(response["date"] != nil)
        }
    }

    @Test func `crumbs of Cookie become one line`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let crumbs: HTTP2Fields = ["cookie": "a=b", "x": "y", "cookie": "c=d", "cookie": "e=f"]
            try client.send(.request(authority: origin.authority) + crumbs)
            let request = try origin.accept().request()
            #expect(request.values("Cookie") == ["a=b; c=d; e=f"])
        }
    }

    @Test func `fields of one connection stay on it`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let secret: HTTP2Fields = ["te": "trailers", "proxy-authorization": "Basic eDp5"]
            let stream = try client.send(.request(authority: origin.authority) + secret)
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["TE"] == "trailers")
            #expect(request["Connection"] == "TE")
            #expect(request["Proxy-Authorization"] == nil)
            try far.reply(
                200,
                "Connection: X-Private",
                "X-Private: 1",
                "Keep-Alive: timeout=5",
                "Proxy-Connection: keep-alive",
                "Upgrade: other",
                "X-Public: 1"
            )
            let response = try client.response(on: stream)
            let gone = ["connection", "x-private", "keep-alive", "proxy-connection", "upgrade"]
            for name in gone { #expect(response[name] == nil) }
            #expect(response["x-public"] == "1")
        }
    }

    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 205)])
    func `responses without a body end with their heads`(
        method: String,
        status: Int
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(method, authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            let length =
                status == 204
                ? "X: y"
                : status == 205
                    ? "Content-Length: 0"
                    : "Content-Length: 42"
            try far.send(head("HTTP/1.1 \(status) S", length))
            guard case .fields(_, let fields, let ends) = try client.frames.part(of: stream) else {
                throw SocketFailure("no head")
            }
            #expect(fields[":status"] == "\(status)")
            #expect(ends)
            let isTold = method == "HEAD" || status == 304
            #expect(fields["content-length"] == (isTold ? "42" : status == 205 ? "0" : nil))
            // The connection to the origin serves the next one.
            let next = try client.send(.request(authority: origin.authority, path: "/next"))
            #expect(try far.request().target == "/next")
            try far.reply(body: "next")
            #expect(try client.response(on: next).bodyText == "next")
        }
    }

    @Test(arguments: [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "Connection: close\r\n\r\nhello",
    ])
    func `a body of any framing ends in order`(rest: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n" + rest)
            far.shutdownWrite()
            let response = try client.response(on: stream)
            #expect(response.bodyText == "hello")
            #expect(response.reset == nil)
            #expect(response["transfer-encoding"] == nil)
        }
    }
}
