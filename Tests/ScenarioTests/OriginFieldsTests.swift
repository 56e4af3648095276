// What the origin says about its response is passed on untouched; only Date is added.
import LupinTestKit
import Testing

struct OriginFieldsTests {
    @Test func `a response without Date gets one and another's is kept`() async throws {
        try await ProxyFixture.run { proxy in
            let date = "Sun, 06 Nov 1994 08:49:37 GMT"
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let field = request.target == "/dated" ? ["Date: \(date)"] : []
                    try connection.send(
                        (["HTTP/1.1 200 OK", "Content-Length: 0"] + field)
                            .joined(separator: "\r\n") + "\r\n\r\n"
                    )
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/dated")).values("date") == [date])
            let added = try client.get(origin.url()).values("date")
            #expect(added.count == 1)
            #expect(added.first?.hasSuffix(" GMT") == true)
            #expect(added.first != date)
        }
    }

    @Test func `fields about content are never changed`() async throws {
        let fields = [
            "Age: 7", "Cache-Control: no-transform, max-age=5", "Content-Encoding: br",
            "Content-Type: text/html; charset=x", "ETag: W/\"a\"", "Vary: *", "Server: x/1 (y)",
            "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d", "Location: http://a/b?c#d",
            "WWW-Authenticate: Basic realm=\"a, b\"", "Accept-Ranges: bytes",
        ]
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: (["HTTP/1.1 299 Odd  reason"] + fields + ["Content-Length: 4"])
                    .joined(separator: "\r\n") + "\r\n\r\n\u{1}\u{2}\u{3}\u{4}"
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.startLine == "HTTP/1.1 299 Odd  reason")
            #expect(response.body == [1, 2, 3, 4])
            #expect(
                response.fields.prefix(fields.count).map { "\($0.name): \($0.value)" } == fields
            )
        }
    }
}
