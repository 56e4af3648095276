// A repetition that can't have the client's login: what it is told of that is not the response.
import LupinTestKit
import Testing

struct LostLoginTests {
    private static let retry =
        "retry: {use: standard, backoff: {base: 2, scale: 1ms, max: 2ms, jitter: none}}"

    /// A peer that knows a user by the connection alone, and closes it with each answer below
    /// `/once`.
    private static func peer(isParent: Bool, _ answer: String) throws -> ScriptedOrigin {
        let (status, prefix) = isParent ? (407, "Proxy-") : (401, "WWW-")
        return try ScriptedOrigin { connection in
            var (isChallenged, isUser) = (false, false)
            while let request = try connection.nextRequest() {
                let credentials = request[isParent ? "proxy-authorization" : "authorization"]
                if isUser || (isChallenged && credentials == "NTLM three") {
                    isUser = true
                    guard request.target.contains("/once") else {
                        try connection.reply(body: "in")
                        continue
                    }
                    try connection.send(
                        "HTTP/1.1 \(answer)\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"
                    )
                    connection.close()
                } else {
                    isChallenged = credentials == "NTLM one"
                    try connection.reply(status, "\(prefix)Authenticate: NTLM")
                }
            }
        }
    }

    private static func logIn(_ client: ScriptedClient, _ url: String, isParent: Bool) throws {
        let name = isParent ? "Proxy-Authorization" : "Authorization"
        for part in ["one", "three"] { try client.get(url, "\(name): NTLM \(part)") }
        #expect(try client.get(url).bodyText == "in")
    }

    @Test(arguments: [true, false], [("503 X", retry), ("502 X", retry), ("500 X", retry)])
    func `the client gets the response, not the greeting of another connection`(
        isParent: Bool,
        row: (answer: String, rule: String)
    ) async throws {
        let peer = try Self.peer(isParent: isParent, row.answer)
        defer { peer.stop() }
        let settings = isParent ? "upstream: {proxy: \"\(peer.url(""))\", no_proxy: []}" : ""
        try await ProxyFixture.run(everywhere(row.rule, settings)) { proxy in
            let base = isParent ? "http://origin.test" : peer.url("")
            let client = try proxy.client()
            try Self.logIn(client, base + "/", isParent: isParent)
            let response = try client.get(base + "/once")
            #expect(response.status == Int(row.answer.prefix(3)))
            #expect(response.bodyText == "busy")
            #expect(try client.get(base + "/").status == (isParent ? 407 : 401))
            let record = try proxy.records(4)[3]
            #expect(record["http.response.status_code"] == "\(response.status)")
            #expect(record["attempts.1.status"] == (isParent ? "407" : "401"))
            #expect(record["attempts.1.decision"] == "give-up")
        }
    }

    /// A peer that ends a login when its last message comes again, as servers do: it answers no
    /// challenge then.
    private static func strictPeer(isParent: Bool) throws -> ScriptedOrigin {
        let (status, prefix) = isParent ? (407, "Proxy-") : (401, "WWW-")
        return try ScriptedOrigin { connection in
            var (isChallenged, isUser, count) = (false, false, 0)
            while let request = try connection.nextRequest() {
                let credentials = request[isParent ? "proxy-authorization" : "authorization"]
                if credentials != nil { isUser = isChallenged && credentials == "NTLM three" }
                isChallenged = credentials == "NTLM one"
                guard isUser else {
                    try connection.reply(status, "\(prefix)Authenticate: NTLM")
                    continue
                }
                count += 1
                if count > 1 {
                    try connection.reply(body: "in")
                } else if request.target.hasSuffix("/moved") {
                    try connection.reply(302, "Location: /next")
                } else {
                    try connection.reply(503)
                }
            }
        }
    }

