// Upgrades that come to nothing: what a client sent for the new protocol is no request of anybody.
import LupinIO
import LupinTestKit
import Testing

struct UpgradeSmugglingTests {
    private static let wish = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    /// A request for what the rules deny: as bytes of a connection it would get through.
    private static func smuggled(_ authority: String) -> String {
        head("GET http://internal.test/smuggled HTTP/1.1", "Host: internal.test")
            + head("GET /smuggled HTTP/1.1", "Host: \(authority)", "X-Smuggled: 1")
    }

    /// With what is denied anyway: a list of one's own takes its place.
    private static let rules = "access: {deny_targets: [link-local, self, internal.test]}"

    private static func upgrade(_ authority: String, _ fields: [String] = wish) -> String {
        (["GET http://\(authority)/chat HTTP/1.1", "Host: \(authority)"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test(arguments: [
        head("HTTP/1.1 200 OK", "Content-Length: 2") + "no",
        head("HTTP/1.1 426 No", "Upgrade: websocket", "Connection: Upgrade", "Content-Length: 0"),
        head("HTTP/1.1 400 No", "Sec-WebSocket-Version: 7", "Content-Length: 0"),
        head("HTTP/1.1 204 None", "Upgrade: websocket", "Connection: Upgrade"),
        head("HTTP/1.1 304 Same", "Upgrade: websocket", "Connection: Upgrade"),
        head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: other"),
        head("HTTP/1.1 101 Switching", "Connection: Upgrade"),
        head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: websocket, other"),
        head("HTTP/1.1 102 Wait", "Upgrade: websocket", "Connection: Upgrade")
            + head("HTTP/1.1 200 OK", "Content-Length: 0"),
    ])
    func `bytes behind a wish that is not met go nowhere as they are`(
        answer: String
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let text = Self.smuggled(origin.authority)
            try client.send(Self.upgrade(origin.authority) + text)
            let far = try origin.accept()
            try far.request()
            try proxy.settle()
            #expect(far.stream.unread.isEmpty)
            try far.send(answer)
            let response = try client.response()
            #expect(response.status != 101)
            try proxy.settleWell()
            // What is pipelined is a request to lupin, and refused, or nothing at all.
            if let next = try client.stream.head() {
                #expect(next.status == 403)
            }
            try proxy.settleWell()
            if far.stream.socket.hasInput { _ = try far.stream.some() }
            #expect(!far.receivedText.contains("internal.test"))
            #expect(!far.receivedText.contains("X-Smuggled"))
        }
    }

    @Test(arguments: ["", "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n"])
    func `an answer that is proof of nothing makes no WebSocket of a stream`(
        proof: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(HTTP2Fields.webSocket(authority: origin.authority))
            try client.frames.send(.data(stream, Self.smuggled(origin.authority)))
            let far = try origin.accept()
            try far.request()
            try far.send(
                "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "\(proof)\r\n"
            )
            #expect(try client.frames.head(on: stream)[":status"] == "502")
            #expect(!far.receivedText.contains("smuggled"))
            #expect(!far.stream.socket.hasUnread || far.stream.socket.isClosedByPeer)
        }
    }

    @Test(arguments: ["Content-Length: 5", "Transfer-Encoding: chunked"])
    func `a 101 has no length, and what is behind it is the protocol's`(
        field: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(Self.upgrade(origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.send(
                head(
                    "HTTP/1.1 101 Switching",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                    field
                ) + "hello, and more"
            )
            let response = try client.response()
            guard response.status == 101 else {
                #expect(response.status == 502)
                return
            }
            #expect(response["Content-Length"] == nil)
            #expect(response["Transfer-Encoding"] == nil)
            #expect(try client.stream.text(15) == "hello, and more")
        }
    }

    @Test(arguments: [
        ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"],
        ["Connection: Upgrade", "Upgrade:\th2c "],
        ["Connection: Upgrade", "Upgrade: x", "Upgrade: h2c"],
        ["Connection: Upgrade,HTTP2-Settings", "Upgrade: x, H2C", "HTTP2-Settings: AAMAAABk"],
    ])
    func `h2c is asked of no origin, and a preface behind it reaches none`(
        fields: [String]
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"
            try client.send(Self.upgrade(origin.authority, fields) + preface)
            if let far = try Self.asked(origin, client) {
                let request = try far.request()
                #expect(request["Upgrade"]?.lowercased().contains("h2c") != true)
                #expect(request["HTTP2-Settings"] == nil)
                try far.reply(body: "plain")
                #expect(try client.response().bodyText == "plain")
                try proxy.settleWell()
                if far.stream.socket.hasInput { _ = try far.stream.some() }
                #expect(!far.receivedText.contains("PRI *"))
            } else {
                #expect(try client.response().status == 400)
            }
        }
    }

    /// The origin's connection, unless the client was answered without it.
    private static func asked(
        _ origin: PlayedOrigin,
        _ client: ScriptedClient
    ) throws -> OriginConnection? {
        try eventually("a request or a response") {
            origin.hasWaiting || client.stream.socket.hasUnread
        }
        return origin.hasWaiting ? try origin.accept() : nil
    }

    /// Targets that no CONNECT comes to.
    @Test(arguments: [
        "internal.test:443", "169.254.169.254:443", "nowhere.test:443", "127.0.0.1:CLOSED",
        "127.0.0.1:OWN", "nonsense", "127.0.0.1:0", "127.0.0.1:65536",
    ])
    func `bytes behind a CONNECT that is refused are not read`(target: String) async throws {
        let closed = try PlayedOrigin()
        closed.close()
        try await ProxyFixture.run(Self.rules, resolve: { _ in .failure(.notFound) }) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let authority = target.replacing("CLOSED", with: "\(closed.address.port)")
                .replacing("OWN", with: "\(proxy.address.port)")
            let client = try proxy.client()
            try client.send(
                head("CONNECT \(authority) HTTP/1.1", "Host: \(authority)")
                    + head("GET \(origin.url()) HTTP/1.1", "Host: \(origin.authority)")
            )
            let response = try client.response(to: "CONNECT")
            #expect(response.status >= 400)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test(arguments: [200, 426])
    func `two users' requests never mix on a connection behind a refused upgrade`(
        status: Int
    ) async throws {
        let users = LocalUsers()
        try await ProxyFixture.run(Self.rules, identify: users.identify) { proxy in
            let origin = try PlayedOrigin()
            let stranger = try users.stranger(proxy)
            try stranger.send(Self.upgrade(origin.authority) + Self.smuggled(origin.authority))
            let far = try origin.accept()
            try far.request()
            try far.reply(status, "Upgrade: websocket", "Connection: Upgrade", body: "no")
            #expect(try stranger.response().status == status)
            let owner = try proxy.client()
            try owner.send("GET", origin.url("/own"), ["Cookie: mine=1"])
            try proxy.settleWell()
            let next = origin.hasWaiting ? try origin.accept() : far
            let request = try next.request()
            #expect(request.target == "/own")
            #expect(request["Cookie"] == "mine=1")
            try next.reply(body: "for the owner")
            #expect(try owner.response().bodyText == "for the owner")
            let rest = try stranger.stream.head()
            #expect(rest == nil || rest?.status == 403)
            #expect(!stranger.stream.receivedText.contains("for the owner"))
            #expect(!far.receivedText.contains("X-Smuggled"))
        }
    }
}
