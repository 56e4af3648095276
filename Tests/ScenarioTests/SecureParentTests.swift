// Parent proxies and TLS: https origins through a parent's CONNECT, parents reached by TLS.
import LupinCore
import LupinTestKit
import Testing

struct SecureParentTests {
    /// base64 of `corp:secret`.
    private static let credentials = "Basic Y29ycDpzZWNyZXQ="

    private func rules(_ parent: PlayedOrigin, _ scheme: String = "http") -> String {
        let url = "\(scheme)://corp:secret@\(parent.authority)"
        return "upstream: {proxy: \"\(url)\", no_proxy: []}\n" + Inside.rule
    }

    /// The connection that lupin made to its parent, inside TLS where the parent speaks it.
    private func accept(
        _ parent: PlayedOrigin,
        _ scheme: String,
        _ proxy: ProxyFixture
    ) throws -> OriginConnection {
        guard scheme == "https" else { return try parent.accept() }
        return try parent.acceptSecurely(try proxy.authority.server("127.0.0.1"))
    }

    @Test(arguments: ["http", "https"], [true, false])
    func `an https origin is reached through the parent's CONNECT`(
        scheme: String,
        isIntercepted: Bool
    ) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, scheme)) { proxy in
            let outer = try proxy.client()
            let client = isIntercepted ? try outer.connectSecurely("origin.test:443") : outer
            for path in ["/1", "/2"] { try client.send("GET", "https://origin.test\(path)") }
            let passage = try accept(parent, scheme, proxy)
            let connect = try passage.requestHead()
            #expect(connect.startLine == "CONNECT origin.test:443 HTTP/1.1")
            #expect(connect["Host"] == "origin.test:443")
            #expect(connect["Proxy-Authorization"] == Self.credentials)
            try passage.send(head("HTTP/1.1 200 Connected", "X-Parent: 1"))
            let far = try passage.secure(try proxy.authority.server("origin.test"))
            #expect(far.security?.facts.serverName == "origin.test")
            for path in ["/1", "/2"] {
                let request = try far.request()
                #expect(request.startLine == "GET \(path) HTTP/1.1")
                #expect(request["Proxy-Authorization"] == nil)
                try far.reply(body: path)
                #expect(try client.response().bodyText == path)
            }
            #expect(!parent.hasWaiting)
            let record = try proxy.records(2)[1]
            #expect(record["attempts.0.reused"] == "1")
            #expect(record["attempts.0.tls"] == "1.3")
            #expect(!proxy.logText.contains("Y29ycDpzZWNyZXQ="))
        }
    }

    @Test func `a plain request and a tunnel go through a parent's TLS`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, "https")) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://plain.test/")
            let first = try accept(parent, "https", proxy)
            let request = try first.request()
            #expect(request.startLine == "GET http://plain.test/ HTTP/1.1")
            #expect(request["Proxy-Authorization"] == Self.credentials)
            try first.reply(body: "by way of TLS")
            #expect(try client.response().bodyText == "by way of TLS")

            let tunnelling = try proxy.client()
            let connect = "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n"
            try tunnelling.send(connect + "early")
            #expect(try first.requestHead().startLine == "CONNECT other.test:443 HTTP/1.1")
            try first.send(head("HTTP/1.1 200 Connected") + "from afar")
            #expect(try tunnelling.response(to: "CONNECT").status == 200)
            #expect(try tunnelling.stream.text(9) == "from afar")
            #expect(try first.stream.text(5) == "early")
            tunnelling.shutdownWrite()
            #expect(try first.waitForEnd() == .finished)
            try first.send("bye")
            first.shutdownWrite()
            #expect(try tunnelling.stream.text(3) == "bye")
            #expect(try tunnelling.waitForEnd() == .finished)
            #expect(try proxy.records(2)[1]["outcome"] == "ok")
        }
    }

    @Test func `much goes through two layers of TLS`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, "https")) { proxy in
            let count = 1 << 20
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send(
                head(
                    "POST / HTTP/1.1",
                    "Host: origin.test",
                    "Content-Length: \(count)"
                )
            )
            let upload = TestThread { try client.stream.socket.send(pattern: 1, count: count) }
            let passage = try accept(parent, "https", proxy)
            _ = try passage.requestHead()
            try passage.send(head("HTTP/1.1 200 Connected"))
            let far = try passage.secure(try proxy.authority.server("origin.test"))
            _ = try far.requestHead()
            #expect(try far.stream.bytes(count) == BytePattern.bytes(1, count))
            try upload.join()
            let download = TestThread {
                try far.send(head("HTTP/1.1 200 OK", "Content-Length: \(count)"))
                try far.stream.socket.send(pattern: 2, count: count)
            }
            #expect(try client.response().body == BytePattern.bytes(2, count))
            try download.join()
        }
    }

    @Test(arguments: ["http", "https"], [403, 407, 503])
    func `a parent that gives no passage is a 502 that names it`(
        scheme: String,
        status: Int
    ) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent, scheme)) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            // A refusal is not asked for twice.
            for _ in 0..<(status < 500 ? 1 : 2) {
                let passage = try accept(parent, scheme, proxy)
                _ = try passage.requestHead()
                try passage.reply(status, "Proxy-Authenticate: Basic realm=\"corp\"", body: "no")
            }
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Authenticate"] == nil)
            let reason = try #require(response["Proxy-Status"])
            let words =
                status == 407
                ? "The parent proxy answered the user and password of the rules file with 407."
                : "\(parent.authority) answered CONNECT with \(status)"
            #expect(reason.contains(words) && reason.contains(parent.authority))
            #expect(!response.bodyText.contains("secret"))
            // The refusal is about the parent, not about lupin's TLS with the client.
            try client.send("GET", "https://origin.test/again")
            let next = try accept(parent, scheme, proxy)
            _ = try next.requestHead()
        }
    }

    @Test func `a parent that says nothing to CONNECT is a 504`() async throws {
        let clock = VirtualClock()
        let parent = try PlayedOrigin()
        let rules = "timeouts: {connect: 5s}\n" + rules(parent)
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            try proxy.advance(by: .seconds(1), until: "a response") {
                client.stream.socket.hasUnread
            }
            let response = try client.response()
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("http_response_timeout") == true)
        }
    }

    @Test func `a parent that hangs up instead of answering CONNECT is a 502`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            let passage = try parent.accept()
            _ = try passage.requestHead()
            passage.close()
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("connection_terminated") == true)
        }
    }

    @Test func `bytes behind the parent's 200 belong to the origin's TLS`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            let passage = try parent.accept()
            _ = try passage.requestHead()
            // An alert: the connection ends for TLS's reason and not for the parent's.
            try passage.send(
                Array(head("HTTP/1.1 200 OK").utf8) + [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28]
            )
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("tls_alert_received") == true)
        }
    }
}
