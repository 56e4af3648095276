// What becomes of a request whose pooled connection the origin has closed in the same moment.
import LupinTestKit
import Testing

struct StaleConnectionTests {
    /// The bodies of requests, and how their bytes end.
    static let bodies = [
        "Content-Length: 10\r\n\r\n0123456789",
        "Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\nX-Sum: 7\r\n\r\n",
    ]

    @Test func `a GET is sent again on a fresh connection`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send("GET", origin.url("/two"))
            #expect(try pooled.request().target == "/two")
            pooled.close()
            let fresh = try origin.accept()
            #expect(try fresh.request().target == "/two")
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
            let record = try proxy.records(2)[1]
            #expect(record["outcome"] == "ok")
            #expect(record["http.request.resend_count"] == "1")
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.reason"] == "stale-connection")
            #expect(record["attempts.0.error.type"] == "connection_terminated")
            #expect(record["attempts.1.why"] == "retry")
            #expect(record["attempts.1.status"] == "200")
        }
    }

    @Test(arguments: bodies)
    func `a PUT with a small body is sent again byte for byte`(rest: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            let before = pooled.receivedText
            try client.send("PUT \(origin.url("/f")) HTTP/1.1\r\nHost: a\r\n\(rest)")
            let first = try pooled.request()
            pooled.close()
            let fresh = try origin.accept()
            let second = try fresh.request()
            #expect(first.bodyText == "0123456789")
            #expect(second.body == first.body)
            #expect(second.trailer("X-Sum") == first.trailer("X-Sum"))
            #expect(
                fresh.receivedText.utf8.elementsEqual(
                    pooled.receivedText.utf8.dropFirst(before.utf8.count)
                )
            )
            try fresh.reply(204)
            #expect(try client.response().status == 204)
        }
    }

    @Test func `a PUT whose body was not all there yet goes on from the client`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send(
                "PUT \(origin.url()) HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc"
            )
            _ = try pooled.requestHead()
            #expect(try pooled.stream.text(3) == "abc")
            pooled.close()
            let fresh = try origin.accept()
            _ = try fresh.requestHead()
            #expect(try fresh.stream.text(3) == "abc")
            try client.send("def")
            #expect(try fresh.stream.text(3) == "def")
            try fresh.reply(body: "done")
            #expect(try client.response().bodyText == "done")
        }
    }

    @Test(arguments: ["POST", "PATCH", "FROB"])
    func `a request that may have been processed is not sent again`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send(method, origin.url("/order"), body: "one lamp")
            #expect(try pooled.request().bodyText == "one lamp")
            pooled.close()
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=connection_terminated") == true)
            #expect(!origin.hasWaiting)
            let record = try proxy.records(2)[1]
            #expect(record["outcome"] == "error")
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.reason"] == "\(method) may have been processed")
        }
    }

    @Test func `one that its origin is about to close by its own word is not used`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            func exchange(over connection: OriginConnection) throws {
                try connection.request()
                try connection.reply(200, "Keep-Alive: timeout=1")
                #expect(try client.response().status == 200)
            }
            try client.send("POST", origin.url(), body: "one")
            let first = try origin.accept()
            try exchange(over: first)
            try clock.advance(by: .milliseconds(700))
            try client.send("POST", origin.url(), body: "two")
            try exchange(over: first)
            try clock.advance(by: .milliseconds(800))
            try client.send("POST", origin.url(), body: "three")
            try exchange(over: try origin.accept())
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `a connection that was closed already is not used`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            pooled.close()
            try client.send(method, origin.url("/two"), body: method == "POST" ? "lamp" : nil)
            let fresh = try origin.accept()
            #expect(try fresh.request().method == method)
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
        }
    }

    @Test func `a large PUT was not kept and is not sent again`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            let body = String(repeating: "x", count: 300 << 10)
            try client.send("PUT", origin.url(), body: body)
            #expect(try pooled.request().body.count == body.utf8.count)
            pooled.close()
            #expect(try client.response().status == 502)
            #expect(!origin.hasWaiting)
            let record = try proxy.records(2)[1]
            #expect(record["attempts.0.reason"] == "the body was not kept")
            #expect(record["attempts.0.replayable"] == "0")
        }
    }

    @Test func `the second attempt takes no other connection of the pool`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let first = try proxy.client()
            let second = try proxy.client()
            try first.send("GET", origin.url())
            let older = try origin.accept()
            try older.request()
            try second.send("GET", origin.url())
            let newer = try origin.accept()
            try newer.request()
            try older.reply()
            try first.response()
            try newer.reply()
            try second.response()
            try second.send("GET", origin.url("/again"))
            try newer.request()
            newer.close()
            let fresh = try origin.accept()
            #expect(try fresh.request().target == "/again")
            try fresh.reply(body: "fresh")
            #expect(try second.response().bodyText == "fresh")
            #expect(!older.receivedText.contains("/again"))
        }
    }

    @Test func `there is no third attempt`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send("GET", origin.url())
            try pooled.request()
            pooled.close()
            let fresh = try origin.accept()
            try fresh.request()
            fresh.close()
            #expect(try client.response().status == 502)
            #expect(!origin.hasWaiting)
            #expect(try proxy.records(2)[1].count("attempts") == 2)
        }
    }

    @Test func `a fresh connection that dies is no reason to try again`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            connection.close()
            #expect(try client.response().status == 502)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `after an interim response nothing is sent again`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send("GET", origin.url())
            try pooled.request()
            try pooled.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            #expect(try client.interimResponse().status == 103)
            pooled.close()
            #expect(try client.response().status == 502)
            #expect(!origin.hasWaiting)
        }
    }
}

extension ProxyFixture {
    /// Has lupin keep one idle connection to `origin`: the client whose request made it, and the
    /// origin's end of it.
    func pooledConnection(
        to origin: PlayedOrigin
    ) throws -> (client: ScriptedClient, pooled: OriginConnection) {
        let client = try client()
        try client.send("GET", origin.url("/one"))
        let connection = try origin.accept()
        try connection.request()
        try connection.reply(body: "one")
        #expect(try client.response().bodyText == "one")
        return (client, connection)
    }
}
