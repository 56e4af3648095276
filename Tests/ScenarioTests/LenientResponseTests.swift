// Responses with flaws that everybody reads over: delivered, never stored, their connection closed.
import LupinTestKit
import Testing

struct LenientResponseTests {
    private static let lineFeeds =
        "HTTP/1.1 200 OK\nCache-Control: max-age=600\nX@A: b\n"
        + "Content-Length: 5\n\nhello"

    private static func origin(_ proxy: ProxyFixture, _ text: String) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while try connection.nextRequest() != nil { try connection.send(text) }
        }
    }

    @Test func `it is delivered, and its connection is used no more`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let origin = try Self.origin(proxy, Self.lineFeeds)
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.bodyText == "hello")
                #expect(response["X@A"] == "b")
                #expect(response.caching == "lupin; fwd=uri-miss; detail=lenient")
            }
            #expect(origin.connections.count == 2)
            let record = try proxy.records(2)[1]
            #expect(record["lenient.0"] == "lf")
            #expect(record["lenient.1"] == "name")
            #expect(record["outcome"] == "ok")
        }
    }

    /// The head is sound: only what follows shows the flaw.
    @Test func `chunks with LF alone are delivered, and nothing of them is stored`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let text =
                head("HTTP/1.1 200 OK", "Cache-Control: max-age=600", "Transfer-Encoding: chunked")
                + "5\nhello\n0\nX-T: u\n\n"
            let origin = try Self.origin(proxy, text)
            let client = try proxy.client()
            for _ in 0..<2 { #expect(try client.get(origin.url()).bodyText == "hello") }
            #expect(origin.connections.count == 2)
            #expect(try proxy.records(2).map { $0["lenient.0"] } == ["lf", "lf"])
        }
    }

    @Test(arguments: ["103 Early Hints\nX-A: b\n\n", "102 X\r\nX-A: b\u{1}c\r\n\r\n"])
    func `flaws of an interim response count for the response behind it`(
        interim: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let final =
                head("HTTP/1.1 200 OK", "Cache-Control: max-age=600", "Content-Length: 5")
                + "hello"
            let origin = try Self.origin(proxy, "HTTP/1.1 \(interim)\(final)")
            for _ in 0..<2 {
                let client = try proxy.client()
                try client.send("GET", origin.url())
                let response = try client.response()
                #expect(response.bodyText == "hello")
                #expect(response.caching == "lupin; fwd=uri-miss; detail=lenient")
            }
            #expect(origin.connections.count == 2)
            let word = interim.hasPrefix("103") ? "lf" : "control"
            #expect(try proxy.records(2).map { $0["lenient.0"] } == [word, word])
        }
    }

    /// They come in one piece with the end, so they are seen when the response might be stored.
    @Test(arguments: [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ])
    func `a response with bytes behind its end is delivered and not stored`(
        rest: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let text = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\(rest)HTTP/1.1 200 OK"
            let origin = try Self.origin(proxy, text)
            let client = try proxy.client()
            for _ in 0..<2 { #expect(try client.get(origin.url()).bodyText == "hello") }
            #expect(origin.connections.count == 2)
            #expect(try proxy.records(2).map { $0["lenient.0"] } == ["surplus", "surplus"])
        }
    }

    @Test func `what came before a bad chunk reaches the client`() async throws {
        try await ProxyFixture.run { proxy in
            let text = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "5\r\nhello\r\nzz"
            let origin = try Self.origin(proxy, text)
            let client = try proxy.client()
            try client.send("GET", origin.url(), [])
            let received = try String(decoding: client.stream.untilEnd().bytes, as: UTF8.self)
            #expect(received.hasSuffix("\r\n5\r\nhello\r\n"), "\(received)")
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `strict refuses it`() async throws {
        try await ProxyFixture.run("upstream: {strict: true}") { proxy in
            let origin = try Self.origin(proxy, Self.lineFeeds)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(try proxy.record()["lenient.0"] == nil)
        }
    }

    @Test func `a length beside chunked does not reach the client`() async throws {
        try await ProxyFixture.run { proxy in
            let text =
                head("HTTP/1.1 200 OK", "Content-Length: 3", "Transfer-Encoding: chunked")
                + "5\r\nhello\r\n0\r\n\r\n"
            let origin = try Self.origin(proxy, text)
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response["Content-Length"] == nil)
                #expect(response.bodyText == "hello")
            }
            #expect(origin.connections.count == 2)
        }
    }

    @Test func `a client of HTTP/2 gets what that can carry`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try Self.origin(proxy, Self.lineFeeds)
            let client = try proxy.http2Client()
            let response = try client.request(authority: origin.authority)
            #expect(response.bodyText == "hello")
            #expect(response["x@a"] == nil)
            #expect(response["content-length"] == "5")
        }
    }

    @Test func `a validation that comes with flaws is asked for anew`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    if request["if-none-match"] != nil {
                        try connection.send("HTTP/1.1 304 Not Modified\nETag: \"v\"\n\n")
                    } else {
                        try connection.reply(
                            200,
                            "Cache-Control: no-cache",
                            "ETag: \"v\"",
                            body: "whole"
                        )
                    }
                }
            }
            for _ in 0..<2 {
                let response = try proxy.client().get(origin.url())
                #expect(response.status == 200)
                #expect(response.bodyText == "whole")
            }
        }
    }
}
