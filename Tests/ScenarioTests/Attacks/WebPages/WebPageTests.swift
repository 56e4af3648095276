// Web pages of other sites in the owner's browser: they get nothing by the owner's credentials.
import LupinCore
import LupinTestKit
import Testing

struct WebPageTests {
    private static let tokens = "tokens: {acme: {bearer: owner-token, plain_http: true}}\n"
    private static let rule =
        "rules: [{name: acme, match: {host: api.test}, request: [{auth: acme}]}]"
    private static let evil = ["Origin: https://evil.test", "Sec-Fetch-Site: cross-site"]

    /// Runs a story with an origin that says which credential it got, and lets any page read that.
    private static func run(
        _ rules: String,
        files: [String: [UInt8]] = [:],
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(
            tokens + rules,
            environment: ["KEY": "owner-token"],
            files: files,
            resolve: ProxyFixture.here
        ) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let credential = request["authorization"] ?? request["x-key"] ?? "nothing"
                    let fields = ["Access-Control-Allow-Origin: *", "Cache-Control: max-age=60"]
                    let body = "got \(credential)"
                    // A hedge that has lost is reset, perhaps while it is answered.
                    let sent: Void? = try? connection.reply(200, fields[0], fields[1], body: body)
                    guard sent != nil else { return }
                }
            }
            try body(proxy, origin)
        }
    }

    /// Checks the answer to the latest request, which has `earlier` ones before it.
    private static func expectRefusal(
        _ response: ScriptedMessage,
        _ proxy: ProxyFixture,
        after earlier: Int = 0
    ) throws {
        #expect(response.status == 403)
        #expect(!response.bodyText.contains("owner-token"))
        #expect(response.bodyText.contains("cross_site"), "\(response.bodyText)")
        #expect(response["proxy-status"]?.contains("http_request_denied") == true)
        #expect(response["access-control-allow-origin"] == nil)
        #expect(try proxy.records(earlier + 1).last?["outcome"] == "denied")
    }

    private static let browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140"

    private static let foreign: [(method: String, fields: [String])] = [
        ("GET", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]),
        ("GET", ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"]),
        ("GET", ["Origin: https://evil.test"]), ("GET", ["Origin: null"]),
        ("GET", ["Origin: http://api.test:1"]), ("GET", ["Origin:"]),
        ("POST", ["Origin: https://evil.test", "Content-Length: 0"]),
        ("DELETE", evil), ("HEAD", evil),
        ("OPTIONS", ["Origin: https://evil.test", "Access-Control-Request-Method: PUT"]),
        ("GET", ["Sec-Fetch-Site: none", "Origin: https://evil.test"]),
        ("GET", ["Sec-Fetch-Site: same-origin", "Origin: https://evil.test"]),
        ("GET", ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]),
        ("GET", ["Sec-Fetch-Site: same-origin, none"]), ("GET", ["SEC-FETCH-SITE: x"]),
        ("GET", [browser, "Referer: https://evil.test/page"]),
        ("GET", ["Sec-CH-UA: \"Chromium\"", "Referer: https://evil.test/page"]),
        ("GET", [browser, "Referer: about:client"]),
        (
            "GET",
            [
                "Origin: https://evil.test", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            ]
        ),
    ]

    @Test(arguments: foreign)
    func `a page of another site is refused, and the origin hears nothing`(
        method: String,
        fields: [String]
    ) async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            try client.send(method, "http://\(origin.authority("api.test"))/", fields)
            let response = try client.response(to: method)
            #expect(response.status == 403)
            #expect(origin.connections.isEmpty)
            if method != "HEAD" { try Self.expectRefusal(response, proxy) }
        }
    }

    /// Else the page's own icon would be asked for with the credential: it is of the same origin.
    @Test(arguments: ["text/html", "text/plain", "application/json"])
    func `a page that says so loads nothing from the host that was asked`(
        type: String
    ) async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            try client.send(
                "GET",
                "http://\(origin.authority("api.test"))/",
                ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Accept: \(type)"]
            )
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response["content-type"]?.hasPrefix(type) == true)
            let policy = try #require(response["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("img-src data:"))
            let hasIcon = response.bodyText.contains("<link rel=\"icon\" href=\"data:,\">")
            #expect(hasIcon == (type == "text/html"))
        }
    }

    @Test(arguments: [
        [], [browser], ["User-Agent: curl/8", "Referer: https://evil.test/"],
        ["User-Agent: git/2.50"], ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", browser],
        ["Sec-Fetch-Site: same-origin", browser, "Referer: http://api.test/"],
    ])
    func `a program, the user and the origin's own pages get the credential`(
        fields: [String]
    ) async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let url = "http://\(origin.authority("api.test"))/"
            let client = try proxy.client()
            try client.send("GET", url, fields)
            #expect(try client.response().bodyText == "got Bearer owner-token")
            try client.send("POST", url, ["Origin: http://\(origin.authority("api.test"))"])
            #expect(try client.response(to: "POST").bodyText == "got Bearer owner-token")
        }
    }

    @Test(arguments: [
        "request: [{auth: acme}]", #"request: [{set: {X-Key: "${token:acme}"}}]"#,
        #"request: [{set: {X-Key: "${secret:KEY}"}}]"#,
        #"request: [{query: {set: {key: "${secret:KEY}"}}}]"#,
        "stand_ins: [acme]", "cookies: {jar: DIR/jar.txt}",
        "request: [{auth: acme}], cache: standard",
        "request: [{auth: acme}], retry: {hedge: {after: 1ms}}",
        "request: [{auth: acme}], respond: {status: 200, body: mine}",
    ])
    func `whatever is attached is attached for no page of another site`(
        keys: String
    ) async throws {
        let rules = "rules: [{name: acme, match: {host: api.test}, \(keys)}]"
        try await Self.run(rules) { proxy, origin in
            let url = "http://\(origin.authority("api.test"))/"
            let client = try proxy.client()
            // What is stored, or under way, for the owner is not for the page either.
            #expect(try client.get(url).status == 200)
            _ = try proxy.record()
            let count = origin.receivedText.count
            try client.send("GET", url, Self.evil)
            try Self.expectRefusal(try client.response(), proxy, after: 1)
            #expect(origin.receivedText.count == count)
        }
    }

    @Test func `a rule that attaches nothing serves every page`() async throws {
        let rule = "rules: [{match: {host: api.test}, request: [{set: {X-Key: plain}}]}]"
        try await Self.run(rule) { proxy, origin in
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("api.test"))/", Self.evil)
            #expect(try client.response().bodyText == "got plain")
        }
    }

    @Test(arguments: [
        ("[\"https://app.test\"]", "https://app.test", true),
        ("[\"https://app.test\"]", "https://evil.test", false),
        ("[\"https://app.test\"]", "http://app.test", false),
        ("[\"https://app.test\"]", "https://app.test:8443", false),
        ("[\"https://*.app.test\"]", "https://x.app.test", true),
        ("[\"https://*.app.test\"]", "https://app.test.evil.test", false),
        ("any", "https://evil.test", true), ("any", "null", true),
        ("[\"https://app.test\"]", "null", false),
    ])
    func `cross_site lists the pages that get the credential`(
        list: String,
        page: String,
        isAdmitted: Bool
    ) async throws {
        let keys = "request: [{auth: acme}], cross_site: \(list)"
        let rules = "rules: [{name: acme, match: {host: api.test}, \(keys)}]"
        try await Self.run(rules) { proxy, origin in
            let client = try proxy.client()
            let fields = ["Origin: \(page)", "Sec-Fetch-Site: cross-site"]
            try client.send("GET", "http://\(origin.authority("api.test"))/", fields)
            let response = try client.response()
            #expect(response.status == (isAdmitted ? 200 : 403))
            #expect((response.bodyText == "got Bearer owner-token") == isAdmitted)
        }
    }

    @Test func `inside an interception a page is refused, and the client certificate stays here`()
        async throws
    {
        let files = try TestAuthority.identityFiles("client.test")
        try await ProxyFixture.run(
            "upstream: {tls: {client_cert: {cert: DIR/my.pem, key: DIR/my.key}}}\n"
                + "rules: [{match: {host: origin.test}, intercept: true}]",
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client().connectSecurely(authority)
            let head = "GET / HTTP/1.1\r\nHost: \(authority)\r\n"
            try client.send(head + "Origin: https://evil.test\r\n\r\n")
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response.bodyText.contains("a client certificate"))
            try client.send(head + "Origin: https://\(authority)\r\n\r\n")
            let connection = try origin.acceptSecurely(
                try proxy.authority.server("origin.test", ["http/1.1"])
            )
            try connection.request()
            try connection.reply(body: "own")
            #expect(try client.response().bodyText == "own")
        }
    }

    @Test func `over HTTP2 a page is refused as over HTTP1`() async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let client = try HTTP2Client(to: proxy.address)
            let authority = origin.authority("api.test")
            let head = HTTP2Fields.request("GET", scheme: "http", authority: authority, path: "/")
            let foreign = try client.send(head + ["origin": "https://evil.test"])
            #expect(try client.response(on: foreign).status == 403)
            let own = try client.send(head + ["sec-fetch-site": "same-origin"])
            #expect(try client.response(on: own).status == 200)
            #expect(origin.receivedText.contains("owner-token"))
        }
    }

    @Test(arguments: [
        ["Sec-Fetch-Site: same-origin"], ["Origin: http://a.test"],
        ["User-Agent: Mozilla/5.0", "Referer: http://a.test/"],
    ])
    func `where a redirect is followed to another origin, the page is still that of the first`(
        fields: [String]
    ) async throws {
        let rules = """
            rules:
              - {match: {host: a.test}, redirect: {follow: true}}
              - {name: acme, match: {host: api.test}, request: [{auth: acme}]}
            """
        try await Self.run(rules) { proxy, origin in
            let first = try proxy.origin(
                answering: head(
                    "HTTP/1.1 302 Go",
                    "Location: http://\(origin.authority("api.test"))/",
                    "Content-Length: 0"
                )
            )
            let url = "http://\(first.authority("a.test"))/"
            let client = try proxy.client()
            try client.send("GET", url, fields)
            try Self.expectRefusal(try client.response(), proxy)
            #expect(origin.connections.isEmpty)
            #expect(try client.get(url).bodyText == "got Bearer owner-token")
        }
    }

    @Test func `a private cache serves a page nothing of the owner's, and the other way round`()
        async throws
    {
        let rules = "rules: [{match: {host: api.test}, cache: {mode: private}}]"
        try await Self.run(rules) { proxy, origin in
            let url = "http://\(origin.authority("api.test"))/"
            let client = try proxy.client()
            #expect(try client.get(url).status == 200)
            #expect(try client.get(url).isHit)
            #expect(try !client.get(url, "Origin: https://evil.test").isHit)
            #expect(try client.get(url, "Origin: https://evil.test").isHit)
            #expect(try !client.get(url, "Origin: https://other.test").isHit)
            for _ in 0..<2 { #expect(try !client.get(url, "Origin: null").isHit) }
            for _ in 0..<2 { #expect(try !client.get(url, "Sec-Fetch-Site: cross-site").isHit) }
        }
    }

    @Test(.waitsForPrograms)
    func `explain tells which page is refused, and what admits it`() throws {
        let folder = try Folder()
        let file = try folder.write(
            "lupin.yaml",
            """
            lupin: 1
            tokens: {acme: {bearer: owner-token}}
            rules: [{name: acme, match: "https://api.test", request: [{auth: acme}]}]
            """
        )
        let words = ["explain", "--rules", file, "-H", "Origin: https://evil.test"]
        let result = try Lupin.run(words + ["https://api.test/"])
        #expect(result.output.contains("✗ This request comes from a page of https://evil.test"))
        #expect(result.output.contains("(cross_site)"), "\(result)")
    }
}
