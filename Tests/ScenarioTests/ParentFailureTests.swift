// Who refused, the parent or the origin: every way in which a parent proxy fails, by every route.
import LupinTestKit
import Testing

struct ParentFailureTests {
    /// What the parent does when it is asked for something.
    enum Deed: Sendable, Hashable {
        case resets, closes, closesWithinHead, sendsJunk
        case answers(Int)

        /// What the client is told of it, besides the parent's name.
        var words: String {
            switch self {
            case .resets, .closes: "closed the connection before it answered"
            case .closesWithinHead: "broke off before its end"
            case .sendsJunk: "sent something that is not valid HTTP"
            case .answers(407): "did not accept the user and password that stand in"
            case .answers(let status): "answered CONNECT with \(status)"
            }
        }

        func done(by connection: OriginConnection) throws {
            switch self {
            case .resets: connection.reset()
            case .closes: connection.close()
            case .closesWithinHead:
                try connection.send("HTTP/1.1 200 OK\r\nX: ")
                connection.close()
            case .sendsJunk:
                try connection.send("junk and no more\r\n\r\n")
                connection.close()
            case .answers(407):
                try connection.reply(407, "Proxy-Authenticate: Basic realm=\"corp\"", body: "no")
            case .answers(let status): try connection.reply(status, body: "no")
            }
        }
    }

    static let breaks: [Deed] = [.resets, .closes, .closesWithinHead, .sendsJunk]
    static let refusals: [Deed] = [.answers(403), .answers(407), .answers(502), .answers(503)]

