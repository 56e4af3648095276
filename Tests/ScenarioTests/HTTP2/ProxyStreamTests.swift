// A listener spoken to in HTTP/2: every stream is a request of its own to the proxy.
import LupinTestKit
import Testing

struct ProxyStreamTests {
    private static let listener = """
        listen: [{address: "127.0.0.1:1", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}}]

        """

    @Test func `a request in the clear comes by prior knowledge`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            #expect(try client.request(authority: origin.authority, path: "/3").body.count == 3)
            let record = try proxy.record()
            #expect(record["mode"] == "http")
            #expect(record["url.full"] == "http://\(origin.authority)/3")
            #expect(record["network.protocol.version"] == "2")
        }
    }

    @Test func `a listener with a certificate agrees upon it by ALPN`() async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        try await ProxyFixture.run(
            Self.listener,
            files: ["proxy.pem": files.pem, "proxy.key": files.key]
        ) { proxy in
            let origin = try proxy.measuredOrigin()
            var tls = SecureSocket.Client("proxy.test")
            tls.protocols = ["h2", "http/1.1"]
            let client = try HTTP2Client(inside: try proxy.client().secure(tls))
            #expect(try client.request(authority: origin.authority, path: "/3").body.count == 3)
            let stream = try client.open(.connect(origin.authority))
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            let request = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
            try client.frames.send(.data(stream, request))
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxx"
            let count = answer.utf8.count
            #expect(try client.frames.text(of: stream, exactly: count) == answer)
        }
    }

    @Test func `a request for https needs no CONNECT`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                try connection.reply(body: try connection.request().target)
            }
            let client = try proxy.http2Client()
            let response = try client.request(
                scheme: "https",
                authority: origin.authority("origin.test"),
                path: "/a?b=c"
            )
            #expect(response.bodyText == "/a?b=c")
            let record = try proxy.record()
            #expect(record["url.full"] == "https://\(origin.authority("origin.test"))/a?b=c")
            #expect(record["attempts.0.tls"] == "1.3")
        }
    }

    @Test func `rules and their steps hold for each stream`() async throws {
        let rules = """
            rules:
              - name: canned
                match: {host: a.test}
                respond: {status: 418, body: short}
              - name: marked
                match: {path: /marked}
                request: [{set: {X-Mark: "yes"}}, {remove: [X-Gone]}]
              - name: closed
                match: {host: closed.test}
                respond: {status: 403}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedHTTP1Answers(proxy)
            let client = try proxy.http2Client()
            let canned = try client.send(.request(authority: "a.test"))
            let gone: HTTP2Fields = ["x-gone": "1"]
            let marked = try client.send(
                .request(authority: origin.authority, path: "/marked") + gone
            )
            let plain = try client.send(
                .request(authority: origin.authority, path: "/plain") + gone
            )
            #expect(try client.response(on: plain).bodyText == "mark -, gone 1")
            #expect(try client.response(on: marked).bodyText == "mark yes, gone -")
            let response = try client.response(on: canned)
            #expect(response.status == 418)
            #expect(response.bodyText == "short")
            let tunnel = try client.open(.connect("closed.test:443"))
            #expect(try client.frames.head(on: tunnel)[":status"] == "403")
            let matched = try proxy.records(4).map { $0.list("rules.matched") }
            #expect(Set(matched) == [["canned"], ["marked"], [], ["closed"]])
        }
    }

    @Test func `pages of its own are at the listener's name`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let here = "\(proxy.address)"
            let welcome = try client.request(authority: here)
            #expect(welcome.status == 200)
            #expect(welcome.bodyText.contains("http_proxy=http://\(here)"))
            let script = try client.request(authority: here, path: "/proxy.pac")
            #expect(script["content-type"] == "application/x-ns-proxy-autoconfig")
            #expect(script.bodyText.contains("PROXY \(here)"))
            #expect(try client.request("HEAD", authority: here).body.isEmpty)
            #expect(try client.request(authority: here, path: "/no").status == 404)
        }
    }

    @Test func `a request that was here before is a loop`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let first = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            let via = try #require(try far.request()["Via"])
            #expect(via.hasPrefix("2 lupin-"))
            try far.reply(body: "once")
            #expect(try client.response(on: first)["via"]?.hasPrefix("1.1 lupin-") == true)
            let response = try client.request(authority: origin.authority, ["via": via])
            #expect(response.status == 502)
            #expect(response["proxy-status"]?.contains("error=proxy_loop_detected") == true)
        }
    }
}

/// An origin whose answers say which fields came.
private struct PlayedHTTP1Answers {
    let authority: String

    init(_ proxy: ProxyFixture) throws {
        let origin = try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                let (mark, gone) = (request["X-Mark"] ?? "-", request["X-Gone"] ?? "-")
                try connection.reply(body: "mark \(mark), gone \(gone)")
            }
        }
        authority = origin.authority
    }
}
