// Both sides of HTTP/2 joined in memory: what one says the other understands, however it is cut.
import LupinCore
import LupinWire
import Testing

struct HTTP2ConnectionTests {
    private static func server() -> HTTP2Connection { HTTP2Connection(.server, .standard) }
    private static func client() -> HTTP2Connection { HTTP2Connection(.client, .standard) }

    @Test func `a client's requests are understood however their bytes are cut`() {
        let client = Self.client()
        _ = client.ask(RequestHead(.get, "/a?b", [("X", "y"), ("Cookie", "c=1")]))
        let post = client.ask(RequestHead(.post, "/p"), framing: .chunked, acceptsTrailers: true)
        var wire = client.drained()
        wire += client.sent("one ", isLast: false, on: post)
        wire += client.sent("lamp", trailers: [("X-Sum", "8")], on: post)
        let put = client.ask(RequestHead(.put, "/q"), framing: .length(4))
        client.ping()
        wire += client.drained()
        client.reset(put, .cancel)
        client.goAway(isFinal: true)
        wire += client.drained()
        #expect(
            eventsOfEveryCut(of: wire, at: Self.server) == [
                "settings", "window 0",
                "request 1 ends GET absolute https a.test /a?b 1.1 none | x: y | cookie: c=1",
                "end 1",
                "request 3 POST absolute https a.test /p 1.1 chunked trailers | te: trailers",
                "data 3: one lamp", "end 3 | x-sum: 8",
                "request 5 PUT absolute https a.test /q 1.1 length(4) | content-length: 4",
                "closed 5 CANCEL by the peer", "goaway NO_ERROR",
            ]
        )
    }

    @Test func `a server's responses are understood however their bytes are cut`() {
        let (client, server) = (Self.client(), Self.server())
        let ask: (HTTP2Connection) -> [UInt8] = { client in
            for path in ["/1", "/3", "/5", "/7"] { _ = client.ask(RequestHead(.get, path)) }
            _ = client.ask(RequestHead(.head, "/9"))
            return client.drained()
        }
        server.take(ask(client))
        server.submitInterim(ResponseHead(status: 103), on: 1)
        server.answer(1, 200, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        var wire = server.drained()
        wire += server.sent("one ", isLast: false, on: 1)
        server.answer(3, 204, framing: .none)
        wire += server.drained()
        wire += server.sent("lamp", trailers: [("X-Sum", "8")], on: 1)
        server.answer(5, 200, framing: .length(4))
        wire += server.drained()
        wire += server.sent("full", on: 5)
        server.reset(7, .refusedStream)
        let head = ResponseHead(status: 200)
        server.submit(head, ResponseOptions(framing: .length(99)), hasBody: false, on: 9)
        wire += server.drained()
        let events = eventsOfEveryCut(of: wire) {
            let client = Self.client()
            _ = ask(client)
            return client
        }
        #expect(
            events == [
                "settings", "window 0",
                "response 1 103 <> 1.1 none",
                "response 1 200 <> 1.1 chunked | set-cookie: a=1 | set-cookie: b=2",
                "data 1: one ",
                "response 3 ends 204 <> 1.1 none", "end 3", "closed 3 NO_ERROR",
                "data 1: lamp", "end 1 | x-sum: 8", "closed 1 NO_ERROR",
                "response 5 200 <> 1.1 length(4) | content-length: 4",
                "data 5: full", "end 5", "closed 5 NO_ERROR",
                "closed 7 REFUSED_STREAM by the peer",
                "response 9 ends 200 <> 1.1 none tells 99 | content-length: 99", "end 9",
                "closed 9 NO_ERROR",
            ]
        )
    }

    @Test func `a body goes as far as the peer's window and on when it opens`() {
        let (client, server) = (Self.client(), Self.server())
        let stream = client.ask(RequestHead(.post, "/"), framing: .chunked)
        server.take(client.drained())
        client.take(server.drained())
        let window = server.windowBytes
        #expect(client.room(on: stream) == window)
        let body = [UInt8](repeating: 7, count: window + 10)
        var wire: [UInt8] = []
        let first = client.push(body.span, isLast: true, on: stream, into: &wire)
        #expect(first.taken == window)
        #expect(!first.isOver)
        server.take(wire)
        #expect(client.room(on: stream) == 0)
        server.consume(window, on: stream)
        #expect(events(of: [server.drained()[...]], at: client).contains("window \(stream)"))
        var rest: [UInt8] = []
        let second = client.push(
            body.span.extracting(window...),
            isLast: true,
            on: stream,
            into: &rest
        )
        #expect(second.taken == 10)
        #expect(second.isOver)
        #expect(events(of: [rest[...]], at: server).last == "end \(stream)")
    }

    @Test func `what nobody consumes holds up its stream and no other`() {
        let (client, server) = (Self.client(), Self.server())
        let streams = [0, 1].map { _ in client.ask(RequestHead(.post, "/"), framing: .chunked) }
        server.take(client.drained())
        client.take(server.drained())
        let body = [UInt8](repeating: 7, count: server.windowBytes)
        var wire: [UInt8] = []
        _ = client.push(body.span, isLast: false, on: streams[0], into: &wire)
        server.take(wire)
        client.take(server.drained())
        #expect(client.room(on: streams[0]) == 0)
        #expect(client.room(on: streams[1]) == server.windowBytes)
    }

    @Test func `the streams that a peer allows are counted`() {
        var few = HTTP2Parameters.standard
        few.limits.streams = 2
        let (client, server) = (Self.client(), HTTP2Connection(.server, few))
        client.take(server.drained())
        #expect(client.streamsLeft == 2)
        let first = client.ask(RequestHead(.get, "/"))
        #expect(client.streamsLeft == 1)
        server.take(client.drained())
        server.answer(first, 204, framing: .none)
        client.take(server.drained())
        #expect(client.streamsLeft == 2)
        server.goAway(isFinal: true)
        client.take(server.drained())
        #expect(client.streamsLeft == 0)
    }

    @Test func `GOAWAY closes the streams above its last one and no other`() {
        let (client, server) = (Self.client(), Self.server())
        _ = client.ask(RequestHead(.get, "/"))
        server.take(client.drained())
        _ = client.ask(RequestHead(.get, "/lost"))
        _ = client.drained()
        server.goAway(isFinal: true)
        let events = events(of: [server.drained()[...]], at: client)
        #expect(events.suffix(2) == ["goaway NO_ERROR", "closed 3 REFUSED_STREAM"])
        #expect(!client.isOver)
        server.answer(1, 204, framing: .none)
        client.take(server.drained())
        _ = client.drained()
        #expect(client.isOver)
    }

    @Test func `an extended CONNECT is a GET to who reads it`() {
        let (client, server) = (Self.client(), Self.server())
        #expect(!client.takesExtendedConnect)
        client.take(server.drained())
        #expect(client.takesExtendedConnect)
        let head = RequestHead(.get, "/chat", [("Sec-WebSocket-Key", "k"), ("X", "y")])
        _ = client.ask(head, protocolName: "websocket")
        let events = events(of: [client.drained()[...]], at: server)
        let text = "request 1 (websocket)  absolute https a.test /chat 1.1 none | x: y"
        #expect(events.last == text)
    }

    @Test func `bytes that are no HTTP 2 end the connection`() {
        let server = Self.server()
        let text = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n------------".utf8)
        let events = events(of: [text[...]], at: server)
        #expect(events.first?.hasPrefix("failure") == true || server.isOver || server.wantsWrite)
        let client = Self.client()
        _ = client.drained()
        client.take(Array("HTTP/1.1 400 Bad Request\r\n\r\n------".utf8))
        _ = client.drained()
        #expect(client.isOver)
    }
}
