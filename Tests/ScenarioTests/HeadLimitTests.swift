// Heads that are too large: 414 and 431 to the client, 502 for the origin's (RFC 6585 §5).
import LupinTestKit
import Testing

struct HeadLimitTests {
    private let rules = """
        limits: {request_line: 1KiB, header_bytes: 2KiB, header_fields: 16, trailer_bytes: 128B}
        """

    /// Lengths that make a head just too large, and what becomes of it.
    @Test(arguments: [
        (1100, 0, 1, 414), (1, 1, 2100, 431), (1, 16, 1, 431), (1, 8, 300, 431),
    ])
    func `a request that is too large is refused`(
        path: Int,
        fields: Int,
        bytes: Int,
        status: Int
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            let line = "GET http://h/\(String(repeating: "a", count: path)) HTTP/1.1"
            let field = "X: " + String(repeating: "b", count: bytes) + "\r\n"
            try client.send(
                line + "\r\nHost: h\r\n" + String(repeating: field, count: fields) + "\r\n"
            )
            let response = try client.response()
            #expect(response.status == status)
            #expect(response["connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.record()["http.response.status_code"] == "\(status)")
        }
    }

    @Test func `a head that never ends is refused before its end`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET http://h/ HTTP/1.1\r\nX: " + String(repeating: "a", count: 3000))
            #expect(try client.response().status == 431)
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `a head at the limits passes`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            let fields = (0..<15).map { "X-\($0): " + String(repeating: "b", count: 90) }
            try client.send("GET", origin.url(), fields)
            #expect(try client.response().status == 204)
        }
    }

    /// Without `strict`, more than 16 fields are a flaw and no error.
    @Test(arguments: [(1, 2100, ""), (16, 1, "\nupstream: {strict: true}"), (8, 300, "")])
    func `a response that is too large is a 502`(
        fields: Int,
        bytes: Int,
        strictness: String
    ) async throws {
        try await ProxyFixture.run(rules + strictness) { proxy in
            let field = "X: " + String(repeating: "b", count: bytes) + "\r\n"
            let lines = String(repeating: field, count: fields)
            let origin = try proxy.origin { connection in
                try connection.request()
                if connection.number > 0 { return try connection.reply(body: "fine") }
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + lines + "\r\n"
                )
            }
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response.status == 502)
            let error = "http_response_header_section_size"
            #expect(response["proxy-status"]?.contains("error=\(error)") == true)
            #expect(try proxy.record()["error.type"] == error)
            #expect(try client.get(origin.url()).bodyText == "fine")
        }
    }

    @Test func `trailers that are too large end the exchange`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { _ in }
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                )
                    + "0\r\nX: " + String(repeating: "a", count: 200) + "\r\n\r\n"
            )
            #expect(try client.response().status == 431)
            #expect(try client.waitForEnd() == .finished)
        }
    }
}
