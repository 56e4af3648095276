// The client leaves before it has what it asked for: the origin hears of it at once.
import LupinTestKit
import Testing

/// How a client goes away.
enum Departure: CaseIterable, Sendable {
    case close, shutdown, reset

    func take(_ client: ScriptedClient) {
        switch self {
        case .close: client.close()
        case .shutdown: client.shutdownWrite()
        case .reset: client.reset()
        }
    }
}

struct ClientLeavesTests {
    @Test(arguments: Departure.allCases)
    func `while it waits for a response`(departure: Departure) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/slow"))
            let connection = try origin.accept()
            try connection.request()
            departure.take(client)
            _ = try connection.waitForEnd()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["http.response.status_code"] == nil)
            #expect(record["attempts.0.decision"] == "give-up")
        }
    }

    @Test(arguments: Departure.allCases)
    func `in the middle of a download`(departure: Departure) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst")
            _ = try client.stream.head()
            #expect(try client.stream.text(5) == "first")
            departure.take(client)
            _ = try connection.waitForEnd()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "5")
        }
    }

    @Test(arguments: Departure.allCases)
    func `in a download that it does not read`(departure: Departure) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 4096)
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            try proxy.fill(connection.stream.socket)
            departure.take(client)
            try connection.stream.socket.waitUntilClosedByPeer()
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test(arguments: Departure.allCases, ["Content-Length: 9", "Transfer-Encoding: chunked"])
    func `in the middle of an upload`(departure: Departure, framing: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), [framing])
            try client.send("5\r\nfirst")
            let connection = try origin.accept()
            _ = try connection.requestHead()
            _ = try connection.stream.bytes(8)
            departure.take(client)
            let (rest, _) = try connection.stream.untilEnd()
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["http.request.method"] == "POST")
        }
    }

    @Test func `while it waits for 100 Continue`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 4", "Expect: 100-continue"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            client.close()
            _ = try connection.waitForEnd()
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `behind a request that it has sent in advance`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/first"))
            try client.send("GET", origin.url("/second"))
            let connection = try origin.accept()
            try connection.request()
            client.close()
            _ = try connection.waitForEnd()
            #expect(try proxy.record()["outcome"] == "aborted")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `an HTTP 1.0 client may close its side and gets its answer`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            client.shutdownWrite()
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(body: "late but here")
            #expect(try client.response().bodyText == "late but here")
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }
}
