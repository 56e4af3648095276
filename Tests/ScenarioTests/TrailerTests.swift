// Trailers reach the other side, and never become headers (RFC 9110 §6.5).
import LupinTestKit
import Testing

struct TrailerTests {
    private let trailed =
        head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum")
        + "5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n"

    @Test func `a client that takes trailers gets them`() async throws {
        try await ProxyFixture.run { [trailed] proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request["te"] == "trailers")
                #expect(request["connection"]?.lowercased() == "te")
                try connection.send(trailed)
            }
            let response = try proxy.client().get(
                origin.url(),
                "TE: trailers",
                "Connection: TE"
            )
            #expect(response.bodyText == "hello")
            #expect(response.trailer("x-sum") == "abc")
            #expect(response["x-sum"] == nil)
        }
    }

    @Test func `a client that does not say so gets those that the origin sends nevertheless`()
        async throws
    {
        try await ProxyFixture.run { [trailed] proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["te"] == nil)
                try connection.send(trailed)
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.bodyText == "hello")
            #expect(response.trailer("x-sum") == "abc")
            #expect(response["x-sum"] == nil)
        }
    }

    @Test func `trailers of a request go up`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.bodyText == "hello")
                #expect(request.trailer("x-sum") == "abc")
                #expect(request["x-sum"] == nil)
                try connection.reply()
            }
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                )
                    + "5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n"
            )
            #expect(try client.response().status == 200)
        }
    }

    @Test func `framing, routing and credentials do not travel as trailers`() async throws {
        let forbidden = [
            "Content-Length: 3", "Transfer-Encoding: chunked", "Host: evil.example",
            "Authorization: Basic x", "Proxy-Authorization: Basic x", "Connection: X-Sum",
            "Set-Cookie: a=b", "Content-Type: text/html", "Cache-Control: no-store",
        ]
        let end = "0\r\n" + forbidden.joined(separator: "\r\n") + "\r\nX-Sum: abc\r\n\r\n"
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.trailers.map(\.name) == ["X-Sum"])
                try connection.send(
                    head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "2\r\nok\r\n" + end
                )
            }
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "TE: trailers",
                    "Connection: TE",
                    "Transfer-Encoding: chunked"
                )
                    + "5\r\nhello\r\n" + end
            )
            let response = try client.response()
            #expect(response.trailers.map(\.name) == ["X-Sum"])
        }
    }
}
