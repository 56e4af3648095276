// HTTP inside an intercepted CONNECT: every kind of message gets through as it does in clear.
import LupinTestKit
import Testing

struct InterceptedMessageTests {
    @Test func `requests follow one another on one connection, pipelined ones too`() async throws {
        try await Inside.run { inside in
            for path in ["/1", "/2", "/3"] { try inside.send("GET", path) }
            let far = try inside.accept()
            for path in ["/1", "/2", "/3"] {
                #expect(try far.request().target == path)
                try far.reply(body: "answer to \(path)")
                #expect(try inside.client.response().bodyText == "answer to \(path)")
            }
            #expect(!inside.origin.hasWaiting)
        }
    }

    @Test func `bodies with a length and in chunks go up and down`() async throws {
        try await Inside.run { inside in
            try inside.send("POST", "/", "Content-Length: 5", body: "hello")
            let far = try inside.accept()
            #expect(try far.request().bodyText == "hello")
            let answer = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
            try far.send(answer + "3\r\nabc\r\n0\r\n\r\n")
            #expect(try inside.client.response().bodyText == "abc")
            try inside.send(
                "POST",
                "/",
                "Transfer-Encoding: chunked",
                "TE: trailers",
                "Connection: TE",
                body: "5\r\nworld\r\n0\r\nX-Sum: up\r\n\r\n"
            )
            let request = try far.request()
            #expect(request.bodyText == "world")
            #expect(request.isChunked)
            #expect(request.trailer("X-Sum") == "up")
            try far.send(
                head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum")
                    + "4\r\ndone\r\n0\r\nX-Sum: down\r\n\r\n"
            )
            let response = try inside.client.response()
            #expect(response.bodyText == "done")
            #expect(response.trailer("X-Sum") == "down")
        }
    }

    @Test func `a body that ends with the connection ends well behind close_notify`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nuntil the end")
            far.shutdownWrite()
            let response = try inside.client.response()
            #expect(response.bodyText == "until the end")
            #expect(response.isChunked)
            #expect(try inside.proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `100 and 103 come before the final response`() async throws {
        try await Inside.run { inside in
            try inside.send("PUT", "/", "Expect: 100-continue", "Content-Length: 5")
            let far = try inside.accept()
            var request = try far.requestHead()
            try far.send(head("HTTP/1.1 100 Continue"))
            #expect(try inside.client.interimResponse().status == 100)
            try inside.client.send("hello")
            try far.stream.body(of: &request)
            try far.send(head("HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload"))
            try far.reply(201)
            let response = try inside.client.response()
            #expect(response.status == 201)
            #expect(response.interim.map(\.status) == [103])
        }
    }

    @Test func `HEAD, 204 and 304 have no body and the connection goes on`() async throws {
        try await Inside.run { inside in
            try inside.send("HEAD")
            let far = try inside.accept()
            try far.request()
            try far.send(head("HTTP/1.1 200 OK", "Content-Length: 1000"))
            #expect(try inside.client.response(to: "HEAD")["Content-Length"] == "1000")
            for status in [204, 304] {
                try inside.send()
                try far.request()
                try far.send(head("HTTP/1.1 \(status) None", "ETag: \"x\""))
                #expect(try inside.client.response().status == status)
            }
            try inside.send()
            try far.request()
            try far.reply(body: "still here")
            #expect(try inside.client.response().bodyText == "still here")
        }
    }

    @Test func `long bodies go both ways whole`() async throws {
        try await Inside.run { inside in
            let count = 2 << 20
            try inside.send("POST", "/", "Content-Length: \(count)")
            let near = inside.client.stream
            let upload = TestThread { try near.socket.send(pattern: 1, count: count) }
            let far = try inside.accept()
            _ = try far.requestHead()
            #expect(try far.stream.bytes(count) == BytePattern.bytes(1, count))
            try upload.join()
            let download = TestThread {
                try far.send(head("HTTP/1.1 200 OK", "Content-Length: \(count)"))
                try far.stream.socket.send(pattern: 2, count: count)
            }
            #expect(try inside.client.response().body == BytePattern.bytes(2, count))
            try download.join()
        }
    }

    @Test func `a WebSocket opens inside, and its end passes on`() async throws {
        try await Inside.run { inside in
            try inside.send(
                "GET",
                "/chat",
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
            )
            let far = try inside.accept()
            #expect(try far.request()["Upgrade"] == "websocket")
            try far.send(
                head(
                    "HTTP/1.1 101 Switching Protocols",
                    "Connection: Upgrade",
                    "Upgrade: websocket"
                ) + "first frame"
            )
            #expect(try inside.client.response().status == 101)
            #expect(try inside.client.stream.text(11) == "first frame")
            try inside.client.send("a reply")
            #expect(try far.stream.text(7) == "a reply")
            inside.client.shutdownWrite()
            #expect(try far.waitForEnd() == .finished)
            try far.send("bye")
            far.shutdownWrite()
            #expect(try inside.client.stream.text(3) == "bye")
            #expect(try inside.client.waitForEnd() == .finished)
            let record = try inside.proxy.record()
            #expect(record["mode"] == "upgrade")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `Alt-Svc would lead around the proxy, so it is left out`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send(head("HTTP/1.1 103 Early Hints", "Alt-Svc: h3=\":443\"", "X-Kept: 1"))
            try far.reply(200, "Alt-Svc: h3=\":443\"; ma=86400", "X-Kept: 2")
            let response = try inside.client.response()
            #expect(response["Alt-Svc"] == nil)
            #expect(response["X-Kept"] == "2")
            #expect(response.interim.first?["Alt-Svc"] == nil)
            #expect(response.interim.first?["X-Kept"] == "1")
        }
    }

    @Test func `in clear Alt-Svc stays`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(200, "Alt-Svc: h3=\":443\"")
            }
            #expect(try proxy.client().get(origin.url())["Alt-Svc"] == "h3=\":443\"")
        }
    }
}
