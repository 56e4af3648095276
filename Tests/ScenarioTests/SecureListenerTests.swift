// lupin as an HTTPS proxy: clients that make TLS with the listener before they ask for anything.
import LupinProxy
import LupinTLS
import LupinTestKit
import Testing

struct SecureListenerTests {
    private static let listener = """
        listen: [{address: "127.0.0.1:1", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}}]

        """

    private func run(
        _ rules: String = "",
        clock: VirtualClock? = nil,
        users: ClientUsers? = nil,
        _ body: @Sendable @escaping (ProxyFixture) async throws -> Void
    ) async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        try await ProxyFixture.run(
            Self.listener + rules,
            clock: clock,
            files: ["proxy.pem": files.pem, "proxy.key": files.key],
            resolve: ProxyFixture.here,
            authentication: users.map { [$0.authentication] } ?? [],
            body
        )
    }

    /// A client that has made TLS with the proxy.
    private func client(_ proxy: ProxyFixture) throws -> ScriptedClient {
        try proxy.client().secure(SecureSocket.Client("proxy.test"))
    }

    @Test func `a plain request comes through TLS`() async throws {
        try await run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request.target)
                }
            }
            let client = try client(proxy)
            let shown = try #require(client.security?.facts.certificates.first)
            let names = try Certificate.parse(der: shown).subjectAlternativeNames
            #expect(names == [.dns("proxy.test")])
            #expect(try client.get(origin.url("/1")).bodyText == "/1")
            #expect(try client.get(origin.url("/2")).bodyText == "/2")
            let record = try proxy.records(2)[1]
            #expect(record["mode"] == "http")
            #expect(record["url.scheme"] == "http")
            client.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `its own pages tell browsers to make TLS with it`() async throws {
        try await run { proxy in
            let client = try client(proxy)
            let here = try #require(proxy.proxy.addresses.first)
            try client.send("GET /proxy.pac HTTP/1.1\r\nHost: \(here)\r\n\r\n")
            #expect(try client.response().bodyText.contains("return \"HTTPS \(here)\";"))
            try client.send("GET / HTTP/1.1\r\nHost: \(here)\r\n\r\n")
            #expect(try client.response().bodyText.contains("https_proxy=https://\(here)"))
        }
    }

    @Test(arguments: [["h2", "http/1.1"], ["h2"], ["http/1.1"]])
    func `ALPN chooses HTTP 2 where it is offered`(protocols: [String]) async throws {
        try await run { proxy in
            var tls = SecureSocket.Client("proxy.test")
            tls.protocols = protocols
            let client = try proxy.client().secure(tls)
            #expect(client.security?.facts.chosenProtocol == protocols.first)
        }
    }

    @Test func `a tunnel inside TLS ends side by side`() async throws {
        try await run { proxy in
            let origin = try PlayedOrigin()
            let client = try client(proxy)
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            try client.send("up")
            #expect(try far.stream.text(2) == "up")
            client.shutdownWrite()
            #expect(try far.waitForEnd() == .finished)
            try far.send("down")
            far.shutdownWrite()
            #expect(try client.stream.text(4) == "down")
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test(arguments: [true, false])
    func `a tunnel that breaks on one side breaks on the other`(clientBreaks: Bool) async throws {
        try await run { proxy in
            let origin = try PlayedOrigin()
            let client = try client(proxy)
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            try client.send("up")
            #expect(try far.stream.text(2) == "up")
            if clientBreaks {
                // FIN without close_notify: whoever cut the connection may not be the client.
                client.security?.truncate()
                #expect(try far.waitForEnd() == .reset)
            } else {
                far.reset()
                #expect(try client.waitForEnd() == .reset)
            }
        }
    }

    @Test func `an intercepted CONNECT is TLS in TLS`() async throws {
        try await run(Inside.rule) { proxy in
            let count = 1 << 20
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                let request = try connection.request()
                #expect(request.body == BytePattern.bytes(1, count))
                try connection.send(head("HTTP/1.1 200 OK", "Content-Length: \(count)"))
                try connection.stream.socket.send(pattern: 2, count: count)
            }
            let authority = origin.authority("origin.test")
            let inner = try client(proxy).connectSecurely(authority)
            let leaf = try #require(inner.security?.facts.certificates.first)
            let names = try Certificate.parse(der: leaf).subjectAlternativeNames
            #expect(names == [.dns("origin.test")])
            try inner.send(
                head("POST / HTTP/1.1", "Host: \(authority)", "Content-Length: \(count)")
            )
            try inner.stream.socket.send(pattern: 1, count: count)
            #expect(try inner.response().body == BytePattern.bytes(2, count))
            #expect(try proxy.record()["mode"] == "intercept")
            inner.shutdownWrite()
            #expect(try inner.waitForEnd() == .finished)
        }
    }

    @Test func `a handshake that stands still is given up after timeouts_tls`() async throws {
        let clock = VirtualClock()
        try await run("timeouts: {tls: 5s}", clock: clock) { proxy in
            let clients = [try proxy.client(), try proxy.client()]
            try clients[1].send(SecureSocket.clientHello())
            _ = try clients[1].stream.bytes(1)
            try clock.advance(by: .milliseconds(4_900))
            for client in clients { #expect(!client.stream.socket.isClosedByPeer) }
            try clock.advance(by: .milliseconds(200))
            for client in clients { try client.stream.socket.waitUntilClosedByPeer() }
        }
    }

    @Test func `a stop does not wait for a client that says nothing`() async throws {
        try await run { proxy in
            let client = try proxy.client()
            try proxy.settle()
            proxy.beginStopping()
            try client.stream.socket.waitUntilClosedByPeer()
        }
    }

    @Test func `plain HTTP to it gets no answer in clear, and goes nowhere`() async throws {
        try await run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let text = String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self)
            #expect(!text.contains("HTTP/"))
            #expect(!origin.hasWaiting)
            // Who speaks TLS is served as before.
            #expect(try self.client(proxy).get("http://[::").status == 400)
        }
    }

    @Test func `passwords are asked for inside TLS`() async throws {
        let users = try ClientUsers()
        try await run(Inside.rule, users: users) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                let request = try connection.request()
                #expect(request["Proxy-Authorization"] == nil)
                try connection.reply(204)
            }
            let authority = origin.authority("origin.test")
            #expect(try self.client(proxy).connect(authority).status == 407)
            let client = try client(proxy)
            let lines = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n"
            try client.send("\(lines)\(ClientUsers.alice)\r\n\r\n")
            #expect(try client.response(to: "CONNECT").status == 200)
            // Inside, nobody is asked again.
            let inner = try client.secure(SecureSocket.Client("origin.test"))
            #expect(try inner.get("https://\(authority)/").status == 204)
            #expect(try proxy.records(2)[1]["client.user"] == "alice")
        }
    }

    @Test func `one connection too many is refused inside TLS`() async throws {
        try await run("limits: {client_connections: 1}") { proxy in
            let first = try client(proxy)
            let second = try client(proxy)
            #expect(try second.response().status == 429)
            #expect(try second.waitForEnd() == .finished)
            first.close()
        }
    }
}
