// The admin interface over TCP: the right name and the token, or nothing.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct AdminHTTPTests {
    private static let token = "0123456789abcdef"

    @Test func `name and token decide, and in that order`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = "admin: {socket: off, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}"
        try await ProxyFixture.run(rules) { proxy in
            let rows: [(String, String, Int)] = [
                ("127.0.0.1:\(port)", "Authorization: Bearer \(Self.token)\r\n", 200),
                ("localhost:\(port)", "Authorization: bearer \(Self.token)\r\n", 200),
                ("LOCALHOST:\(port)", "Authorization: Bearer \(Self.token)\r\n", 200),
                ("127.0.0.1:\(port)", "", 401),
                ("127.0.0.1:\(port)", "Authorization: Bearer \(Self.token)x\r\n", 401),
                ("127.0.0.1:\(port)", "Authorization: Basic \(Self.token)\r\n", 401),
                ("evil.example:\(port)", "Authorization: Bearer \(Self.token)\r\n", 421),
                ("localhost:1", "Authorization: Bearer \(Self.token)\r\n", 421),
                ("localhost", "Authorization: Bearer \(Self.token)\r\n", 421),
            ]
            for (host, field, status) in rows {
                let client = try ScriptedClient(to: .loopback(port: port))
                try client.send("GET /v1/status HTTP/1.1\r\nHost: \(host)\r\n\(field)\r\n")
                let response = try client.response()
                #expect(response.status == status, "\(host) \(field)")
                #expect((response["WWW-Authenticate"] != nil) == (status == 401))
                if status != 200 { #expect(try client.waitForEnd() == .finished) }
                client.close()
            }
        }
    }

    @Test func `only the socket gives the text of the rules file, which may hold secrets`()
        async throws
    {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = """
            admin: {socket: DIR/s, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let remote = try ScriptedClient(to: .loopback(port: port))
            let head = "GET /v1/rules HTTP/1.1\r\nHost: localhost:\(port)\r\n"
            try remote.send(head + "Authorization: Bearer \(Self.token)\r\n\r\n")
            let refusal = try remote.response()
            #expect(refusal.status == 403)
            #expect(!refusal.bodyText.contains("admin:"))
            let local = ScriptedClient(
                over: try PlainSocket.connect(toPath: "\(proxy.directory)/s")
            )
            try local.send("GET /v1/rules HTTP/1.1\r\nHost: lupin\r\n\r\n")
            let answer = try local.response()
            #expect(answer.status == 200)
            #expect(RecordLine(answer.bodyText)?["text"]?.contains("admin:") == true)
            for client in [remote, local] { client.close() }
        }
    }

    /// The token is for programs that watch; what acts as the owner wants the owner.
    @Test func `over TCP nothing is sent, no rule is written and no inspector opened`() async throws
    {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = """
            admin: {socket: DIR/s, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}
            """
        try await ProxyFixture.run(rules, watchesRules: true) { _ in
            for (method, path) in [
                ("POST", "/v1/send"), ("POST", "/v1/rules/preview"), ("POST", "/v1/rules/append"),
                ("POST", "/v1/inspector"), ("PUT", "/v1/capture"), ("DELETE", "/v1/capture"),
                ("DELETE", "/v1/exchanges/0123abcd/capture"), ("POST", "/v1/archives"),
            ] {
                let client = try ScriptedClient(to: .loopback(port: port))
                defer { client.close() }
                try client.send(
                    head(
                        "\(method) \(path) HTTP/1.1",
                        "Host: localhost:\(port)",
                        "Authorization: Bearer \(Self.token)",
                        "Content-Type: application/json",
                        "Content-Length: 2"
                    ) + "{}"
                )
                let answer = try client.response(to: method)
                #expect(answer.status == 403, "\(path)")
                #expect(answer.bodyText.contains("socket"), "\(answer.bodyText)")
            }
        }
    }

    @Test func `silent connections keep out nobody who knows the token`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = """
            admin: {socket: DIR/s, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let crowd = try (0..<70).map { _ in try ScriptedClient(to: .loopback(port: port)) }
            try crowd[69].send("GET /v1/sta")
            let client = try ScriptedClient(to: .loopback(port: port))
            let head = "GET /v1/status HTTP/1.1\r\nHost: localhost:\(port)\r\n"
            try client.send(head + "Authorization: Bearer \(Self.token)\r\n\r\n")
            #expect(try client.response().status == 200)
            // The socket has a budget of its own.
            let socket = try PlainSocket.connect(toPath: "\(proxy.directory)/s")
            let local = ScriptedClient(over: socket)
            try local.send("GET /v1/status HTTP/1.1\r\nHost: lupin\r\n\r\n")
            #expect(try local.response().status == 200)
            for client in crowd + [client, local] { client.close() }
        }
    }

    @Test func `a client without a token has five seconds for its first head`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let clock = VirtualClock()
        let rules = "admin: {socket: off, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let (silent, slow) = (
                try ScriptedClient(to: .loopback(port: port)),
                try ScriptedClient(to: .loopback(port: port))
            )
            try slow.send("GET /v1/status HT")
            let known = try ScriptedClient(to: .loopback(port: port))
            let head = "GET /v1/status HTTP/1.1\r\nHost: localhost:\(port)\r\n"
            try known.send(head + "Authorization: Bearer \(Self.token)\r\n\r\n")
            #expect(try known.response().status == 200)
            try proxy.settle()
            try clock.advance(by: .milliseconds(4900))
            #expect(!silent.stream.socket.isClosedByPeer && !slow.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            try eventually("the end of the silent one") { silent.stream.socket.isClosedByPeer }
            #expect(try slow.response().status == 408)
            #expect(!known.stream.socket.isClosedByPeer)
            for client in [silent, slow, known] { client.close() }
        }
    }

    @Test func `where it cannot be, lupin warns and works`() async throws {
        let taken = try PlainListener()
        let rules = "admin: {http: {address: \"\(taken.address)\", token: \(Self.token)}}"
        try await ProxyFixture.run(rules) { proxy in
            #expect(proxy.warnings.count == 1)
            #expect(proxy.warnings.first?.hasPrefix("no admin interface at ") == true)
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
        }
    }
}
