// RFC 9113 §8.2: names and values that no field may have, and fields that HTTP/2 has no place for.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let fieldValidity: [HTTP2Case] = badNames + badValues + goodFields

    private static let badNames: [HTTP2Case] = [
        badName("in upper case", "X-Upper"), badName("with one capital", "x-uppeR"),
        badName("of nothing", ""), badName("with a space", "x y"),
        badName("with a space at its end", "x "), badName("with a space before it", " x"),
        badName("with a tab", "x\ty"), badName("with a colon", "x:y"),
        badName("with a colon at its end", "x:"), badName("with CR", "x\ry"),
        badName("with LF", "x\ny"), badName("with NUL", "x\0y"),
        badName("with DEL", "x\u{7F}y"), badName("beyond ASCII", "é"),
        badName("with a quotation mark", "x\"y"), badName("with a parenthesis", "x(y"),
        badName("that is another line", "x: 1\r\nhost"),
    ]

    private static let badValues: [HTTP2Case] = [
        badValue("with CR", "a\rb"), badValue("with LF", "a\nb"), badValue("with NUL", "a\0b"),
        badValue("with CRLF", "a\r\nhost: evil"),
    ]

    private static let goodFields: [HTTP2Case] = [
        goodField("a value of nothing", "x-empty", ""),
        goodField("a value with blanks inside", "x-blanks", "a b\tc"),
        goodField("a value beyond ASCII", "x-text", "größer"),
        // Lupin cuts them, as curl and browsers do; RFC 9113 calls them malformed.
        goodField("a value with a space before it", "x-value", " a").forLupinAlone,
        goodField("a value with blanks behind it", "x-value", "a \t").forLupinAlone,
        goodField("a value of blanks", "x-value", " \t ").forLupinAlone,
        goodField("a name of all the signs", "x!#$%&'*+-.^_`|~09", "a"),
        .fine("a value that is no UTF-8", answered: 1) { target in
            let field = HPACK.literal(
                name: HPACK.string("x-octets"),
                value: HPACK.string(octets: [0x61, 0xFF, 0x80])
            )
            return [.headers(1, block: HPACK.block(target.get) + field, end: true)]
        },
    ]

    private static func badName(_ name: String, _ field: String) -> HTTP2Case {
        .malformedHead("a name \(name)") { target in target.get + [field: "value"] }
    }

    private static func badValue(_ name: String, _ value: String) -> HTTP2Case {
        .malformedHead("a value \(name)") { target in target.get + ["x-value": value] }
    }

    private static func goodField(_ name: String, _ field: String, _ value: String) -> HTTP2Case {
        .fine(name, answered: 1) { target in
            [.headers(1, target.get + [field: value], end: true)]
        }
    }

    static let connectionFields: [HTTP2Case] = [
        ofConnection("connection", "keep-alive"), ofConnection("connection", "x-other"),
        ofConnection("proxy-connection", "keep-alive"), ofConnection("keep-alive", "timeout=5"),
        ofConnection("transfer-encoding", "chunked"), ofConnection("transfer-encoding", "identity"),
        ofConnection("upgrade", "foo"), ofConnection("te", "gzip"),
        ofConnection("te", "trailers, deflate;q=0.5"),
        .fine("te: trailers", answered: 1) { target in
            [.headers(1, target.get + ["te": "trailers"], end: true)]
        },
        HTTP2Case("crumbs of a cookie reach the origin as one line (8_2_3)") { target in
            let client = try target.client()
            let crumbs: HTTP2Fields = ["cookie": "a=1", "x-between": "1", "cookie": "b=2"]
            let stream = try client.send(target.get + crumbs)
            try client.expectAnswer(on: stream)
            let text = target.origin?.receivedText.lowercased() ?? ""
            guard text.contains("\r\ncookie: a=1; b=2\r\n") else {
                throw SocketFailure("the origin got \(text)")
            }
        }.forLupinAlone,
    ]

    private static func ofConnection(_ name: String, _ value: String) -> HTTP2Case {
        .malformedHead("\(name): \(value)") { target in target.get + [name: value] }
    }
}

struct FieldConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a field that could be read in two ways makes a message malformed (8_2_1)`(
        route: HTTP2Route
    )
        async throws
    {
        try await route.play(HTTP2Case.fieldValidity)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `fields of the connection make a message malformed (8_2_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.connectionFields)
    }
}
