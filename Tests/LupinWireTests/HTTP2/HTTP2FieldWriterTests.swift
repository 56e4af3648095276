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

    /// Bytes that the second of two equal requests takes.
    private func bytesOfSecond(_ name: String, _ value: String) -> Int {
        let client = HTTP2Connection(.client, .standard)
        for _ in 0..<2 {
            _ = client.ask(RequestHead(.get, "/", [(name, value)]))
            if client.streamsLeft > 0, client.openStreams == 1 { _ = client.drained() }
        }
        return client.drained().count
    }

    @Test(arguments: ["Authorization", "Proxy-Authorization", "Cookie"])
    func `secrets are in no table, so a second request is as long as the first`(name: String) {
        let value = "se=0123456789abcde"
        let plain = bytesOfSecond("X-Plain-Field", value)
        #expect(bytesOfSecond(name, value) > plain + 10)
    }

    @Test func `a long cookie may be kept`() {
        let value = "session=0123456789abcdef0123456789abcdef"
        #expect(bytesOfSecond("Cookie", value) == bytesOfSecond("X-Plain-Field", value))
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
