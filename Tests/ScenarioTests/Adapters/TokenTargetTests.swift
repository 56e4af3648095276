// Where credentials may go and where not, what clients can do about it, and how tokens are asked.
import LupinIO
import LupinTestKit
import Testing

struct TokenTargetTests {
    private let field = "bearer: abc123"

    private func rules(_ token: String, _ match: String, _ steps: String = "") -> String {
        """
        tokens: {me: {\(token)}}
        rules:
          - {name: api, match: \(match), request: [{auth: me}\(steps)]}
        """
    }

    @Test func `what the client says of Authorization changes nothing`() async throws {
        try await ProxyFixture.run(rules(field, "{path: /**}")) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request.values("authorization") == ["Bearer abc123"])
                    #expect(request["connection"] == nil)
                    try connection.reply()
                }
            }
            let client = try proxy.client()
            let own = "Authorization: Bearer own"
            #expect(try client.get(origin.url(), own).status == 200)
            #expect(try client.get(origin.url(), "Connection: Authorization").status == 200)
            #expect(try client.get(origin.url(), "Connection: authorization", own).status == 200)
            #expect(try client.get(origin.url(), own, own).status == 200)
        }
    }

    @Test func `a credential does not follow a step to another host`() async throws {
        let other = try PlayedOrigin()
        let step = ", {url: {host: other.test, port: \(other.address.port)}}"
        let text = rules(field + ", plain_http: true", "{host: api.test}", step)
        try await ProxyFixture.run(text, resolve: ProxyFixture.here) { proxy in
            let response = try proxy.client().get("http://api.test/a")
            #expect(response.status == 502)
            #expect(response.bodyText.contains("\"me\" is not for other.test"))
            #expect(!response.bodyText.contains("abc123"))
            #expect(!other.hasWaiting)
            // It is the rules that can't be followed.
            #expect(try proxy.records(1)[0]["error.type"] == "proxy_configuration_error")
        }
        let listed = rules(
            field + ", plain_http: true, hosts: [other.test]",
            "{host: api.test}",
            step
        )
        try await ProxyFixture.run(listed, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://api.test/a")
            let connection = try other.accept()
            #expect(try connection.request()["authorization"] == "Bearer abc123")
            try connection.reply()
            #expect(try client.response().status == 200)
        }
    }

    @Test func `in clear a credential stays on this machine unless the rules allow more`()
        async throws
    {
        let origin = try PlayedOrigin()
        let url = "http://\(origin.authority("api.test"))/a"
        try await ProxyFixture.run(
            rules(field, "{host: api.test}"),
            resolve: ProxyFixture.here
        ) { proxy in
            let response = try proxy.client().get(url)
            #expect(response.status == 502)
            #expect(response.bodyText.contains("plain_http: true"))
            #expect(!origin.hasWaiting)
        }
        try await ProxyFixture.run(
            rules(field + ", plain_http: true", "{host: api.test}"),
            resolve: ProxyFixture.here
        ) { proxy in
            let client = try proxy.client()
            try client.send("GET", url)
            let connection = try origin.accept()
            #expect(try connection.request()["authorization"] == "Bearer abc123")
            try connection.reply()
            #expect(try client.response().status == 200)
        }
    }

    @Test func `inside an intercepted CONNECT a refused token is replaced`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let text = """
            tokens:
              me:
                oauth2:
                  {grant: client_credentials, url: "\(server.url)", client: {id: a, secret: b}}
            rules:
              - {name: inside, match: {host: origin.test}, request: [{auth: me}]}
            """
        try await Inside.run(text) { inside in
            try inside.send("POST", "/a", "Content-Length: 4", body: "ping")
            let connection = try inside.accept()
            for round in 1...2 {
                let request = try connection.request()
                #expect(request["authorization"] == "Bearer t\(round)")
                #expect(request.bodyText == "ping")
                try connection.reply(round == 1 ? 401 : 200, body: "\(round)")
            }
            #expect(try inside.client.response(to: "POST").bodyText == "2")
        }
    }

    @Test func `streams of HTTP2 on both sides are refreshed once for all`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let text = """
            tokens:
              me:
                oauth2:
                  {grant: client_credentials, url: "\(server.url)", client: {id: a, secret: b}}
            rules:
              - {name: inside, match: {host: origin.test}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(text, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedHTTP2Origin(
                security: try proxy.authority.server("origin.test")
            )
            let authority = origin.authority("origin.test")
            var security = SecureSocket.Client("origin.test")
            security.protocols = ["h2"]
            let client = try HTTP2Client(
                inside: proxy.client().connectSecurely(authority, security)
            )
            let body = [UInt8](repeating: 0x61, count: 20000)
            let head = HTTP2Fields.request(
                "POST",
                scheme: "https",
                authority: authority,
                path: "/a"
            )
            let warm = try client.send(head, body: [])
            let connection = try origin.accept()
            try connection.reply(to: try connection.request().stream)
            #expect(try client.response(on: warm, to: "POST").status == 200)
            let streams = try (0..<5).map { _ in try client.send(head, body: body) }
            var refused: [UInt32] = []
            for _ in streams {
                let request = try connection.request()
                #expect(request["authorization"] == "Bearer t1")
                refused.append(request.stream)
            }
            for stream in refused { try connection.reply(to: stream, 401, body: "no") }
            for _ in streams {
                let request = try connection.request()
                #expect(request["authorization"] == "Bearer t2")
                #expect(request.body == body)
                try connection.reply(to: request.stream, 200, body: "in")
            }
            for stream in streams {
                #expect(try client.response(on: stream, to: "POST").status == 200)
            }
            #expect(server.count == 2)
        }
    }
}

/// How token servers are reached, and who may use what they issue.
struct TokenRequestTests {
    @Test func `no rule touches the request for a token`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let text =
            TokenRefreshTests.rules(server)
            + "\n  - {name: all, match: {path: /token}, respond: {status: 418}}"
            + "\n  - {name: more, match: {path: /token}, request: [{set: {X-Touched: yes}}]}"
        try await ProxyFixture.run(text) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            let request = server.requests[0]
            #expect(request["x-touched"] == nil)
            #expect(request.startLine == "POST /token HTTP/1.1")
            #expect(request["content-type"] == "application/x-www-form-urlencoded")
            #expect(request["accept"] == "application/json")
        }
    }

    @Test func `a token server is asked through the parent proxy`() async throws {
        let parent = try PlayedOrigin()
        let text = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: []}
            tokens:
              me:
                oauth2:
                  grant: client_credentials
                  url: "https://id.test/token"
                  client: {id: cli, secret: "p w", send: body}
                  scope: a b
                plain_http: true
            rules:
              - {name: api, match: {host: api.test}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(text) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://api.test/a")
            let passage = try parent.accept()
            #expect(try passage.requestHead().startLine == "CONNECT id.test:443 HTTP/1.1")
            try passage.send(head("HTTP/1.1 200 OK"))
            let inside = try passage.secure(try proxy.authority.server("id.test"))
            let request = try inside.request()
            #expect(
                request.bodyText == "grant_type=client_credentials&scope=a+b"
                    + "&client_id=cli&client_secret=p+w"
            )
            #expect(request["authorization"] == nil)
            try inside.reply(body: #"{"access_token":"t1","token_type":"bearer"}"#)
            let plain = try parent.accept()
            let sent = try plain.request()
            #expect(sent.startLine == "GET http://api.test/a HTTP/1.1")
            #expect(sent["authorization"] == "Bearer t1")
            try plain.reply()
            #expect(try client.response().status == 200)
        }
    }

    @Test func `what is this machine's own leaves it by no parent proxy`() async throws {
        let parent = try PlayedOrigin()
        let text = """
            upstream: {proxy: "http://parent.test:\(parent.address.port)", no_proxy: []}
            tokens: {me: {bearer: abc123}}
            rules:
              - {match: {path: /token}, request: [{auth: me}]}
              - {match: {path: /jar}, cookies: {jar: jar.txt}}
            """
        try await ProxyFixture.run(text, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            for host in ["127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"] {
                let refused = try client.get("http://\(host):1/token")
                #expect(refused.status == 502)
                #expect(refused.bodyText.contains("by a parent proxy on another machine"))
                #expect(!parent.hasWaiting)
            }
            try client.send("GET", "http://127.0.0.1:1/jar")
            let passage = try parent.accept()
            _ = try passage.request()
            try passage.reply(200, "Set-Cookie: a=b; Secure", "Set-Cookie: c=d")
            #expect(try client.response().status == 200)
            try client.send("GET", "http://127.0.0.1:1/jar")
            #expect(try passage.request().values("cookie") == ["c=d"])
            try passage.reply()
            #expect(try client.response().status == 200)
        }
    }

    @Test func `a token server with a strange certificate is told nothing`() async throws {
        let origin = try PlayedOrigin()
        let text = """
            tokens:
              me:
                oauth2:
                  grant: client_credentials
                  url: "https://\(origin.authority("id.test"))/token"
                  client: {id: cli, secret: pw}
            rules:
              - {name: api, match: {path: /api/**}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(text, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://127.0.0.1:1/api/a")
            let strange = try TestAuthority()
            #expect(throws: (any Error).self) {
                let connection = try origin.acceptSecurely(try strange.server("id.test"))
                _ = try connection.requestHead()
            }
            let response = try client.response()
            #expect(response.status == 502)
            let server = origin.authority("id.test")
            let text = "the certificate of its token server \(server) is not trusted"
            #expect(response.bodyText.contains(text))
            #expect(response.bodyText.contains("name it in `upstream.tls.roots`"))
        }
    }

    @Test func `where a token server points is told, and nobody goes there`() async throws {
        let server = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                try connection.reply(302, "Location: https://login.test/x?code=s3cret")
            }
        }
        defer { server.stop() }
        let text = """
            tokens:
              me:
                oauth2:
                  grant: client_credentials
                  url: "\(server.url("/token"))"
                  client: {id: cli, secret: pw}
            rules:
              - {name: api, match: {path: /api/**}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(text) { proxy in
            let response = try proxy.client().get("http://127.0.0.1:1/api/a")
            #expect(response.status == 502)
            #expect(response.bodyText.contains("answered 302 and points to https://login.test/x."))
            #expect(!response.bodyText.contains("s3cret") && !proxy.logText.contains("s3cret"))
        }
    }

    @Test func `strangers get 403 and nothing is asked or sent`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let later = "\n  - {name: later, match: {path: /**}, timeouts: {total: 1m}}"
        let text =
            "access: {credentials: [nobody]}\n" + TokenRefreshTests.rules(server) + later
        try await ProxyFixture.run(text) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let response = try proxy.client().get(origin.url("/api/a"))
            #expect(response.status == 403)
            // The rule that attaches them, and no later one.
            #expect(response.bodyText.contains("the rule \"api\" uses credentials of user"))
            #expect(origin.connections.isEmpty)
            #expect(server.count == 0)
            // What holds no secret is open to all.
            #expect(try proxy.client().get(origin.url("/open")).status == 401)
            #expect(try proxy.records(2)[0]["outcome"] == "denied")
        }
    }
}
