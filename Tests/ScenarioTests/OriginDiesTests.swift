// The origin breaks off: the client never takes a piece for the whole (RFC 9112 §8).
import LupinTestKit
import Testing

struct OriginDiesTests {
    static let pieces = [
        "Content-Length: 10\r\n\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Transfer-Encoding: chunked\r\n\r\n8\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
    ]

    @Test(arguments: pieces, [true, false])
    func `in the middle of a body`(piece: String, isReset: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\n" + piece)
            _ = try client.stream.head()
            _ = try client.stream.some()
            if isReset { connection.reset() } else { connection.close() }
            let (rest, end) = try client.stream.untilEnd()
            // What came is delivered; the missing rest tells that it was not all.
            #expect(end == .finished)
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.side"] == "upstream")
            #expect(record["error.type"] == "http_response_incomplete")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "4")
        }
    }

    @Test func `a body that ends with the connection is whole only after FIN`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            for isReset in [true, false] {
                let client = try proxy.client()
                try client.send("GET", origin.url())
                let connection = try origin.accept()
                try connection.request()
                try connection.send("HTTP/1.1 200 OK\r\n\r\nhalf")
                _ = try client.stream.head()
                #expect(try client.stream.text(9) == "4\r\nhalf\r\n")
                if isReset { connection.reset() } else { connection.close() }
                let (rest, end) = try client.stream.bytesOrEnd(5)
                #expect(end == (isReset ? .finished : nil))
                #expect(rest == (isReset ? "" : "0\r\n\r\n"))
            }
            #expect(Set(try proxy.records(2).map { $0["outcome"] }) == ["truncated", "ok"])
        }
    }

    @Test func `RST is no end of a body while an upload runs either`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.send("HTTP/1.1 200 OK\r\n\r\nhalf")
            _ = try client.stream.head()
            #expect(try client.stream.text(9) == "4\r\nhalf\r\n")
            try proxy.fill(client.stream.socket)
            connection.reset()
            let (rest, end) = try client.stream.untilEnd()
            #expect(end == .finished)
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test(arguments: [true, false], ["", "HTTP/1.1 200 OK\r\nContent-"])
    func `before it has said anything whole`(isReset: Bool, piece: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "order")
            let connection = try origin.accept()
            try connection.request()
            if !piece.isEmpty {
                try connection.send(piece)
                try proxy.settle()
            }
            if isReset { connection.reset() } else { connection.close() }
            let response = try client.response()
            #expect(response.status == 502)
            let isKnown = response["Proxy-Status"].map {
                $0.contains("connection_terminated") || $0.contains("http_response_incomplete")
            }
            #expect(isKnown == true)
            #expect(response["Connection"] == nil)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(
                record["bytes.upstream_in"]
                    == (isReset ? record["bytes.upstream_in"] : "\(piece.utf8.count)")
            )
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: [true, false])
    func `in the middle of an upload`(isReset: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Content-Length: 100"])
            try client.send("some")
            let connection = try origin.accept()
            _ = try connection.requestHead()
            _ = try connection.stream.text(4)
            if isReset { connection.reset() } else { connection.close() }
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Connection"] == "close")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `an HTTP 1.0 client sees RST and not the end of the body`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
            )
            _ = try client.stream.head()
            #expect(try client.stream.text(4) == "half")
            connection.close()
            #expect(try client.stream.untilEnd().end == .reset)
        }
    }
}

extension MessageStream {
    /// The next `count` bytes as text, or how the connection ended instead.
    func bytesOrEnd(_ count: Int) throws -> (text: String, end: PlainSocket.End?) {
        do {
            return (try text(count), nil)
        } catch {
            guard let end else { throw error }
            return ("", end)
        }
    }
}
