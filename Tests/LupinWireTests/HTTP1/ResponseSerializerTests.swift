// What a response looks like when it goes on to the client.
import LupinCore
import LupinWire
import Testing

private func parse(_ text: String, to method: Method = .get) throws -> ParsedResponse {
    let parser = ResponseParser(limits: HTTP1Limits())
    _ = try parser.feed(Array(text.utf8).span, requestMethod: method)
    try #require(parser.isComplete)
    return parser.take()
}

private func send(_ head: ResponseHead, _ options: borrowing ResponseOptions) -> String {
    var output: [UInt8] = []
    ResponseSerializer.append(head, options, to: &output)
    return String(decoding: output, as: UTF8.self)
}

struct ResponseSerializerTests {
    @Test func `a response is said anew with one framing field and a Date`() throws {
        let parsed = try parse(
            "HTTP/1.0 200 Fine\r\nServer: s\r\nContent-Length: 5, 5\r\nX-Hop: 1\r\nA : b\r\n c\r\n"
                + "Via: 1.1 p\r\n\r\n"
        )
        parsed.head.fields.lines[2].isHopByHop = true
        var options = ResponseOptions(framing: parsed.framing)
        options.date = "Sat, 21 Nov 2026 00:00:00 GMT"
        options.via = ViaMember(.http10, pseudonym: "lupin-12345678")
        options.persistence = .close
        #expect(
            send(parsed.head, options) == """
                HTTP/1.1 200 Fine\r
                Server: s\r
                A: b   c\r
                Via: 1.1 p\r
                Content-Length: 5\r
                Date: Sat, 21 Nov 2026 00:00:00 GMT\r
                Via: 1.0 lupin-12345678\r
                Connection: close\r
                \r

                """
        )
    }

    @Test func `a Date of the origin is left alone`() throws {
        let sample = "HTTP/1.1 404 Not Found\r\nDate: then\r\nContent-Length: 0\r\n\r\n"
        let parsed = try parse(sample)
        var options = ResponseOptions(framing: parsed.framing)
        options.date = "now"
        #expect(send(parsed.head, options) == sample)
    }

    @Test(
        arguments: [
            (100, .length(5), ""), (103, .chunked, ""), (204, .length(0), ""), (204, .chunked, ""),
            (200, .none, ""), (200, .untilClose, ""), (200, .length(5), "Content-Length: 5\r\n"),
            (304, .length(5), "Content-Length: 5\r\n"),
            (200, .chunked, "Transfer-Encoding: chunked\r\n"),
            (205, .length(0), "Content-Length: 0\r\n"),
        ] as [(UInt16, BodyFraming, String)]
    )
    func `a status that has no body says nothing of one`(
        status: UInt16,
        framing: BodyFraming,
        line: String
    ) {
        let head = ResponseHead(status: status)
        let phrase = StatusPhrases.phrase(status)
        #expect(!phrase.isEmpty)
        #expect(
            send(head, ResponseOptions(framing: framing))
                == "HTTP/1.1 \(status) \(phrase)\r\n\(line)\r\n"
        )
    }

    @Test func `the length of a HEAD response is sent on`() throws {
        let parsed = try parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", to: .head)
        let framing = parsed.contentLength.map(BodyFraming.length) ?? .none
        #expect(
            send(parsed.head, ResponseOptions(framing: framing))
                == "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
        )
    }

    @Test func `an upgrade and an HTTP/1.0 client get their Connection`() {
        var upgrade = ResponseOptions(framing: .none)
        upgrade.upgrade = "websocket"
        #expect(
            send(ResponseHead(status: 101), upgrade)
                == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                + "Connection: Upgrade\r\n\r\n"
        )
        var old = ResponseOptions(framing: .length(0))
        old.persistence = .keepAlive
        #expect(
            send(ResponseHead(status: 299), old)
                == "HTTP/1.1 299 \r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"
        )
    }
}
