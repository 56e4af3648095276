// What of a head goes into a header block, what stays behind, and what no table may keep.
import LupinCore
import LupinWire
import Testing

struct HTTP2FieldWriterTests {
    /// The request as a server reads it.
    private func read(_ head: RequestHead, _ options: borrowing RequestOptions) -> String {
        let client = HTTP2Connection(.client, .standard)
        _ = client.submit(head, options)
        let server = HTTP2Connection(.server, .standard)
        let events = events(of: [client.drained()[...]], at: server)
        return events.first { $0.hasPrefix("request") } ?? "\(events)"
    }

    private var options: RequestOptions {
        RequestOptions(target: .origin, authority: "a.test", framing: .none)
    }

    @Test func `what HTTP 2 says by other means stays behind`() {
        let head = RequestHead(
            .get,
            "/",
            [
                ("Host", "b.test"), ("Connection", "x"), ("Keep-Alive", "5"), ("TE", "gzip"),
                ("Proxy-Connection", "close"), ("Transfer-Encoding", "chunked"),
                ("Upgrade", "h2c"), ("HTTP2-Settings", "AAAA"), ("Content-Length", "7"),
                ("Accept", "*/*"),
            ]
        )
        #expect(
            read(head, options)
                == "request 1 ends GET absolute https a.test / 1.1 none | accept: */*"
        )
    }

    @Test func `framing, TE and Via are said anew`() {
        var options = options
        options.framing = .length(7)
        options.acceptsTrailers = true
        options.via = ViaMember(.http11, pseudonym: "lupin")
        let text = read(RequestHead(.post, "/"), options)
        #expect(text.hasSuffix("| content-length: 7 | te: trailers | via: 1.1 lupin"))
    }

    @Test func `an empty path is a slash, and an asterisk for OPTIONS`() {
        var head = RequestHead(.get, "/")
        head.pathAndQuery = .empty
        #expect(read(head, options).contains("a.test / 1.1"))
        head.method = .options
        #expect(read(head, options).contains("OPTIONS"))
    }

    @Test func `names are sent in lower case and values as they are`() {
        let text = read(RequestHead(.get, "/", [("X-Mixed-Case", "VaLuE")]), options)
        #expect(text.hasSuffix("| x-mixed-case: VaLuE"))
    }

    /// Bytes that each of several requests with one field takes.
    private func bytes(_ name: String, _ values: [String]) -> [Int] {
        let client = HTTP2Connection(.client, .standard)
        _ = client.drained()
        return values.map { value in
            _ = client.ask(RequestHead(.get, "/", [(name, value)]))
            return client.drained().count
        }
    }

    /// Bytes that the third of equal requests takes: the second one fills the table.
    private func bytesOfThird(_ name: String, _ value: String) -> Int {
        bytes(name, [value, value, value])[2]
    }

    @Test(arguments: ["Authorization", "Proxy-Authorization", "Cookie"])
    func `secrets are in no table, so a third request is as long as the first`(name: String) {
        let value = "se=0123456789abcde"
        let plain = bytesOfThird("X-Plain-Field", value)
        #expect(bytesOfThird(name, value) > plain + 10)
    }

    @Test func `a field gets a place in the table when it is sent again`() {
        let value = "0123456789abcdef0123456789abcdef"
        let same = bytes("X-Field", Array(repeating: value, count: 4))
        #expect(same[2] < same[0] - 20)
        #expect(same[3] == same[2])
        // Two values in turn both get one.
        let other = String(value.reversed())
        let turns = bytes("X-Field", [value, other, value, other, value, other])
        #expect(turns[4] < turns[0] - 20)
        #expect(turns[5] == turns[4])
    }

    @Test func `what is different each time leaves what repeats in its place`() {
        let client = HTTP2Connection(.client, .standard)
        let tenant = ("X-Tenant", "0123456789abcdef0123456789abcdef")
        // The table has room for some 60 IDs.
        let counts = (0..<300).map { i in
            let id = ("X-Request-Id", String(repeating: "\(100 + i)", count: 9))
            _ = client.ask(RequestHead(.get, "/", [tenant, id]))
            return client.drained().count
        }
        #expect(counts[299] < counts[1] - 20)
        #expect(counts[299] == counts[298])
    }

    @Test func `a field that came without a place in a table goes on without one`() throws {
        var head = RequestHead(
            .get,
            "/",
            [("X-Plan", "a plan that nobody may guess"), ("X-Open", "a word"), ("Cookie", "a=1")]
        )
        head.fields.lines[0].isNeverIndexed = true
        let server = HTTP2Connection(.server, .standard)
        let sender = HTTP2Connection(.client, .standard)
        // The second time, what may have a place in the table gets one.
        _ = sender.submit(head, options)
        _ = sender.submit(head, options)
        try server.receive(sender.drained().span, now: 0)
        var received: [RequestHead] = []
        while let event = server.nextEvent() {
            if case .request(_, let request, _) = event { received.append(request.head) }
        }
        let read = try #require(received.last)
        #expect(read.fields.lines.map(\.isNeverIndexed) == [true, false, true])
        // However often it is sent.
        let client = HTTP2Connection(.client, .standard)
        let counts = (0..<4).map { _ in
            _ = client.submit(read, options)
            return client.drained().count
        }
        let plain = bytes("X-Open", Array(repeating: "a word", count: 4))
        #expect(counts[3] > plain[3] + 30)
    }

    @Test func `a long cookie may be kept`() {
        let value = "session=0123456789abcdef0123456789abcdef"
        #expect(bytesOfThird("Cookie", value) == bytesOfThird("X-Plain-Field", value))
    }

    @Test func `a response says its length and no framing`() {
        let client = HTTP2Connection(.client, .standard)
        let server = HTTP2Connection(.server, .standard)
        _ = client.ask(RequestHead(.get, "/"))
        server.take(client.drained())
        server.answer(
            1,
            200,
            [("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Content-Length", "9")],
            framing: .length(4)
        )
        let events = events(of: [server.drained()[...]], at: client)
        #expect(events.last == "response 1 200 <> 1.1 length(4) | content-length: 4")
    }
}
