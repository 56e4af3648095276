// A login to a connection takes several messages on it, and streams of HTTP/2 share one: a client
// that lupin decrypts is led to HTTP/1.1 for it (RFC 9113 section 7).
import LupinTestKit
import Testing

struct StreamLoginTests {
    /// An origin that knows a user by the connection alone, once the handshake is done.
    private static func origin(_ proxy: ProxyFixture, _ scheme: String) throws -> ScriptedOrigin {
        let security = try proxy.authority.server("origin.test", ["http/1.1"])
        return try ScriptedOrigin(security: security) { connection in
            var (isChallenged, isUser) = (false, false)
            while let request = try connection.nextRequest() {
                let credentials = request["authorization"]
                if isUser || (isChallenged && credentials == "\(scheme) three") {
                    isUser = true
                    try connection.reply(body: "secret")
                } else if credentials == "\(scheme) one" {
                    isChallenged = true
                    try connection.reply(401, "WWW-Authenticate: \(scheme) dHdv")
                } else {
                    try connection.reply(401, "WWW-Authenticate: \(scheme)")
                }
            }
        }
    }

    /// The client's end of TLS that offers both protocols, HTTP/2 first.
    private static func enter(_ proxy: ProxyFixture, _ authority: String) throws -> ScriptedClient {
        var tls = SecureSocket.Client("origin.test")
        tls.protocols = ["h2", "http/1.1"]
        return try proxy.client().connectSecurely(authority, tls)
    }

    @Test(arguments: ["NTLM", "Negotiate", "X-Corp"])
    func `its message gets HTTP_1_1_REQUIRED, and the next connection is of HTTP 1_1`(
        scheme: String
    ) async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try Self.origin(proxy, scheme)
            defer { origin.stop() }
            let authority = origin.authority("origin.test")
            let streams = try HTTP2Client(inside: try Self.enter(proxy, authority))
            let head = HTTP2Fields.request(scheme: "https", authority: authority)
            #expect(try streams.request(head).status == 401)
            let login = try streams.send(head + ["authorization": "\(scheme) one"])
            try streams.frames.expectReset(login, .http11Required)
            // Who does not fall back by itself makes a new connection all the same.
            _ = try streams.frames.expectGoAway(.noError)

            let client = try Self.enter(proxy, authority)
            for (message, status) in [("one", 401), ("three", 200), ("", 200)] {
                let field = message.isEmpty ? "" : "Authorization: \(scheme) \(message)\r\n"
                try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\(field)\r\n")
                #expect(try client.response().status == status)
            }
        }
    }

    @Test func `credentials that each message carries go by streams`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let security = try proxy.authority.server("origin.test", ["http/1.1"])
            let origin = try ScriptedOrigin(security: security) { connection in
                while let request = try connection.nextRequest() {
                    let challenge = "WWW-Authenticate: Digest realm=r, nonce=n, stale=true"
                    let isKnown = request["authorization"] == "Digest nonce=n"
                    try isKnown ? connection.reply() : connection.reply(401, challenge)
                }
            }
            defer { origin.stop() }
            let authority = origin.authority("origin.test")
            for _ in 0..<2 {
                let streams = try HTTP2Client(inside: try Self.enter(proxy, authority))
                let head = HTTP2Fields.request(scheme: "https", authority: authority)
                let old = head + ["authorization": "Digest nonce=o"]
                #expect(try streams.request(old).status == 401)
                let new = head + ["authorization": "Digest nonce=n"]
                #expect(try streams.request(new).status == 200)
            }
        }
    }
}
