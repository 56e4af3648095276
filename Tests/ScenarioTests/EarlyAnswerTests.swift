// The origin answers before it has the whole request (RFC 9112 §9.3, §9.6).
import LupinTestKit
import Testing

struct EarlyAnswerTests {
    /// What the origin does once it has answered.
    enum Afterwards: CaseIterable, Sendable { case stays, closes, resets }

    @Test(arguments: Afterwards.allCases, [413, 401])
    func `is delivered although the client still sends`(
        afterwards: Afterwards,
        status: Int
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try proxy.fill(client.stream.socket)
            try connection.reply(status, body: "no, thanks")
            switch afterwards {
            case .stays: break
            case .closes: connection.close()
            case .resets:
                // What the kernel has of the answer is not to be lost to the RST behind it.
                try eventually("the answer's way to the proxy") {
                    client.stream.socket.hasUnread
                }
                connection.reset()
            }
            let response = try client.response()
            #expect(response.status == status)
            #expect(response.bodyText == "no, thanks")
            #expect(response["Connection"] == "close")
            #expect(try proxy.record()["outcome"] == "ok")
            if afterwards == .stays { try connection.stream.socket.waitUntilClosedByPeer() }
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: ["GET", "POST"], [false, true])
    func `is delivered although the origin reads nothing and resets`(
        method: String,
        isHTTP2: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            // Without the field the next request could be on its way when the reset comes.
            let origin = try proxy.origin { connection in
                try connection.reply(413, "Connection: close", body: "no, thanks")
                connection.reset()
            }
            for _ in 0..<30 {
                let body = method == "POST" ? String(repeating: "a", count: 30_000) : ""
                let client = try proxy.client()
                if isHTTP2 {
                    let streams = try HTTP2Client(inside: client)
                    let response = try streams.request(
                        method,
                        authority: origin.authority("127.0.0.1"),
                        body: body.isEmpty ? nil : body
                    )
                    #expect(response.status == 413)
                    streams.close()
                } else {
                    try client.send(method, origin.url(), body: body)
                    #expect(try client.response(to: method).status == 413)
                    client.close()
                }
            }
        }
    }

    @Test func `the client can read it after it has gone on sending`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.reply(413, body: "too large")
            try client.stream.socket.waitUntilClosedByPeer()
            // The bytes that follow meet a connection that lingers, not an RST that would take
            // the answer away.
            for _ in 0..<10 { try client.send([UInt8](repeating: 0x61, count: 16 << 10)) }
            let response = try client.response()
            #expect(response.status == 413)
            #expect(response.bodyText == "too large")
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `a client that sends for ever is not read for ever`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.reply(413)
            var sent = 0
            let piece = [UInt8](repeating: 0x61, count: 64 << 10)
            while sent < 64 << 20, (try? client.send(piece)) != nil { sent += piece.count }
            #expect(sent < 64 << 20)
        }
    }

    @Test func `an upload that ends while the answer comes leaves the connections usable`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 8"])
            try client.send("half")
            let connection = try origin.accept()
            _ = try connection.requestHead()
            #expect(try connection.stream.text(4) == "half")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\necho")
            _ = try client.stream.head()
            #expect(try client.stream.text(4) == "echo")
            try client.send("rest")
            #expect(try connection.stream.text(4) == "rest")
            try connection.send("done")
            #expect(try client.stream.text(4) == "done")
            #expect(try proxy.record()["outcome"] == "ok")
            _ = try client.waitForEnd()
        }
    }

    /// RFC 9113 §8.1: a server's response ends its own side alone.
    @Test(arguments: [false, true])
    func `the rest goes to an origin that has answered and reads on`(isHTTP2: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let answer = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
            let rest = [UInt8](repeating: 0x7A, count: 300_000)
            if isHTTP2 {
                let client = try proxy.http2Client()
                let stream = try client.open(.request("POST", authority: origin.authority))
                try client.frames.send(.data(stream, "begun"))
                let connection = try origin.accept()
                _ = try connection.requestHead()
                try connection.send(answer)
                #expect(try client.response(on: stream).bodyText == "ok")
                let sending = TestThread { try client.frames.sendData(stream, rest, end: true) }
                var count = 0
                while case let line = try connection.stream.line(), line != "0" {
                    count += line.utf8.count { $0 == 0x7A }
                }
                #expect(count == rest.count)
                try sending.join()
            } else {
                let client = try proxy.client()
                try client.send("POST", origin.url(), ["Content-Length: \(5 + rest.count)"])
                try client.send("begun")
                let connection = try origin.accept()
                _ = try connection.requestHead()
                try connection.send(answer)
                #expect(try client.response().bodyText == "ok")
                let sending = TestThread { try client.send(rest) }
                #expect(try connection.stream.text(5) == "begun")
                #expect(try connection.stream.bytes(rest.count) == rest)
                try sending.join()
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(try proxy.record()["http.request.body.size"] == "\(5 + rest.count)")
        }
    }

    @Test func `an origin that leaves after its answer ends the upload`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try client.response().bodyText == "ok")
            connection.close()
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `a refusal before an expected body leaves no promise behind`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 4", "Expect: 100-continue"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.reply(417, body: "no")
            #expect(try client.response().bodyText == "no")
            // The origin may still wait for the four bytes: the next request must not be them.
            let other = try proxy.client()
            try other.send("GET", origin.url("/next"))
            let fresh = try origin.accept()
            #expect(try fresh.request().target == "/next")
            try fresh.reply(body: "next")
            #expect(try other.response().bodyText == "next")
        }
    }
}