    @Test(arguments: [true, false], ["/busy", "/moved"])
    func `what is repeated on the connection of a login has no message of it`(
        isParent: Bool,
        path: String
    ) async throws {
        let peer = try Self.strictPeer(isParent: isParent)
        defer { peer.stop() }
        let settings = isParent ? "upstream: {proxy: \"\(peer.url(""))\", no_proxy: []}" : ""
        let rules = everywhere("\(Self.retry), redirect: {follow: true}", settings)
        try await ProxyFixture.run(rules) { proxy in
            let base = isParent ? "http://origin.test" : peer.url("")
            let name = isParent ? "Proxy-Authorization" : "Authorization"
            let client = try proxy.client()
            try client.get(base + path, "\(name): NTLM one")
            let response = try client.get(base + path, "\(name): NTLM three")
            #expect(response.status == 200)
            #expect(response.bodyText == "in")
            // The login is as good as before.
            #expect(try client.get(base + "/").bodyText == "in")
            #expect(peer.connections.count == 1)
        }
    }

    @Test func `a download by a login is not resumed elsewhere`() async throws {
        let peer = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                guard request["authorization"] == "NTLM three" else {
                    try connection.reply(401, "WWW-Authenticate: NTLM")
                    continue
                }
                let fields = "ETag: \"v1\"\r\nContent-Length: 10"
                try connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n01234")
                connection.close()
            }
        }
        defer { peer.stop() }
        try await ProxyFixture.run(everywhere("resume: true")) { proxy in
            let client = try proxy.client()
            try client.get(peer.url(), "Authorization: NTLM one")
            try client.send("GET", peer.url(), ["Authorization: NTLM three"])
            _ = try client.stream.head()
            #expect(String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self) == "01234")
            #expect(peer.connections.count == 1)
        }
    }

    @Test(arguments: ["/next", "http://other.test/next", "https://origin.test/next"])
    func `a redirect that can't be followed with the login is the client's`(
        location: String
    ) async throws {
        let peer = try Self.peer(isParent: true, "302 Found\r\nLocation: \(location)")
        defer { peer.stop() }
        let settings = "upstream: {proxy: \"\(peer.url(""))\", no_proxy: []}"
        try await ProxyFixture.run(everywhere("redirect: {follow: true}", settings)) { proxy in
            let client = try proxy.client()
            try Self.logIn(client, "http://origin.test/", isParent: true)
            let response = try client.get("http://origin.test/once")
            #expect(response.status == 302)
            let absolute = location == "/next" ? "http://origin.test/next" : location
            #expect(response["Location"] == absolute)
        }
    }

    @Test(
        arguments: [
            ("503 X", retry), ("302 X\r\nLocation: /next", "redirect: {follow: true}"),
            ("401 X\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"b\"", "request: [{auth: me}]"),
        ]
    )
    func `so it is inside a tunnel that was opened by a login`(
        answer: String,
        rule: String
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = """
            upstream: {proxy: "http://\(parent.authority)", no_proxy: []}
            tokens: {me: {digest: {user: u, password: p}}}
            rules: [{name: in, match: {host: origin.test}, intercept: true, \(rule)}]
            """
        try await ProxyFixture.run(settings) { proxy in
            let outer = try proxy.client()
            try outer.send("CONNECT", "origin.test:443", ["Proxy-Authorization: NTLM three"])
            let link = try parent.accept()
            _ = try link.requestHead()
            try link.send(head("HTTP/1.1 200 Connected"))
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/")
            let far = try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            try far.request()
            try far.send(
                "HTTP/1.1 \(answer)\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"
            )
            far.close()
            let response = try client.response()
            #expect(response.status == Int(answer.prefix(3)))
            #expect(response.bodyText == "busy")
            // Only a new CONNECT of the client's can log in again.
            #expect(response["Connection"] == "close")
            #expect(!parent.hasWaiting)
        }
    }

    @Test func `a body that is too long to keep is delivered, and nothing is repeated`()
        async throws
    {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(everywhere(Self.retry, settings)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/", ["Proxy-Authorization: NTLM three"])
            let connection = try parent.accept()
            try connection.request()
            let body = String(repeating: "x", count: 200_000)
            try connection.reply(503, body: body)
            let response = try client.response()
            #expect(response.status == 503)
            #expect(response.bodyText == body)
            #expect(!parent.hasWaiting)
        }
    }
}
