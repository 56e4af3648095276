// WebSockets to origins of HTTP/2: on a stream where the connection takes them, else by HTTP/1.1.
import LupinTestKit
import Testing

struct WebSocketUpstreamTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let wish = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        // A length for what has no body, as some clients say it, is none of the stream's.
        "Sec-WebSocket-Key: \(key)", "X-A: b", "Content-Length: 0",
    ]
    private static let isWilling = [HTTP2Frame.Setting.enableConnectProtocol(1)]

    /// A client inside an intercepted CONNECT, which speaks HTTP/1.1, with an origin that speaks
    /// both versions, and a connection of HTTP/2 to it that has served a request.
    private func run(
        _ settings: [HTTP2Frame.Setting] = isWilling,
        _ story:
            @escaping @Sendable (
                ProxyFixture, PlayedOrigin, ScriptedClient, HTTP2OriginConnection
            ) throws -> Void
    ) async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client().connectSecurely(authority)
            try client.send(head("GET /first HTTP/1.1", "Host: \(authority)"))
            let server = try proxy.authority.server("origin.test", ["h2", "http/1.1"])
            let secured = try SecureSocket(over: try origin.listener.accept(), as: server)
            #expect(secured.facts.chosenProtocol == "h2")
            let far = try HTTP2OriginConnection(
                secured.plain,
                settings: settings,
                security: secured
            )
            let request = try far.request()
            try far.reply(to: request.stream, body: "first")
            #expect(try client.response().bodyText == "first")
            try story(proxy, origin, client, far)
        }
    }

    private func ask(_ client: ScriptedClient, _ origin: PlayedOrigin) throws {
        let authority = origin.authority("origin.test")
        let lines = (["Host: \(authority)"] + Self.wish).map { $0 + "\r\n" }.joined()
        try client.send("GET /chat HTTP/1.1\r\n\(lines)\r\n")
    }

    @Test func `an upgrade of HTTP 1 takes a stream of a connection that is willing`()
        async throws
    {
        try await run { proxy, origin, client, far in
            try ask(client, origin)
            let request = try far.requestHead()
            #expect(request.method == "CONNECT")
            #expect(request[":protocol"] == "websocket")
            #expect(request[":scheme"] == "https")
            #expect(request[":authority"] == origin.authority("origin.test"))
            #expect(request.path == "/chat")
            #expect(request["sec-websocket-version"] == "13")
            #expect(request["x-a"] == "b")
            for name in ["sec-websocket-key", "connection", "upgrade", "host", "content-length"] {
                #expect(request[name] == nil)
            }
            try far.sendHead(request.stream, 200, ["sec-websocket-protocol": "chat"])
            try far.frames.send(.data(request.stream, "hello"))
            let response = try client.response()
            #expect(response.status == 101)
            #expect(response["Connection"] == "Upgrade")
            #expect(response["Upgrade"] == "websocket")
            #expect(response["Sec-WebSocket-Protocol"] == "chat")
            #expect(response.values("Sec-WebSocket-Accept") == ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
            #expect(response["Content-Length"] == nil)
            #expect(!response.isChunked)
            #expect(try client.stream.text(5) == "hello")
            try client.send("answer")
            #expect(try far.frames.text(of: request.stream, exactly: 6) == "answer")
            client.shutdownWrite()
            try far.frames.expectEnd(of: request.stream)
            try far.frames.send(.data(request.stream, "bye", end: true))
            #expect(try client.stream.text(3) == "bye")
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.records(2)[1]
            #expect(record["mode"] == "upgrade")
            #expect(record["outcome"] == "ok")
            #expect(record["network.protocol.version"] == "1.1")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a connection that is not willing is left aside`() async throws {
        try await run([]) { proxy, origin, client, far in
            try ask(client, origin)
            let server = try proxy.authority.server("origin.test", ["h2", "http/1.1"])
            let other = try origin.acceptSecurely(server)
            #expect(other.security?.facts.chosenProtocol == "http/1.1")
            let request = try other.request()
            #expect(request["Upgrade"] == "websocket")
            #expect(request["Sec-WebSocket-Key"] == Self.key)
            let proof = WebSocketProof.accept(Self.key)
            try other.send(
                head(
                    "HTTP/1.1 101 Switching Protocols",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Accept: \(proof)"
                ) + "hello"
            )
            #expect(try client.response()["Sec-WebSocket-Accept"] == proof)
            #expect(try client.stream.text(5) == "hello")
            try far.frames.expectAlive()
        }
    }

    @Test func `a refusal of HTTP 2 passes on`() async throws {
        try await run { proxy, origin, client, far in
            try ask(client, origin)
            let request = try far.requestHead()
            try far.reply(to: request.stream, 403, ["x-why": "because"], body: "no")
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response["x-why"] == "because")
            #expect(response["Sec-WebSocket-Accept"] == nil)
            #expect(response.bodyText == "no")
        }
    }

    @Test func `HTTP 2 on both sides joins two streams`() async throws {
        try await run { proxy, origin, _, far in
            let client = try proxy.http2Client()
            let authority = origin.authority("origin.test")
            let stream = try client.open(.webSocket(scheme: "https", authority: authority))
            let request = try far.requestHead()
            #expect(request[":protocol"] == "websocket")
            #expect(request.path == "/chat")
            for name in ["sec-websocket-key", "sec-websocket-accept", "upgrade"] {
                #expect(request[name] == nil)
            }
            try far.sendHead(request.stream, 200)
            let response = try client.frames.head(on: stream)
            #expect(response[":status"] == "200")
            for name in ["sec-websocket-key", "sec-websocket-accept", "upgrade"] {
                #expect(response[name] == nil)
            }
            try client.frames.send(.data(stream, "ping"))
            #expect(try far.frames.text(of: request.stream, exactly: 4) == "ping")
            try far.frames.send(.data(request.stream, "pong", end: true))
            #expect(try client.frames.text(of: stream, exactly: 4) == "pong")
            try client.frames.expectEnd(of: stream)
            try client.frames.send(.data(stream, "last", end: true))
            #expect(try far.frames.text(of: request.stream, exactly: 4) == "last")
            try far.frames.expectEnd(of: request.stream)
            let record = try proxy.records(2)[1]
            #expect(record["mode"] == "upgrade")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test(arguments: [true, false])
    func `a reset of one stream is a reset of the other`(isClient: Bool) async throws {
        try await run { proxy, origin, _, far in
            let client = try proxy.http2Client()
            let authority = origin.authority("origin.test")
            let stream = try client.open(.webSocket(scheme: "https", authority: authority))
            let request = try far.requestHead()
            try far.sendHead(request.stream, 200)
            _ = try client.frames.head(on: stream)
            if isClient {
                try client.frames.send(.resetStream(stream))
                try far.frames.expectReset(request.stream, .cancel)
            } else {
                try far.frames.send(.resetStream(request.stream, .internalError))
                try client.frames.expectReset(stream, .cancel)
            }
            try client.frames.expectAlive()
            try far.frames.expectAlive()
        }
    }

    @Test func `a refusal on a stream of the client passes on`() async throws {
        try await run { proxy, origin, _, far in
            let client = try proxy.http2Client()
            let authority = origin.authority("origin.test")
            let stream = try client.open(.webSocket(scheme: "https", authority: authority))
            let request = try far.requestHead()
            try far.reply(to: request.stream, 403, body: "no")
            let response = try client.response(on: stream)
            #expect(response.status == 403)
            #expect(response.bodyText == "no")
        }
    }
}
