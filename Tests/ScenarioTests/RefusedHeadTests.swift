// HEAD whose head is refused: no body answers it (RFC 9110 §9.3.2), as soon as the method was read.
import LupinTestKit
import Testing

struct RefusedHeadTests {
    static let refused = [
        "HEAD http://a.test/ HTTP/1.1\r\n\r\n",
        "HEAD http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n",
        "HEAD http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n",
        "HEAD http://a.test/ HTTP/9.1\r\nHost: a.test\r\n\r\n",
        "HEAD ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "HEAD http://a.test/\u{1} HTTP/1.1\r\nHost: a.test\r\n\r\n",
    ]

    @Test(arguments: refused, [true, false])
    func `a refusal of HEAD has a length and no body`(
        text: String,
        isWhole: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            if isWhole {
                try client.send(text)
            } else {
                for piece in [text.prefix(9), text.dropFirst(9)] {
                    try client.send(String(piece))
                    try proxy.settle()
                }
            }
            let response = try #require(try client.stream.head())
            #expect(response.status >= 400)
            #expect(Int(response["Content-Length"] ?? "") ?? 0 > 0)
            #expect(response["Connection"] == "close")
            #expect(try client.stream.untilEnd().bytes.isEmpty)
        }
    }

    @Test(arguments: ["GET", "HEADS", "head", "\r\n\r\nGET"])
    func `that of another method has one, whatever came before it`(
        method: String
    ) async throws {
        let rules = "rules: [{match: a.test, respond: {status: 200, body: fine}}]"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("HEAD", "http://a.test/")
            #expect(try client.response(to: "HEAD").status == 200)
            try client.send("\(method) http://a.test/ HTTP/1.1\r\n\r\n")
            let response = try client.response()
            #expect(response.status == 400)
            #expect(response.bodyText.contains("lupin"))
        }
    }

    @Test func `bytes that name no method are answered with a body`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send("HEAD\r\n\r\n")
            #expect(try !client.response().body.isEmpty)
        }
    }

    @Test(arguments: ["HEAD", "GET"])
    func `over HTTP 2 the same`(method: String) async throws {
        let rules = "limits: {header_fields: 16}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client()
            let many = HTTP2Fields((0..<17).map { HTTP2Fields.Line("x-\($0)", "y") })
            let stream = try client.send(.request(method, authority: "a.test") + many)
            let response = try client.response(on: stream, to: method)
            #expect(response.status == 431)
            #expect(response.body.isEmpty == (method == "HEAD"))
        }
    }
}
