// TLS with origins: how connections are used again, resumed and asked for, and by which requests.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct UpstreamTLSTests {
    @Test func `GET of an https URL without CONNECT has lupin make the TLS`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                let request = try connection.request()
                #expect(request.startLine == "GET /a?b HTTP/1.1")
                try connection.reply(body: request["Host"] ?? "nobody")
            }
            let authority = origin.authority("origin.test")
            let response = try proxy.client().get("https://\(authority)/a?b")
            #expect(response.bodyText == authority)
            let facts = try #require(try origin.connection().security).facts
            #expect(facts.serverName == "origin.test")
            #expect(facts.version == .tls13)
            let record = try proxy.record()
            #expect(record["mode"] == "http")
            #expect(record["url.full"] == "https://\(authority)/a?b")
            #expect(record["attempts.0.tls"] == "1.3")
        }
    }

    @Test func `a server that knows HTTP 1_1 alone gets it`() async throws {
        try await ProxyFixture.run { proxy in
            var server = try proxy.authority.server("127.0.0.1", ["http/1.1"])
            server.maximum = .tls12
            let origin = try proxy.origin(security: server) {
                try $0.request()
                try $0.reply(204)
            }
            #expect(try proxy.client().get("https://\(origin.authority)/").status == 204)
            let facts = try #require(try origin.connection().security).facts
            #expect(facts.chosenProtocol == "http/1.1")
            #expect(facts.serverName == nil)
            #expect(try proxy.record()["attempts.0.tls"] == "1.2")
        }
    }

    @Test func `one connection serves several clients, by CONNECT and by URL`() async throws {
        try await Inside.run { inside in
            try inside.send("GET", "/1")
            let far = try inside.accept()
            for path in ["/1", "/2", "/3"] {
                if path == "/2" {
                    let second = try inside.proxy.client().connectSecurely(inside.authority)
                    try second.send("GET /2 HTTP/1.1\r\nHost: \(inside.authority)\r\n\r\n")
                    #expect(try far.request().target == path)
                    try far.reply(body: path)
                    #expect(try second.response().bodyText == path)
                    continue
                }
                let client = path == "/1" ? inside.client : try inside.proxy.client()
                if path == "/3" { try client.send("GET", "https://\(inside.authority)/3") }
                #expect(try far.request().target == path)
                try far.reply(body: path)
                #expect(try client.response().bodyText == path)
            }
            #expect(!inside.origin.hasWaiting)
            #expect(try inside.proxy.records(3).map { $0["attempts.0.reused"] } == [nil, "1", "1"])
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], ["keep-alive", "close"])
    func `a second connection to an origin resumes the first one's TLS`(
        version: TLSVersion,
        connection: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            var server = try proxy.authority.server("127.0.0.1")
            server.maximum = version
            let origin = try proxy.origin(security: server) { far in
                try far.request()
                try far.reply(200, "Connection: \(connection)", body: "once")
                far.shutdownWrite()
            }
            for count in 1...3 {
                let response = try proxy.client().get("https://\(origin.authority)/")
                #expect(response.bodyText == "once")
                _ = try origin.connection(count - 1).security
                _ = try proxy.records(count)
                // The connection is closed before the next request looks for one.
                try eventually("the end of the connection") {
                    (try? origin.connection(count - 1).stream.end) != nil
                }
            }
            let resumed = origin.connections.map { $0.security?.facts.isResumed }
            #expect(resumed == [false, true, true])
        }
    }

    @Test func `a client certificate goes to the hosts of its rule only`() async throws {
        let files = try TestAuthority.identityFiles("client.test")
        let rules = """
            rules:
              - {match: {host: 127.0.0.1}, client_cert: {cert: DIR/my.pem, key: DIR/my.key}}
            """
        try await ProxyFixture.run(
            rules,
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            for host in ["127.0.0.1", "other.test"] {
                var server = try proxy.authority.server(host)
                server.asksForCertificate = true
                let origin = try proxy.origin(security: server) {
                    try $0.request()
                    try $0.reply(204)
                }
                let url = "https://\(origin.authority(host))/"
                #expect(try proxy.client().get(url).status == 204)
                let shown = try #require(try origin.connection().security).facts.certificates
                #expect(shown.count == (host == "other.test" ? 0 : 1))
            }
        }
    }

    @Test(arguments: ["http/1.1", "h2"])
    func `the alert that refuses a client certificate is told even where the request breaks`(
        version: String
    ) async throws {
        let files = try TestAuthority.identityFiles("client.test")
        let keys = "retry: none, client_cert: {cert: DIR/my.pem, key: DIR/my.key}"
        try await ProxyFixture.run(
            "rules: [{match: {host: origin.test}, \(keys)}]",
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            var server = try proxy.authority.server("origin.test")
            server.protocols = [version]
            server.asksForCertificate = true
            server.verdict = .refused(.unknownAuthority)
            server.hangsUp = true
            let refusing = server
            // The alert comes before the request has left, while it leaves, or behind it.
            for _ in 0..<12 {
                let origin = try PlayedOrigin()
                let client = try proxy.client()
                try client.send("GET", "https://\(origin.authority("origin.test"))/")
                let far = try origin.accept()
                let failure = #expect(throws: TLSFailure.self) { try far.secure(refusing) }
                #expect(failure?.kind == .certificateRefused(.unknownAuthority))
                let response = try client.response()
                #expect(response.status == 502)
                let status = response["Proxy-Status"] ?? ""
                #expect(status.contains("error=tls_alert_received"), "\(status)")
                #expect(status.contains("unknown_ca"), "\(status)")
                #expect(response.bodyText.contains("refused the client certificate"))
            }
        }
    }

    @Test func `a body that is complete needs no close_notify`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.reply(200, body: "all of it")
            far.security?.truncate()
            #expect(try inside.client.response().bodyText == "all of it")
            #expect(try inside.proxy.record()["outcome"] == "ok")
            // And the connection is of no more use.
            try inside.send()
            let next = try inside.accept()
            try next.request()
            try next.reply(204)
            #expect(try inside.client.response().status == 204)
        }
    }

    @Test(arguments: [true, false])
    func `a body that ends with the connection is broken without close_notify`(
        isHTTP10: Bool
    ) async throws {
        try await Inside.run { inside in
            let version = isHTTP10 ? "1.0" : "1.1"
            try inside.client.send("GET / HTTP/\(version)\r\nHost: \(inside.authority)\r\n\r\n")
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nhalf of i")
            far.security?.truncate()
            let (bytes, end) = try inside.client.stream.untilEnd()
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("half of i"))
            if isHTTP10 {
                #expect(end == .reset)
            } else {
                #expect(!text.hasSuffix("0\r\n\r\n"))
            }
            #expect(try inside.proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `a body with a length that is cut short is broken too`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            far.shutdownWrite()
            #expect(throws: SocketFailure.self) { try inside.client.response() }
            #expect(try inside.proxy.record()["outcome"] == "truncated")
        }
    }
}
