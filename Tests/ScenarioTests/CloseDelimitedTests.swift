// Bodies that end with the connection, for clients that can and that can't know it otherwise.
import LupinTestKit
import Testing

struct CloseDelimitedTests {
    @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK"])
    func `a body until close reaches an HTTP 1.1 client in chunks`(line: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head(line) + "hello ")
                try connection.send("world")
                connection.close()
            }
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.startLine == "HTTP/1.1 200 OK")
                #expect(response.isChunked)
                #expect(response.bodyText == "hello world")
            }
            #expect(origin.connections.count == 2)
            #expect(try proxy.record()["http.response.body.size"] == "11")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
    ])
    func `an HTTP 1.0 client gets every body until close`(text: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(text)
                connection.shutdownWrite()
            }
            let client = try proxy.client()
            try client.send(head("GET \(origin.url()) HTTP/1.0", "Connection: keep-alive"))
            let response = try client.response()
            #expect(response["transfer-encoding"] == nil)
            #expect(response["connection"] == "close")
            #expect(response.bodyText == "hello")
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.record()["network.protocol.version"] == "1.0")
        }
    }

    /// What an origin sends before it goes away too early.
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFF\r\nhello",
    ])
    func `a body that breaks off never looks complete`(text: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(text)
                connection.shutdownWrite()
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let (bytes, end) = try client.stream.untilEnd()
            let answer = String(decoding: bytes, as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") || end == .reset)
            #expect(!answer.hasSuffix("0\r\n\r\n"))
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.type"] == "http_response_incomplete")
        }
    }

    @Test func `a body until close that ends with RST is cut, not ended`() async throws {
        try await ProxyFixture.run { proxy in
            let gate = Bell()
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head("HTTP/1.1 200 OK") + "hello")
                #expect(gate.wait())
                connection.reset()
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.head()
            gate.ring()
            let (bytes, _) = try client.stream.untilEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }
}
