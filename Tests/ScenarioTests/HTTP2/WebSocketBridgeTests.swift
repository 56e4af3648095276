// WebSockets from HTTP/2 to HTTP/1.1: extended CONNECT here, Upgrade there (RFC 8441).
import LupinTLS
import LupinTestKit
import Testing

struct WebSocketBridgeTests {
    /// Key and answer of RFC 6455 §1.3.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let proof = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private static func consent(_ request: ScriptedMessage) -> String {
        head(
            "HTTP/1.1 101 Switching Protocols",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Accept: \(WebSocketProof.accept(request["Sec-WebSocket-Key"] ?? ""))",
            "Sec-WebSocket-Protocol: chat"
        )
    }

    @Test func `a stream of HTTP 2 becomes an upgrade of HTTP 1`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            #expect(client.serverSetting(8) == 1)
            let head = HTTP2Fields.webSocket(authority: origin.authority)
            let stream = try client.open(head + ["sec-websocket-protocol": "chat", "x-a": "b"])
            let far = try origin.accept()
            let request = try far.request()
            #expect(request.startLine == "GET /chat HTTP/1.1")
            #expect(request["Host"] == origin.authority)
            #expect(request["Connection"] == "Upgrade")
            #expect(request["Upgrade"] == "websocket")
            #expect(request["Sec-WebSocket-Version"] == "13")
            #expect(request["Sec-WebSocket-Protocol"] == "chat")
            #expect(request["x-a"] == "b")
            #expect(request["Content-Length"] == nil)
            #expect(!request.isChunked)
            // The first octets come in the packet of the 101.
            try far.send(Self.consent(request) + "hello")
            let response = try client.frames.head(on: stream)
            #expect(response[":status"] == "200")
            #expect(response["sec-websocket-protocol"] == "chat")
            for name in ["sec-websocket-accept", "upgrade", "connection", "content-length"] {
                #expect(response[name] == nil)
            }
            #expect(try client.frames.text(of: stream, exactly: 5) == "hello")
            try client.frames.send(.data(stream, "answer"))
            #expect(try far.stream.text(6) == "answer")
            try client.frames.send(.data(stream, end: true))
            #expect(try far.waitForEnd() == .finished)
            try far.send("bye")
            far.close()
            #expect(try client.frames.text(of: stream, exactly: 3) == "bye")
            try client.frames.expectEnd(of: stream)
            let record = try proxy.record()
            #expect(record["mode"] == "upgrade")
            #expect(record["outcome"] == "ok")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["tunnel.sent"] == "6")
            #expect(record["tunnel.received"] == "8")
        }
    }

    @Test func `every key is a fresh one`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            var keys: Set<String> = []
            for _ in 0..<3 {
                // What the client says of keys has no meaning here.
                let head = HTTP2Fields.webSocket(authority: origin.authority)
                _ = try client.open(head + ["sec-websocket-key": Self.key])
                let request = try origin.accept().request()
                #expect(request.values("Sec-WebSocket-Key").count == 1)
                let key = try #require(request["Sec-WebSocket-Key"])
                #expect(key.utf8.count == 24)
                keys.insert(key)
            }
            #expect(keys.count == 3)
            #expect(!keys.contains(Self.key))
        }
    }

    @Test(arguments: ["Sec-WebSocket-Accept: \(proof)", "Sec-WebSocket-Accept:", "X-No: accept"])
    func `an origin that does not prove that it meant it is not believed`(
        field: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.webSocket(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send(head("HTTP/1.1 101 S", "Connection: Upgrade", "Upgrade: websocket", field))
            let response = try client.response(on: stream)
            #expect(response.status == 502)
            _ = try far.waitForEnd()
            #expect(try proxy.record()["error.type"] == "http_upgrade_failed")
        }
    }

    @Test func `a refusal of HTTP 1 passes on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.webSocket(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.reply(403, "X-Why: because", body: "no")
            let response = try client.response(on: stream)
            #expect(response.status == 403)
            #expect(response["x-why"] == "because")
            #expect(response.bodyText == "no")
        }
    }

    @Test(arguments: ["connect-udp", "connect-ip", "webtransport", "x"])
    func `protocols that are not known are refused with 501`(name: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.webSocket(authority: origin.authority, protocol: name)
            let stream = try client.open(head)
            #expect(try client.response(on: stream).status == 501)
            try proxy.settle()
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: [true, false])
    func `RST of one side ends the other`(isClient: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.webSocket(authority: origin.authority))
            let far = try origin.accept()
            try far.send(Self.consent(try far.request()))
            _ = try client.frames.head(on: stream)
            if isClient {
                try client.frames.send(.resetStream(stream))
                #expect(try far.waitForEnd() == .reset)
            } else {
                far.reset()
                // RFC 8441 §5.3.
                try client.frames.expectReset(stream, .cancel)
            }
            try client.frames.expectAlive()
        }
    }

    /// In HTTP/2 a 2xx would open the WebSocket (RFC 8441 §5).
    @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 204 None", "HTTP/1.1 299 Odd"])
    func `a 2xx of HTTP 1 opens nothing`(line: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.webSocket(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send(head(line, "Content-Length: 0"))
            let response = try client.response(on: stream)
            #expect(response.status == 502)
            #expect(response["proxy-status"]?.contains("http_upgrade_failed") == true)
            #expect(try proxy.record()["error.type"] == "http_upgrade_failed")
        }
    }

    @Test(arguments: [(200, 502), (204, 502), (403, 403)])
    func `nor does a rule that answers`(answer: Int, status: Int) async throws {
        let rules = "rules: [{match: a.test, respond: {status: \(answer)}}]"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client()
            let stream = try client.open(.webSocket(authority: "a.test"))
            #expect(try client.response(on: stream).status == status)
        }
    }

    @Test func `nor does what is stored`() async throws {
        let rules = "rules: [{match: \"**\", cache: standard}]"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let plain = try client.send(.request(authority: origin.authority, path: "/chat"))
            let far = try origin.accept()
            try far.request()
            try far.reply(200, "Cache-Control: max-age=60", body: "stored")
            #expect(try client.response(on: plain).bodyText == "stored")
            let stream = try client.open(.webSocket(authority: origin.authority))
            let request = try far.request()
            #expect(request["Upgrade"] == "websocket")
            try far.send(Self.consent(request) + "hello")
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            #expect(try client.frames.text(of: stream, exactly: 5) == "hello")
        }
    }
}
