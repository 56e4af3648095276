// HTTP without TLS inside a CONNECT: no tunnel where names are judged, since each request has one.
import LupinTestKit
import Testing

struct PlainTunnelTests {
    private static let list = """
        rules:
          - name: list
            match: {not: {host: origin.test}}
            respond: {status: 403}
        """

    @Test func `every request is judged by its own Host`() async throws {
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client()
            #expect(try client.connect(authority).status == 200)
            let tunnel = try origin.accept()
            try client.send("GET /a HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try tunnel.stream.untilEnd().bytes == [])
            let far = try origin.accept()
            #expect(try far.request().startLine == "GET /a HTTP/1.1")
            try far.reply(body: "one")
            #expect(try client.response().bodyText == "one")
            try client.send("GET /b HTTP/1.1\r\nHost: evil.test\r\n\r\n")
            #expect(try client.response().status == 421)
            try client.send("GET http://evil.test/c HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try client.response().status == 421)
            try client.send("GET /d HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try far.request().startLine == "GET /d HTTP/1.1")
            try far.reply(body: "two")
            #expect(try client.response().bodyText == "two")
            let records = try proxy.records(4)
            #expect(records.map { $0["outcome"] } == ["ok", "denied", "denied", "ok"])
            #expect(records.allSatisfy { $0["mode"] == "intercept" })
        }
    }

    /// Only lenient servers take these; the answer is lupin's in any case.
    @Test(arguments: [
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 421),
        ("get\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", 400),
        ("GET\u{7F} / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 0),
        ("X!~ / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 421),
        ("CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: origin.test\r\nHost: evil.test\r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\nHost: evil.test\r\nUpgrade: websocket\r\n"
                + "Connection: upgrade\r\n\r\n", 421
        ),
    ])
    func `however a request is written, none for another host leaves`(
        request: String,
        status: Int
    ) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            for isBytewise in [false, true] {
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                let far = try origin.accept()
                if isBytewise {
                    // Whoever is refused may be gone before all was sent.
                    try? client.sendBytewise(request)
                } else {
                    try client.send(request)
                }
                // No method has such a byte: it is no HTTP that could be answered.
                if status > 0 { #expect(try client.response().status == status) }
                try proxy.settle()
                try clock.advance(by: .seconds(20))
                #expect(try far.stream.untilEnd().bytes == [])
                #expect(!origin.hasWaiting)
            }
        }
    }

    @Test func `a WebSocket goes through to its own host`() async throws {
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client()
            #expect(try client.connect(authority).status == 200)
            let tunnel = try origin.accept()
            try client.send(
                head(
                    "GET /chat HTTP/1.1",
                    "Host: \(authority)",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
                )
            )
            #expect(try tunnel.stream.untilEnd().bytes == [])
            let far = try origin.accept()
            _ = try far.request()
            try far.send(
                head(
                    "HTTP/1.1 101 Switching Protocols",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
                )
            )
            #expect(try client.response().status == 101)
            try client.send("ping")
            #expect(try far.stream.text(4) == "ping")
            try far.send("pong")
            #expect(try client.stream.text(4) == "pong")
        }
    }

    @Test func `HTTP 2 by prior knowledge is judged by its authority`() async throws {
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let outer = try proxy.client()
            #expect(try outer.connect(authority).status == 200)
            let tunnel = try origin.accept()
            let client = try HTTP2Client(inside: outer)
            #expect(try tunnel.stream.untilEnd().bytes == [])
            let foreign = try client.send(.request(authority: "evil.test"))
            #expect(try client.response(on: foreign).status == 421)
            let own = try client.send(.request(authority: authority, path: "/x"))
            let far = try origin.accept()
            #expect(try far.request().startLine == "GET /x HTTP/1.1")
            try far.reply(body: "two")
            #expect(try client.response(on: own).bodyText == "two")
        }
    }

    @Test(arguments: [true, false])
    func `HTTP behind a server's first words, or its end, is refused`(speaks: Bool) async throws {
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            if speaks {
                try far.send("hello")
                #expect(try client.stream.text(5) == "hello")
            } else {
                far.shutdownWrite()
                try client.stream.socket.waitUntilClosedByPeer()
            }
            try client.send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
            #expect(try client.stream.untilEnd().bytes == [])
            #expect(try far.stream.untilEnd().bytes == [])
            #expect(try proxy.record()["error.type"] == "tunnel_name_denied")
        }
    }

    @Test func `where nothing is refused it stays a tunnel`() async throws {
        try await ProxyFixture.run("", resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            for host in ["origin.test", "evil.test"] {
                try client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(try far.request()["Host"] == host)
                try far.reply(body: host)
                #expect(try client.response().bodyText == host)
            }
        }
    }
}
