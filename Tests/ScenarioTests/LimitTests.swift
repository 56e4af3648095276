// What happens when a limit of the settings is reached.
import LupinTestKit
import Testing

struct LimitTests {
    @Test func `beyond limits connections nobody is dropped whose request is under way`()
        async throws
    {
        let clock = VirtualClock()
        let users = LocalUsers()
        let rules = "limits: {connections: 3}"
        try await ProxyFixture.run(rules, clock: clock, identify: users.identify) { proxy in
            let origin = try PlayedOrigin()
            // One of each user is their share.
            let busy = try (0..<3).map { try users.client(proxy, of: 5_000_000 + $0) }
            var far: [OriginConnection] = []
            for client in busy {
                try client.send("GET", origin.url())
                far.append(try origin.accept())
                try far[far.count - 1].request()
            }
            let waiting = try proxy.client()
            try waiting.send("GET", origin.url())
            for _ in 0..<5 { try clock.advance(by: .milliseconds(60)) }
            #expect(!waiting.stream.socket.hasUnread)
            #expect(!waiting.stream.socket.isClosedByPeer)
            for client in busy { #expect(!client.stream.socket.isClosedByPeer) }
            // One that has its answer makes room.
            try far[0].reply(body: "ok")
            #expect(try busy[0].response().bodyText == "ok")
            try proxy.advance(by: .milliseconds(60), until: "a turn of who waits") {
                far[0].stream.socket.hasUnread
            }
            try far[0].request()
            try far[0].reply(body: "late")
            #expect(try waiting.response().bodyText == "late")
        }
    }

    @Test func `one client address gets no more than client_connections`() async throws {
        try await ProxyFixture.run("limits: {client_connections: 2}") { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "ok") }
            }
            let first = try proxy.client()
            let second = try proxy.client()
            #expect(try first.get(origin.url()).bodyText == "ok")
            #expect(try second.get(origin.url()).bodyText == "ok")
            let third = try proxy.client()
            #expect(try third.get(origin.url()).status == 429)
            #expect(try third.waitForEnd() == .finished)
            // Somebody who leaves makes room.
            first.close()
            try eventually("room for another client") {
                guard let next = try? proxy.client() else { return false }
                return (try? next.get(origin.url()).bodyText) == "ok"
            }
        }
    }

    @Test(arguments: ["POST", "PUT"])
    func `a length above limits body is refused before anything is sent`(
        method: String
    ) async throws {
        try await ProxyFixture.run("limits: {body: 1KiB}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(method, origin.url(), ["Content-Length: 1025"])
            let response = try client.response()
            #expect(response.status == 413)
            #expect(response["Connection"] == "close")
            #expect(!origin.hasWaiting)
            #expect(try proxy.record()["error.type"] == "http_request_error")
        }
    }

    @Test func `a length that limits body allows goes through`() async throws {
        try await ProxyFixture.run("limits: {body: 1KiB}") { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: "\(request.body.count)")
                }
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: String(repeating: "x", count: 1024))
            #expect(try client.response().bodyText == "1024")
        }
    }

    @Test func `a chunked body above limits body is cut off`() async throws {
        try await ProxyFixture.run("limits: {body: 1KiB}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let chunk = "258\r\n" + String(repeating: "x", count: 600) + "\r\n"
            try client.send("POST", origin.url(), ["Transfer-Encoding: chunked"])
            try client.send(chunk)
            let connection = try origin.accept()
            _ = try connection.requestHead()
            _ = try connection.stream.bytes(chunk.utf8.count)
            try client.send(chunk)
            #expect(try client.response().status == 413)
            // The origin can't take what it has for the whole body.
            let (rest, _) = try connection.stream.untilEnd()
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            #expect(try proxy.record()["http.response.status_code"] == "413")
        }
    }

    @Test func `a limit that is reached during the response cuts both sides`() async throws {
        try await ProxyFixture.run("limits: {body: 1KiB}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Transfer-Encoding: chunked"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
            _ = try client.stream.head()
            try client.send("7d0\r\n" + String(repeating: "x", count: 2000) + "\r\n")
            let (rest, end) = try client.stream.untilEnd()
            #expect(end == .finished)
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            _ = try connection.waitForEnd()
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }
}
