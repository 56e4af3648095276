// Bodies arrive as they were sent, whatever their size, their framing and their pace.
import LupinTestKit
import Testing

struct BodyTransferTests {
    @Test func `everything byte by byte from both sides`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request.bodyText == "hello world")
                    #expect(request.trailer("x-t") == "up")
                    try connection.sendBytewise(
                        head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
                            + "6\r\nworld \r\n00005\r\nhello\r\n0\r\nX-T: down\r\n\r\n"
                    )
                }
            }
            let client = try proxy.client()
            for _ in 0..<2 {
                try client.sendBytewise(
                    head(
                        "POST \(origin.url()) HTTP/1.1",
                        "Host: \(origin.authority)",
                        "TE: trailers",
                        "Connection: TE",
                        "Transfer-Encoding: chunked"
                    )
                        + "5\r\nhello\r\n6\r\n world\r\n0\r\nX-T: up\r\n\r\n"
                )
                let response = try client.response()
                #expect(response.bodyText == "world hello")
                #expect(response.trailer("x-t") == "down")
            }
            #expect(origin.connections.count == 1)
            #expect(try proxy.records(2).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    /// How a body of 10 MiB is framed on its way up and down.
    @Test(arguments: [(false, false), (true, true), (false, true), (true, false)])
    func `10 MiB go up and come back`(isChunkedUp: Bool, isChunkedDown: Bool) async throws {
        let body = LongBody.bytes(10 << 20)
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.isChunked == isChunkedUp)
                #expect(request.body == body)
                try connection.send(
                    isChunkedDown
                        ? head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
                        : head("HTTP/1.1 200 OK", "Content-Length: \(body.count)")
                )
                try connection.send(isChunkedDown ? LongBody.chunked(body) : body)
            }
            let client = try proxy.client()
            let framing =
                isChunkedUp ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
            try client.send("PUT", origin.url(), [framing])
            try client.send(isChunkedUp ? LongBody.chunked(body) : body)
            let response = try client.response()
            #expect(response.isChunked == isChunkedDown)
            #expect(response.body == body)
            let record = try proxy.record()
            #expect(record["http.request.body.size"] == "\(body.count)")
            #expect(record["http.response.body.size"] == "\(body.count)")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `10 MiB until close reach either version`() async throws {
        let body = LongBody.bytes(10 << 20)
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head("HTTP/1.1 200 OK"))
                try connection.send(body)
                connection.shutdownWrite()
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body == body)
            let old = try proxy.client()
            try old.send(head("GET \(origin.url()) HTTP/1.0"))
            #expect(try old.response().body == body)
        }
    }

    @Test func `a response while the request's body is still on its way`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                var request = try connection.requestHead()
                try connection.send(
                    head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "5\r\nfirst\r\n"
                )
                try connection.stream.body(of: &request)
                try connection.send("6\r\n\(request.bodyText)\r\n0\r\n\r\n")
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 6"])
            _ = try client.stream.head()
            #expect(try client.stream.text(10) == "5\r\nfirst\r\n")
            try client.send("second")
            #expect(try client.stream.text(11) == "6\r\nsecond\r\n")
            #expect(try client.stream.text(5) == "0\r\n\r\n")
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test(arguments: [401, 413])
    func `a final response before the body is delivered and ends the connection`(
        status: Int
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.requestHead()
                try connection.reply(status, body: "enough")
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000"])
            try client.send("begun")
            let response = try client.response()
            #expect(response.status == status)
            #expect(response.bodyText == "enough")
            #expect(response["connection"] == "close")
            try eventually("the end at the origin") { origin.connections[0].stream.end != nil }
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }
}

/// A body that no shift or swap leaves as it is.
enum LongBody {
    static func bytes(_ count: Int) -> [UInt8] {
        var state: UInt32 = 2_463_534_242
        let block = (0..<65_521).map { _ in
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            return UInt8(truncatingIfNeeded: state)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + block.count)
        while bytes.count < count { bytes += block }
        return Array(bytes.prefix(count))
    }

    /// The same in chunks of uneven sizes, with the last chunk.
    static func chunked(_ body: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var start = 0
        var size = 1
        while start < body.count {
            let end = min(start + size, body.count)
            output += Array("\(String(end - start, radix: 16))\r\n".utf8)
            output += body[start..<end]
            output += [0x0D, 0x0A]
            start = end
            size = size * 7 % 99_991 + 1
        }
        return output + Array("0\r\n\r\n".utf8)
    }
}
