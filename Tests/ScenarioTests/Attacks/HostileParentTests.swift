// A parent proxy that would like to be the origin: nothing it says before TLS is the origin's.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct HostileParentTests {
    private func rules(
        _ parent: PlayedOrigin,
        userinfo: String = "",
        _ keys: String = "retry: none"
    ) -> String {
        """
        upstream: {proxy: "http://\(userinfo)\(parent.authority)", no_proxy: []}
        rules: [{name: inside, match: {host: "*.test"}, request: [{set: {X-In: "1"}}], \(keys)}]
        """
    }

    /// Runs a story up to the CONNECT that lupin makes for a request inside one of a client's.
    ///
    /// With credentials for the parent, since otherwise lupin asks it before the client's 200.
    private func run(
        userinfo: String = "corp:secret@",
        _ keys: String = "retry: none",
        _ fields: [String] = [],
        _ body:
            @Sendable @escaping (ProxyFixture, PlayedOrigin, ScriptedClient, OriginConnection)
            throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, userinfo: userinfo, keys)) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/", fields)
            let passage = try parent.accept()
            #expect(try passage.requestHead().startLine == "CONNECT origin.test:443 HTTP/1.1")
            try body(proxy, parent, client, passage)
        }
    }

    /// Answers to CONNECT in the place of a passage, with what must not be taken for the origin's.
    static let answers = [
        head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: TLS/1.2") + "evil",
        head("HTTP/1.1 200 OK", "Content-Length: 4") + "evil",
        head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "4\r\nevil\r\n0\r\n\r\n",
        head("HTTP/1.1 200 OK") + head("HTTP/1.1 200 OK", "Content-Length: 4") + "evil",
        head("HTTP/1.1 204 None") + head("HTTP/1.1 200 evil", "Content-Length: 0"),
        head("HTTP/1.1 302 Go", "Location: https://evil.test/", "Content-Length: 0"),
        head("HTTP/1.1 401 No", "WWW-Authenticate: Basic realm=\"evil\"", "Content-Length: 0"),
        head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6") + "evil",
        head("HTTP/1.1 200 OK", "X: \(String(repeating: "evil", count: 40_000))"),
        head("HTTP/1.1 200 OK") + "evil: \0\0\0",
        "HTTP/1.1 200 OK\nX: evil\n\n", "evil\r\n\r\n",
        String(repeating: head("HTTP/1.1 103 Hints", "X: evil"), count: 20_000),
    ]

    @Test(arguments: answers)
    func `what a parent says before the origin's TLS is a 502 and nobody's response`(
        answer: String
    ) async throws {
        try await run("retry: none, redirect: {follow: true}, cache: standard") {
            proxy,
            parent,
            client,
            passage in
            try? passage.send(answer)
            passage.shutdownWrite()
            let response = try client.response()
            #expect(response.status == 502)
            #expect(!response.bodyText.contains("evil"))
            for name in ["Location", "WWW-Authenticate", "X"] { #expect(response[name] == nil) }
            #expect(!parent.hasWaiting)
            #expect(try proxy.record()["outcome"] == "error")
            // Who did not say 2xx gets no byte of the origin's TLS.
            if !answer.hasPrefix("HTTP/1.1 20") {
                #expect(try passage.stream.untilEnd().bytes.isEmpty)
            }
        }
    }

    @Test func `fields of a parent's 200 reach neither client nor jar`() async throws {
        try await run("cookies: {jar: DIR/jar}") { proxy, parent, client, passage in
            try passage.send(
                head(
                    "HTTP/1.1 200 OK",
                    "Set-Cookie: evil=1; Max-Age=900",
                    "Proxy-Authenticate: Basic realm=\"evil\"",
                    "Proxy-Authentication-Info: evil",
                    "Alt-Svc: h2=\"evil.test:443\"",
                    "Strict-Transport-Security: max-age=1"
                )
            )
            let far = try passage.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            for i in 0..<2 {
                if i > 0 { try client.send("GET", "https://origin.test/") }
                let request = try far.request()
                #expect(request["Cookie"] == nil)
                try far.reply(body: "good")
                let response = try client.response()
                #expect(response.bodyText == "good")
                #expect(!response.fields.contains { $0.value.contains("evil") })
            }
        }
    }

    @Test func `nor do those of a parent's 200 to a client's own CONNECT`() async throws {
        let parent = try PlayedOrigin()
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:443")
            let passage = try parent.accept()
            _ = try passage.requestHead()
            try passage.send(
                head(
                    "HTTP/1.1 200 OK",
                    "Content-Length: 4",
                    "Set-Cookie: evil=1",
                    "Proxy-Authenticate: Basic realm=\"evil\""
                ) + "raw!"
            )
            let response = try client.response(to: "CONNECT")
            #expect(response.status == 200)
            for name in ["Content-Length", "Transfer-Encoding", "Proxy-Authenticate"] {
                #expect(response[name] == nil, "\(name)")
            }
            #expect(try client.stream.text(4) == "raw!")
        }
    }

    @Test(arguments: ["other.test", "127.0.0.1", "strange"])
    func `a parent that ends the TLS itself shows a certificate that does not hold`(
        name: String
    ) async throws {
        try await run { proxy, parent, client, passage in
            try passage.send(head("HTTP/1.1 200 OK"))
            let isStrange = name == "strange"
            let authority = isStrange ? try TestAuthority() : proxy.authority
            let server = try authority.server(isStrange ? "origin.test" : name)
            #expect(throws: (any Error).self) { try passage.secure(server) }
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("tls_certificate_error") == true)
        }
    }

    @Test(arguments: [
        "Basic realm=\"corp\"", "Digest realm=\"corp\", nonce=\"N\", qop=\"auth\"",
        "Digest realm=\"corp\", nonce=\"N\", qop=\"auth\", stale=true", "Negotiate",
    ])
    func `a parent that wants credentials for ever gets them a few times`(
        challenge: String
    ) async throws {
        let userinfo = "corp:secret@"
        try await run(userinfo: userinfo) { proxy, parent, client, first in
            var passage = first
            var asked = 1
            while asked < 20, !client.stream.socket.hasUnread {
                let field = "Proxy-Authenticate: \(challenge.replacing("N", with: "n\(asked)"))"
                try passage.reply(407, field, body: "who?")
                // It may ask on the same connection, or on another one.
                if try passage.stream.head() == nil {
                    try eventually("the next step") {
                        client.stream.socket.hasUnread || parent.hasWaiting
                    }
                    if client.stream.socket.hasUnread { break }
                    passage = try parent.accept()
                    _ = try passage.requestHead()
                }
                asked += 1
            }
            #expect(asked <= 4)
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Authenticate"] == nil)
        }
    }

    @Test(arguments: [true, false])
    func `what a client says to its proxy stays with it`(isInside: Bool) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, userinfo: "corp:secret@")) { proxy in
            let outer = try proxy.client()
            let client = isInside ? try outer.connectSecurely("origin.test:443") : outer
            let secret = "Proxy-Authorization: Basic Y2xpZW50OnB3"
            try client.send("GET", "https://origin.test/", [secret])
            let passage = try parent.accept()
            _ = try passage.requestHead()
            try passage.send(head("HTTP/1.1 200 OK"))
            let far = try passage.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            let request = try far.request()
            #expect(request["Proxy-Authorization"] == nil)
            #expect(!far.receivedText.contains("Y2xpZW50OnB3"))
            try far.reply(body: "good")
            #expect(try client.response().bodyText == "good")
        }
    }

    @Test func `a passage to one origin is never one to another`() async throws {
        try await run { proxy, parent, client, passage in
            try passage.send(head("HTTP/1.1 200 OK"))
            // Its certificate holds for both.
            let identity = try proxy.authority.identity("origin.test") {
                $0.alternativeNames = [.dns("origin.test"), .dns("other.test")]
            }
            var server = SecureSocket.Server(identity)
            server.protocols = ["http/1.1"]
            let far = try passage.secure(server)
            try far.request()
            try far.reply(body: "origin")
            #expect(try client.response().bodyText == "origin")
            let other = try proxy.client()
            try other.send("GET", "https://other.test/")
            let second = try parent.accept()
            #expect(try second.requestHead().startLine == "CONNECT other.test:443 HTTP/1.1")
            second.close()
            #expect(try other.response().status == 502)
        }
    }
}
