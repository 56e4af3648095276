// Through another proxy: how it is asked, and who gets to see which credentials.
import LupinTestKit
import Testing

struct ParentProxyTests {
    /// base64 of `corp:se:cret`.
    private static let credentials = "Basic Y29ycDpzZTpjcmV0"

    private func rules(_ parent: PlayedOrigin, userinfo: String = "") -> String {
        let settings = "proxy: \"http://\(userinfo)\(parent.authority)\", no_proxy: [127.0.0.2]"
        return "upstream: {\(settings)}"
    }

    @Test func `a request goes to the parent with its whole URL`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/a?b=c", ["Accept: */*"])
            let connection = try parent.accept()
            let request = try connection.request()
            #expect(request.startLine == "GET http://origin.test/a?b=c HTTP/1.1")
            #expect(request["Host"] == "origin.test")
            #expect(request["Proxy-Authorization"] == nil)
            try connection.reply(body: "by way of the parent")
            #expect(try client.response().bodyText == "by way of the parent")
            // One connection serves all origins.
            try client.send("GET", "http://other.test:81/")
            #expect(try connection.request().startLine == "GET http://other.test:81/ HTTP/1.1")
            try connection.reply(204)
            #expect(try client.response().status == 204)
            #expect(try proxy.records(2)[1]["attempts.0.reused"] == "1")
        }
    }

    @Test(arguments: ["169.254.169.254", "[::ffff:169.254.169.254]", "2852039166"])
    func `a denied address is not asked of the parent either`(host: String) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://\(host)/latest/meta-data")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(try proxy.record()["outcome"] == "denied")
            #expect(!parent.hasWaiting)
        }
    }

    @Test func `lupin's credentials go to the parent and to nobody else`() async throws {
        let parent = try PlayedOrigin()
        let rules = rules(parent, userinfo: "corp:se%3Acret@")
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send(
                "GET",
                "http://origin.test/",
                ["Proxy-Authorization: Basic Y2xpZW50OnB3"]
            )
            let connection = try parent.accept()
            #expect(try connection.request().values("Proxy-Authorization") == [Self.credentials])
            try connection.reply(body: "ok")
            try client.response()
            // What no_proxy names is reached directly, without credentials.
            let direct = try PlayedOrigin(at: .loopback(port: 0, host: 2))
            try client.send(
                "GET",
                direct.url(),
                ["Proxy-Authorization: Basic Y2xpZW50OnB3"]
            )
            let far = try direct.accept()
            let request = try far.request()
            #expect(request["Proxy-Authorization"] == nil)
            #expect(request.startLine == "GET / HTTP/1.1")
            try far.reply()
            try client.response()
            _ = try proxy.records(2)
            #expect(!proxy.logText.contains("Y29ycDpzZTpjcmV0"))
            #expect(!proxy.logText.contains("se:cret"))
        }
    }

    @Test func `CONNECT goes to the parent, with credentials`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, userinfo: "corp:se%3Acret@")) { proxy in
            let client = try proxy.client()
            try client.send(
                "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\nearly"
            )
            let connection = try parent.accept()
            let request = try connection.requestHead()
            #expect(request.startLine == "CONNECT origin.test:443 HTTP/1.1")
            #expect(request["Host"] == "origin.test:443")
            #expect(request["Proxy-Authorization"] == Self.credentials)
            #expect(request["Content-Length"] == nil)
            try connection.send("HTTP/1.1 200 Connected\r\nX-Parent: 1\r\n\r\nfrom afar")
            #expect(try client.response(to: "CONNECT").status == 200)
            #expect(try client.stream.text(9) == "from afar")
            #expect(try connection.stream.text(5) == "early")
            client.shutdownWrite()
            #expect(try connection.waitForEnd() == .finished)
            connection.close()
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            #expect(record["outcome"] == "ok")
            #expect(record["tunnel.received"] == "9")
        }
    }

    @Test(arguments: ["GET", "CONNECT"])
    func `a parent that wants credentials is answered by the client`(
        method: String
    ) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let target = method == "GET" ? "http://origin.test/" : "origin.test:443"
            let client = try proxy.client()
            try client.send(method, target)
            let connection = try parent.accept()
            #expect(try connection.requestHead()["Proxy-Authorization"] == nil)
            try connection.reply(407, "Proxy-Authenticate: Basic realm=\"corp\"", body: "who?")
            let challenge = try client.response()
            #expect(challenge.status == 407)
            #expect(challenge["Proxy-Authenticate"] == "Basic realm=\"corp\"")
            #expect(challenge.bodyText == "who?")
            let next = method == "GET" ? client : try proxy.client()
            try next.send(method, target, ["Proxy-Authorization: Basic Y2xpZW50OnB3"])
            let second = try connection.requestHead()
            #expect(second["Proxy-Authorization"] == "Basic Y2xpZW50OnB3")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try next.response(to: method).status == 200)
        }
    }

    @Test func `a 407 of an origin says nothing about proxies`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(407, "Proxy-Authenticate: Basic realm=\"trap\"")
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 407)
            #expect(response["Proxy-Authenticate"] == nil)
        }
    }

    @Test(arguments: ["GET", "CONNECT"])
    func `a parent that is down is a 502`(method: String) async throws {
        let parent = try PlayedOrigin()
        parent.close()
        try await ProxyFixture.run(rules(parent, userinfo: "corp:se%3Acret@")) { proxy in
            let client = try proxy.client()
            try client.send(method, method == "GET" ? "http://origin.test/" : "origin.test:443")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("connection_refused") == true)
            #expect(!response.bodyText.contains("se:cret"))
        }
    }

    @Test func `a parent that refuses a CONNECT is quoted`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:25")
            let connection = try parent.accept()
            _ = try connection.requestHead()
            try connection.reply(403, body: "not through here")
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response.bodyText == "not through here")
            #expect(try proxy.record()["http.response.status_code"] == "403")
        }
    }

    @Test func `a parent on this machine is reached though loopback is denied`() async throws {
        let parent = try PlayedOrigin()
        let rules = rules(parent) + "\naccess: {deny_targets: [loopback]}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/")
            let connection = try parent.accept()
            try connection.request()
            try connection.reply(204)
            #expect(try client.response().status == 204)
        }
    }
}
