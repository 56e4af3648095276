// A parent proxy that wants Digest: its 407 is answered by lupin, once, and no client sees it.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct ParentDigestTests {
    private static let challenge = """
        Proxy-Authenticate: Digest realm="corp", nonce="n1", qop="auth", algorithm=SHA-256
        """

    private func rules(_ parent: PlayedOrigin) -> String {
        "upstream: {proxy: \"http://corp:se%3Acret@\(parent.authority)\", no_proxy: []}"
    }

    private func hex(_ text: String) -> String {
        let bytes = MessageDigest.sha256(Array(text.utf8).span)
        let digits = bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
        return digits.joined()
    }

    /// Whether a field is the right answer to the challenge (RFC 7616 §3.4.1).
    private func isRight(
        _ field: String?,
        method: String,
        uri: String,
        count: Int
    ) throws -> Bool {
        let field = try #require(field)
        let scheme = "Digest "
        guard field.hasPrefix(scheme) else { return false }
        let parameters = AuthenticationChallenge.parameters(in: String(field.dropFirst(7)))
        let number = "0000000\(count)"
        let cnonce = try #require(parameters["cnonce"])
        let secret = hex("corp:corp:se:cret")
        let response = hex("\(secret):n1:\(number):\(cnonce):auth:\(hex("\(method):\(uri)"))")
        return parameters["uri"] == uri && parameters["nc"] == number
            && parameters["response"] == response
    }

    @Test func `a challenge is answered, and the next request is signed at once`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("POST", "http://origin.test/a", body: "ping")
            let connection = try parent.accept()
            let first = try connection.request()
            #expect(first["Proxy-Authorization"]?.hasPrefix("Basic ") == true)
            try connection.reply(407, Self.challenge)
            let second = try connection.request()
            #expect(second.bodyText == "ping")
            let uri = "http://origin.test/a"
            let field = second["Proxy-Authorization"]
            #expect(try isRight(field, method: "POST", uri: uri, count: 1))
            try connection.reply(body: "in")
            #expect(try client.response().bodyText == "in")
            try client.send("GET", "http://origin.test/b")
            let third = try connection.request()["Proxy-Authorization"]
            #expect(try isRight(third, method: "GET", uri: "http://origin.test/b", count: 2))
            try connection.reply(204)
            #expect(try client.response().status == 204)
            let record = try proxy.records(2)[0]
            #expect(record["attempts.0.decision"] == "refresh")
            #expect(record["attempts.1.why"] == "auth")
        }
    }

    @Test func `a wrong password is refused once more, and lupin says so`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/")
            let connection = try parent.accept()
            for _ in 0..<2 {
                _ = try connection.request()
                try connection.reply(407, Self.challenge)
            }
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response.bodyText.contains("did not accept the user and password"))
            #expect(response.bodyText.contains("Are they right?"))
        }
    }

    @Test func `a CONNECT is answered too`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(rules(parent)) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n")
            let connection = try parent.accept()
            _ = try connection.requestHead()
            try connection.reply(407, Self.challenge)
            let field = try connection.requestHead()["Proxy-Authorization"]
            #expect(try isRight(field, method: "CONNECT", uri: "origin.test:443", count: 1))
            try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
            #expect(try client.response(to: "CONNECT").status == 200)
        }
    }
}