    /// A proxy whose rule sends `origin.test` through a parent that does `deed` each time.
    private static func run(
        _ deed: Deed,
        decrypts: Bool,
        scheme: String = "http",
        userinfo: String = "",
        _ body: @Sendable @escaping (ProxyFixture, _ parent: String) throws -> Void
    ) async throws {
        let port = try ReservedPort()
        let key = decrypts ? "request: [{set: {X-In: \"1\"}}], retry: none, " : ""
        let url = "\(scheme)://\(userinfo)127.0.0.1:\(port.number)"
        let rules = """
            upstream: {no_proxy: []}
            rules: [{name: corp, match: {host: origin.test}, \(key)proxy: "\(url)"}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let security =
                scheme == "https" ? try proxy.authority.server("127.0.0.1", ["http/1.1"]) : nil
            let parent = try ScriptedOrigin(
                at: .loopback(port: port.number),
                security: security
            ) { connection in
                while try connection.stream.head() != nil { try deed.done(by: connection) }
            }
            defer { parent.stop() }
            try body(proxy, parent.authority)
        }
    }

    /// What page, Proxy-Status and record say of the parent.
    private static func expect(
        _ deed: Deed,
        of parent: String,
        _ page: String,
        _ field: String?,
        _ record: RecordLine
    ) {
        let text = "The parent proxy \(parent) (rule \"corp\") "
        let isResponse = deed == .closesWithinHead
        #expect(page.contains(isResponse ? String(text.dropFirst(4)) : text))
        #expect(page.contains(deed.words))
        #expect(field?.contains("next-hop=\"\(parent)\"") == true)
        if case .answers(let status) = deed {
            #expect(field?.contains("received-status=\(status)") == true)
        }
        if deed == .answers(407) { #expect(page.contains("`proxy` of the rule \"corp\"")) }
        Self.expect(deed, of: parent, record)
    }

    private static func expect(_ deed: Deed, of parent: String, _ record: RecordLine) {
        #expect(record["outcome"] == "error")
        #expect(record["error.side"] == "upstream")
        #expect(record["error.parent"] == parent)
        #expect(record["error.parent_rule"] == "corp")
        #expect(record["attempts.0.via"] == parent)
        guard case .answers(let status) = deed else { return }
        #expect(record["error.parent_status"] == "\(status)")
    }

    @Test(arguments: breaks + refusals, ["http", "https"])
    func `inside an intercepted CONNECT the parent is named`(deed: Deed, scheme: String)
        async throws
    {
        // With credentials, since without any the client gets the parent's 407 for its CONNECT.
        let userinfo = deed == .answers(407) ? "corp:secret@" : ""
        try await Self.run(deed, decrypts: true, scheme: scheme, userinfo: userinfo) {
            proxy,
            parent in
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            let response = try client.response()
            #expect(response.status == 502)
            let record = try proxy.record()
            let field = response["Proxy-Status"]
            Self.expect(deed, of: parent, response.bodyText, field, record)
        }
    }

    @Test(arguments: breaks + [.answers(403), .answers(503)])
    func `so it is inside, by HTTP 2`(deed: Deed) async throws {
        try await Self.run(deed, decrypts: true) { proxy, parent in
            var tls = SecureSocket.Client("origin.test")
            tls.protocols = ["h2", "http/1.1"]
            let inner = try proxy.client().connectSecurely("origin.test:443", tls)
            let client = try HTTP2Client(inside: inner)
            let response = try client.request(scheme: "https", authority: "origin.test")
            #expect(response.status == 502)
            let record = try proxy.record()
            let field = response["proxy-status"]
            Self.expect(deed, of: parent, response.bodyText, field, record)
        }
    }

    @Test(arguments: breaks, ["GET", "CONNECT"])
    func `so it is where nothing is decrypted`(deed: Deed, method: String) async throws {
        try await Self.run(deed, decrypts: false) { proxy, parent in
            let client = try proxy.client()
            try client.send(method, method == "GET" ? "http://origin.test/" : "origin.test:443")
            let response = try client.response()
            #expect(response.status == 502)
            let record = try proxy.record()
            let field = response["Proxy-Status"]
            Self.expect(deed, of: parent, response.bodyText, field, record)
        }
    }

    @Test(arguments: ["GET", "CONNECT"], ["Basic realm=\"corp\"", "NTLM", nil])
    func `so it is where lupin's own password does not do`(method: String, challenge: String?)
        async throws
    {
        let field = challenge.map { "Proxy-Authenticate: \($0)\r\n" } ?? ""
        let parent = try ScriptedOrigin { connection in
            while try connection.stream.head() != nil {
                try connection.send(
                    "HTTP/1.1 407 No\r\n\(field)Content-Length: 2\r\n\r\nno"
                )
            }
        }
        defer { parent.stop() }
        let url = "http://u:wr0ngPassword@\(parent.authority)"
        let rule = "{name: corp, match: {host: origin.test}, proxy: \"\(url)\"}"
        try await ProxyFixture.run("upstream: {no_proxy: []}\nrules: [\(rule)]") { proxy in
            let client = try proxy.client()
            try client.send(method, method == "GET" ? "http://origin.test/" : "origin.test:443")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Authenticate"] == nil)
            Self.expect(
                .answers(407),
                of: parent.authority,
                response.bodyText,
                response["Proxy-Status"],
                try proxy.record()
            )
            let isLogin = response.bodyText.contains("only NTLM, by which lupin does not log in")
            #expect(isLogin == (challenge == "NTLM"))
            #expect(!response.bodyText.contains("wr0ng") && !proxy.logText.contains("wr0ng"))
        }
    }

    @Test(arguments: refusals, [true, false])
    func `a tunnel that the parent refuses is an error, and the client gets its response`(
        deed: Deed,
        isHTTP2: Bool
    ) async throws {
        guard case .answers(let status) = deed else { return }
        try await Self.run(deed, decrypts: false) { proxy, parent in
            if isHTTP2 {
                let client = try proxy.http2Client()
                let stream = try client.open(.connect("origin.test:443"))
                #expect(try client.response(on: stream).status == status)
            } else {
                let client = try proxy.client()
                try client.send("CONNECT", "origin.test:443")
                let response = try client.response()
                #expect(response.status == status)
                #expect(response.bodyText == "no")
            }
            Self.expect(deed, of: parent, try proxy.record())
        }
    }

    @Test func `a body that the parent breaks off is the parent's`() async throws {
        let parent = try PlayedOrigin()
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/")
            let connection = try parent.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
            connection.close()
            _ = try client.stream.untilEnd()
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.parent"] == parent.authority)
        }
    }

    @Test func `a token server's failure names the parent on the way`() async throws {
        let port = try ReservedPort()
        let text = """
            upstream: {proxy: "http://127.0.0.1:\(port.number)", no_proxy: [127.0.0.0/8]}
            tokens:
              me:
                oauth2:
                  grant: client_credentials
                  url: https://id.test/token
                  client: {id: cli, secret: pw}
                  retry: 0
            rules: [{name: api, match: {path: /api/**}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(text) { proxy in
            let page = try proxy.client().get("http://127.0.0.1:1/api/a").bodyText
            #expect(page.contains("its token server id.test:443 gave no answer"))
            #expect(page.contains("by the parent proxy 127.0.0.1:\(port.number)"))
        }
    }
}
