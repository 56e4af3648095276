// What of a message passes between a client of HTTP/1.1 and an origin of HTTP/2, head to trailers.
import LupinTestKit
import Testing

struct UpstreamMessageTests {
    @Test func `a request has its pseudo-fields and loses what is the connection's`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(
                "GET",
                story.url("/a/b?c=d"),
                [
                    "Connection: X-Hop, keep-alive", "X-Hop: 1", "Keep-Alive: timeout=5",
                    "Proxy-Connection: keep-alive", "TE: trailers, deflate", "Accept: */*",
                    "Cookie: a=1; b=2",
                ]
            )
            let origin = try story.accept()
            let request = try origin.request()
            #expect(request.method == "GET")
            #expect(request[":scheme"] == "https")
            #expect(request[":authority"] == story.authority)
            #expect(request.path == "/a/b?c=d")
            #expect(request["accept"] == "*/*")
            #expect(request["cookie"] == "a=1; b=2")
            #expect(request["te"] == "trailers")
            for name in ["host", "connection", "x-hop", "keep-alive", "proxy-connection"] {
                #expect(request[name] == nil, "\(name)")
            }
            try origin.reply(to: request.stream, 200, ["set-cookie": "a=1", "set-cookie": "b=2"])
            let response = try client.response()
            #expect(response.values("set-cookie") == ["a=1", "b=2"])
            #expect(response["via"]?.hasPrefix("2 ") == true)
        }
    }

    @Test func `blanks at the ends of values are cut, in heads and trailers`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("GET", story.url(), ["TE: trailers"])
            let origin = try story.accept()
            let request = try origin.request()
            let head: HTTP2Fields = [":status": "200", "link": " <a>; rel=b\t ", "x-blank": " "]
            try origin.frames.send(
                .headers(request.stream, head),
                .data(request.stream, "one"),
                .headers(request.stream, ["x-sum": " 3 "], end: true)
            )
            let response = try client.response()
            #expect(response["link"] == "<a>; rel=b" && response["x-blank"] == "")
            #expect(response.bodyText == "one" && response.trailers.map(\.value) == ["3"])
        }
    }

    @Test func `a chunked upload has no length, and its trailers arrive`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let lines = ["POST \(story.url()) HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"]
            let body = "4\r\none \r\n4\r\nlamp\r\n0\r\nX-Sum: 8\r\n\r\n"
            try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
            let origin = try story.accept()
            let request = try origin.request()
            #expect(request["content-length"] == nil)
            #expect(request["transfer-encoding"] == nil)
            #expect(request.bodyText == "one lamp")
            #expect(request.trailers["x-sum"] == "8")
        }
    }

    @Test func `trailers of a response reach a client that takes them`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("GET", story.url(), ["TE: trailers"])
            let origin = try story.accept()
            let request = try origin.request()
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "body"))
            try origin.sendTrailers(request.stream, ["x-sum": "4"])
            let response = try client.response()
            #expect(response.isChunked)
            #expect(response.bodyText == "body")
            #expect(response.trailer("X-Sum") == "4")
        }
    }

    @Test(arguments: [204, 304])
    func `a response without a body by its status`(status: Int) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            let fields: HTTP2Fields =
                status == 304 ? ["content-length": "9", "etag": "\"a\""] : [:]
            try origin.sendHead(request.stream, status, fields, end: true)
            let response = try client.response()
            #expect(response.status == status)
            #expect(response["content-length"] == (status == 304 ? "9" : nil))
            #expect(response["transfer-encoding"] == nil)
            try client.send("GET", story.url())
            try origin.reply(to: try origin.request().stream, body: "next")
            #expect(try client.response().bodyText == "next")
        }
    }

    @Test func `HEAD has the length of what it has not`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked("HEAD", by: client)
            try origin.sendHead(request.stream, 200, ["content-length": "12345"], end: true)
            #expect(try client.response(to: "HEAD")["content-length"] == "12345")
            try client.send("GET", story.url())
            try origin.reply(to: try origin.request().stream, body: "next")
            #expect(try client.response().bodyText == "next")
        }
    }

    @Test func `an empty DATA frame may end a response, or its head does`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, first) = try story.asked(by: client)
            try origin.sendHead(first.stream)
            try origin.frames.send(.data(first.stream, end: true))
            #expect(try client.response().body.isEmpty)
            try client.send("GET", story.url())
            try origin.sendHead(try origin.request().stream, end: true)
            let second = try client.response()
            #expect(second.body.isEmpty)
            #expect(second["content-length"] == "0")
        }
    }

    @Test func `padding is no part of a body`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            try origin.sendHead(request.stream, 200, ["content-length": "8"])
            try origin.frames.send(
                .data(request.stream, Array("one ".utf8), padding: 200),
                .data(request.stream, Array("lamp".utf8), end: true, padding: 0)
            )
            #expect(try client.response().bodyText == "one lamp")
        }
    }

    @Test func `without a length HTTP 1_1 gets chunks and HTTP 1_0 the end`() async throws {
        try await UpstreamStory.run { story in
            let (new, old) = (try story.client(), try story.client())
            let (origin, request) = try story.asked(by: new)
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "body", end: true))
            let response = try new.response()
            #expect(response.isChunked)
            #expect(response.bodyText == "body")
            try old.send("GET \(story.url()) HTTP/1.0\r\nHost: a\r\n\r\n")
            let second = try origin.request()
            try origin.sendHead(second.stream)
            try origin.frames.send(
                .data(second.stream, "bo"),
                .data(second.stream, "dy", end: true)
            )
            let ended = try old.response()
            #expect(!ended.isChunked)
            #expect(ended.bodyText == "body")
            #expect(try old.waitForEnd() == .finished)
        }
    }

    @Test func `interim responses come before the final one, in order`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            for link in ["</a>", "</b>"] {
                try origin.sendHead(request.stream, 103, ["link": link])
            }
            #expect(try client.interimResponse()["link"] == "</a>")
            #expect(try client.interimResponse()["link"] == "</b>")
            try origin.reply(to: request.stream, body: "final")
            #expect(try client.response().bodyText == "final")
        }
    }

    @Test func `100 of the origin lets the body come`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(
                "POST \(story.url()) HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            let origin = try story.accept()
            let head = try origin.requestHead()
            #expect(head["expect"] == "100-continue")
            try origin.sendHead(head.stream, 100)
            #expect(try client.interimResponse().status == 100)
            try client.send("body")
            #expect(try origin.rest(of: head).bodyText == "body")
            try origin.reply(to: head.stream, 201)
            #expect(try client.response(to: "POST").status == 201)
        }
    }

    @Test func `a refusal instead of 100 passes, and the stream is let go`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(
                "POST \(story.url()) HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            let origin = try story.accept()
            let head = try origin.requestHead()
            try origin.reply(to: head.stream, 417, body: "no")
            #expect(try client.response(to: "POST").status == 417)
            try origin.frames.expectReset(head.stream, .cancel, .noError)
            try origin.expectNoRequest()
        }
    }

    @Test(arguments: [true, false])
    func `a client that leaves has its stream cancelled, and no other`(
        hasHead: Bool
    ) async throws {
        try await UpstreamStory.run { story in
            let (client, other) = (try story.client(), try story.client())
            let (origin, request) = try story.asked(by: client)
            try other.send("GET", story.url("/other"))
            let sibling = try origin.request()
            if hasHead {
                try origin.sendHead(request.stream)
                try origin.frames.send(.data(request.stream, "some"))
                _ = try client.stream.head()
            }
            client.close()
            try origin.frames.expectReset(request.stream, .cancel)
            try origin.reply(to: sibling.stream, body: "well")
            #expect(try other.response().bodyText == "well")
            let records = try story.proxy.records(2)
            #expect(Set(records.map { $0["outcome"] }) == ["aborted", "ok"])
        }
    }
}
