// What a request looks like when it goes on to the next hop.
import LupinCore
import LupinWire
import Testing

private func parse(_ text: String) throws -> ParsedRequest {
    let parser = RequestParser(limits: HTTP1Limits())
    _ = try parser.feed(Array(text.utf8).span)
    try #require(parser.isComplete)
    return parser.take()
}

private func send(_ head: RequestHead, _ options: borrowing RequestOptions) -> String {
    var output = Array("before|".utf8)
    RequestSerializer.append(head, options, to: &output)
    return String(decoding: output.dropFirst(7), as: UTF8.self)
}

struct RequestSerializerTests {
    @Test func `a request is said anew with one Host first and one framing field`() throws {
        let parsed = try parse(
            "POST http://a.example/x?y HTTP/1.1\r\nA: 1\r\nB: 2\r\nhost: b.example\r\n"
                + "C:3\r\nD:  4 \r\nContent-Length: 05\r\nE: 5\r\nX-Hop: 6\r\nVia: 1.0 p\r\n"
                + "F: 7\r\n\r\n"
        )
        parsed.head.fields.lines[7].isHopByHop = true
        parsed.head.fields.add(name: "Added", value: "8")
        let options = RequestOptions(
            target: .origin,
            authority: "a.example",
            framing: parsed.framing,
            via: ViaMember(.http11, pseudonym: "lupin-12345678")
        )
        #expect(
            send(parsed.head, options) == """
                POST /x?y HTTP/1.1\r
                Host: a.example\r
                A: 1\r
                B: 2\r
                C: 3\r
                D: 4\r
                E: 5\r
                Via: 1.0 p\r
                F: 7\r
                Added: 8\r
                Content-Length: 5\r
                Via: 1.1 lupin-12345678\r
                \r

                """
        )
    }

    @Test(
        arguments: [
            ("GET / HTTP/1.1", .origin, "/"),
            ("GET http://a HTTP/1.1", .origin, "/"),
            ("GET http://a?q HTTP/1.1", .origin, "/?q"),
            ("GET http://a?q HTTP/1.1", .absolute(.http), "http://a:81/?q"),
            ("GET / HTTP/1.1", .absolute(.https), "https://a:81/"),
            ("GET http://a HTTP/1.1", .absolute(.http), "http://a:81/"),
            ("OPTIONS * HTTP/1.1", .origin, "*"),
            ("OPTIONS * HTTP/1.1", .absolute(.http), "http://a:81"),
            ("OPTIONS http://a HTTP/1.1", .origin, "*"),
            ("OPTIONS http://a HTTP/1.1", .absolute(.http), "http://a:81"),
            ("OPTIONS http://a/ HTTP/1.1", .origin, "/"),
            ("CONNECT a:443 HTTP/1.1", .authority, "a:81"),
            ("x-Y!z /p HTTP/1.1", .origin, "/p"),
        ] as [(String, RequestOptions.Target, String)]
    )
    func `the target has the form that the next hop needs`(
        line: String,
        target: RequestOptions.Target,
        written: String
    ) throws {
        let parsed = try parse("\(line)\r\nHost: a\r\n\r\n")
        let options = RequestOptions(target: target, authority: "a:81", framing: .none)
        let method = String(line.prefix { $0 != " " })
        #expect(send(parsed.head, options) == "\(method) \(written) HTTP/1.1\r\nHost: a:81\r\n\r\n")
    }

    @Test(
        arguments: [
            (.none, ""), (.length(0), "Content-Length: 0\r\n"),
            (.length(9_223_372_036_854_775_807), "Content-Length: 9223372036854775807\r\n"),
            (.length(10), "Content-Length: 10\r\n"), (.chunked, "Transfer-Encoding: chunked\r\n"),
        ] as [(BodyFraming, String)]
    )
    func `framing is said once, whatever the client said`(
        framing: BodyFraming,
        line: String
    ) throws {
        let parsed = try parse("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n")
        let options = RequestOptions(target: .origin, authority: "a", framing: framing)
        #expect(send(parsed.head, options) == "PUT / HTTP/1.1\r\nHost: a\r\n\(line)\r\n")
    }

    @Test(
        arguments: [
            (nil, false, false, ""), (nil, false, true, "Connection: close\r\n"),
            (nil, true, false, "TE: trailers\r\nConnection: TE\r\n"),
            (nil, true, true, "TE: trailers\r\nConnection: close, TE\r\n"),
            ("websocket", false, false, "Upgrade: websocket\r\nConnection: Upgrade\r\n"),
            (
                "websocket", true, false,
                "TE: trailers\r\nUpgrade: websocket\r\nConnection: Upgrade, TE\r\n"
            ),
        ] as [(String?, Bool, Bool, String)]
    )
    func `Connection names what it must`(
        upgrade: String?,
        acceptsTrailers: Bool,
        closes: Bool,
        lines: String
    ) throws {
        var options = RequestOptions(target: .origin, authority: "a", framing: .none)
        options.upgrade = upgrade
        options.acceptsTrailers = acceptsTrailers
        options.closes = closes
        options.proxyAuthorization = "Basic eDp5"
        let parsed = try parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(
            send(parsed.head, options)
                == "GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic eDp5\r\n\(lines)\r\n"
        )
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n",
        "PROPFIND /x?y=%20 HTTP/1.1\r\nHost: a\r\nEmpty: \r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nX: \u{E9}\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func `a canonical request comes out as it went in`(sample: String) throws {
        let parsed = try parse(sample)
        let options = RequestOptions(target: .origin, authority: "a", framing: parsed.framing)
        #expect(send(parsed.head, options) == sample)
    }

    @Test(arguments: [("1.0", ""), ("1.1", "Expect: 100-continue\r\n")])
    func `an expectation is passed on only where it counts`(version: String, line: String) throws {
        let parsed = try parse("PUT / HTTP/\(version)\r\nHost: a\r\nExpect: 100-continue\r\n\r\n")
        let options = RequestOptions(target: .origin, authority: "a", framing: .none)
        #expect(send(parsed.head, options) == "PUT / HTTP/1.1\r\nHost: a\r\n\(line)\r\n")
    }
}
