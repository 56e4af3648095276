// A client's own password for a parent proxy, where a rule decrypts what its CONNECT is for.
import LupinTestKit
import Testing

struct ParentPasswordTests {
    @Test(arguments: ["GET", "CONNECT"])
    func `the rule that names a parent which fails is named, too`(method: String) async throws {
        let port = try ReservedPort()
        let proxy = "http://127.0.0.1:\(port.number)"
        let rules = "rules: [{name: corp, match: origin.test, proxy: \"\(proxy)\"}]"
        try await ProxyFixture.run(rules) { lupin in
            let client = try lupin.client()
            try client.send(method, method == "GET" ? "http://origin.test/" : "origin.test:443")
            let response = try client.response(to: method)
            let text = "The parent proxy 127.0.0.1:\(port.number) (rule \"corp\") refused"
            #expect(response.status == 502)
            #expect(response.bodyText.contains(text))
            let status = response["Proxy-Status"] ?? ""
            #expect(status.contains("next-hop=\"127.0.0.1:\(port.number)\""))
            let record = try lupin.record()
            #expect(record["error.parent"] == "127.0.0.1:\(port.number)")
            #expect(record["error.parent_rule"] == "corp")
        }
    }

    private static let password = "Proxy-Authorization: Basic dTpw"
    private static let other = "Proxy-Authorization: Basic eDp5"

    private static func run(
        _ body: @Sendable @escaping (ProxyFixture, PlayedOrigin) throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        try await ProxyFixture.run(settings + Inside.rule) { proxy in try body(proxy, parent) }
    }

    private static func connect(_ proxy: ProxyFixture, _ fields: String...) throws -> ScriptedClient
    {
        let client = try proxy.client()
        try client.send("CONNECT", "origin.test:443", fields)
        return client
    }

    /// Grants the tunnel that the parent is asked for.
    private static func grant(
        _ link: OriginConnection,
        to client: ScriptedClient,
        _ password: String?
    ) throws -> ScriptedClient {
        let request = try link.requestHead()
        #expect(request.startLine == "CONNECT origin.test:443 HTTP/1.1")
        #expect(request["Proxy-Authorization"] == password.map { String($0.dropFirst(21)) })
        try link.send(head("HTTP/1.1 200 Connected"))
        #expect(try client.response(to: "CONNECT").status == 200)
        return try client.secure(SecureSocket.Client("origin.test"))
    }

    private static func serve(_ far: OriginConnection, _ client: ScriptedClient) throws {
        let request = try far.request()
        #expect(request["Proxy-Authorization"] == nil)
        try far.reply(body: "fine")
        #expect(try client.response().bodyText == "fine")
    }

    @Test func `the client is asked by the parent, and its password opens the tunnel`() async throws
    {
        try await Self.run { proxy, parent in
            let stranger = try Self.connect(proxy)
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == nil)
            try link.reply(407, "Proxy-Authenticate: Basic realm=\"corp\"", body: "who?")
            let challenge = try stranger.response(to: "CONNECT")
            #expect(challenge.status == 407)
            #expect(challenge["Proxy-Authenticate"] == "Basic realm=\"corp\"")
            #expect(challenge.bodyText == "who?")
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.parent"] == parent.authority)
            #expect(record["attempts.0.via"] == parent.authority)

            let outer = try Self.connect(proxy, Self.password)
            let client = try Self.grant(link, to: outer, Self.password)
            try client.send("GET", "https://origin.test/")
            let far = try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            try Self.serve(far, client)
            #expect(!parent.hasWaiting)
            #expect(!proxy.logText.contains("dTpw"))
        }
    }

    @Test func `only clients with the same password share a connection through the parent`()
        async throws
    {
        try await Self.run { proxy, parent in
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let first = try Self.connect(proxy, Self.password)
            let link = try parent.accept()
            let client = try Self.grant(link, to: first, Self.password)
            try client.send("GET", "https://origin.test/1")
            let far = try link.secure(server)
            try Self.serve(far, client)

            let second = try Self.connect(proxy, Self.other)
            let otherLink = try parent.accept()
            let otherClient = try Self.grant(otherLink, to: second, Self.other)
            try otherClient.send("GET", "https://origin.test/2")
            try Self.serve(try otherLink.secure(server), otherClient)

            // A second request of the first client while its connection is in use.
            try client.send("GET", "https://origin.test/3")
            try Self.serve(far, client)
        }
    }

    @Test func `a parent that wants no password is asked once`() async throws {
        try await Self.run { proxy, parent in
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let first = try Self.connect(proxy)
            let link = try parent.accept()
            let client = try Self.grant(link, to: first, nil)
            try client.send("GET", "https://origin.test/1")
            try Self.serve(try link.secure(server), client)
            let second = try Self.connect(proxy)
            #expect(try second.response(to: "CONNECT").status == 200)
            #expect(!parent.hasWaiting)
        }
    }

    /// Does what refuses a CONNECT: a status, or 0 for a close.
    private static func refuse(_ link: OriginConnection, _ status: Int) throws {
        let request = try link.requestHead()
        #expect(request.startLine == "CONNECT origin.test:443 HTTP/1.1")
        #expect(request["Proxy-Authorization"] == "Basic dTpw")
        if status > 0 { try link.reply(status, body: "no") }
        link.close()
    }

    @Test(arguments: [403, 404, 502, 503, 504, 0])
    func `whatever refuses a CONNECT but 407, the password is kept`(status: Int) async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        let rule = "request: [{set: {X-Inside: \"1\"}}], retry: none"
        let rules = "rules: [{match: {host: origin.test}, \(rule)}]"
        try await ProxyFixture.run(settings + rules) { proxy in
            let outer = try Self.connect(proxy, Self.password)
            try Self.refuse(try parent.accept(), status)
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/1")
            try Self.refuse(try parent.accept(), status)
            let response = try client.response()
            #expect(response.status == 502)
            let said = status > 0 ? "answered CONNECT with \(status)" : "closed the connection"
            #expect(response.bodyText.contains(said))

            // Later it may grant the tunnel, still to this password.
            try client.send("GET", "https://origin.test/2")
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == "Basic dTpw")
            try link.send(head("HTTP/1.1 200 Connected"))
            let far = try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            try Self.serve(far, client)
            // Other clients have it not.
            let stranger = try Self.connect(proxy)
            #expect(try parent.accept().requestHead()["Proxy-Authorization"] == nil)
            _ = stranger
        }
    }

    @Test(arguments: [503, 0])
    func `a retry takes the password along`(status: Int) async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        let retry = "retry: {use: standard, backoff: {base: 1, scale: 1ms, max: 1ms, jitter: none}}"
        let rules = "rules: [{match: {host: origin.test}, \(retry)}]"
        try await ProxyFixture.run(settings + rules) { proxy in
            let outer = try Self.connect(proxy, Self.password)
            try Self.refuse(try parent.accept(), status)
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/")
            try Self.refuse(try parent.accept(), status)
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == "Basic dTpw")
            try link.send(head("HTTP/1.1 200 Connected"))
            try Self.serve(
                try link.secure(try proxy.authority.server("origin.test", ["http/1.1"])),
                client
            )
        }
    }

    /// A rule that names its parent once the request is seen.
    private static func late(_ match: String, _ parent: PlayedOrigin) -> String {
        "rules: [{name: late, match: {host: origin.test, \(match)}, "
            + "proxy: \"http://\(parent.authority)\", request: [{set: {X-Inside: \"1\"}}]}]"
    }

    @Test(arguments: ["path: /1", "method: GET"])
    func `a parent that is known inside only gets the password of the CONNECT`(
        match: String
    ) async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(Self.late(match, parent)) { proxy in
            let outer = try Self.connect(proxy, Self.password)
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/1")
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == "Basic dTpw")
            try link.send(head("HTTP/1.1 200 Connected"))
            let far = try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
            try Self.serve(far, client)
            // Another client shares neither the connection nor the password.
            let other = try Self.connect(proxy)
            #expect(try other.response(to: "CONNECT").status == 200)
            let stranger = try other.secure(SecureSocket.Client("origin.test"))
            try stranger.send("GET", "https://origin.test/1")
            let second = try parent.accept()
            #expect(try second.requestHead()["Proxy-Authorization"] == nil)
            try second.reply(407, "Proxy-Authenticate: Basic realm=\"corp\"")
            let refused = try stranger.response()
            #expect(refused.status == 502)
            #expect(refused.bodyText.contains("where the rule \"late\" matches by the host alone"))
        }
    }

    @Test(arguments: [true, false])
    func `so it does for clear text inside`(decrypts: Bool) async throws {
        let parent = try PlayedOrigin()
        let judging =
            "rules: [{match: {not: {host: origin.test}}, respond: {status: 403}}, "
            + "{match: {path: /1}, proxy: \"http://\(parent.authority)\"}]"
        let rules = decrypts ? Self.late("path: /1", parent) : judging
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client()
            try client.send("CONNECT", authority, [Self.password])
            #expect(try client.response(to: "CONNECT").status == 200)
            try client.send("GET /1 HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            let link = try parent.accept()
            #expect(try link.request()["Proxy-Authorization"] == "Basic dTpw")
            try link.reply(body: "fine")
            #expect(try client.response().bodyText == "fine")
        }
    }

    @Test func `a login that takes messages is not shown to it`() async throws {
        let parent = try PlayedOrigin()
        try await ProxyFixture.run(Self.late("path: /1", parent)) { proxy in
            let outer = try Self.connect(proxy, "Proxy-Authorization: NTLM one")
            #expect(try outer.response(to: "CONNECT").status == 200)
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET", "https://origin.test/1")
            let link = try parent.accept()
            #expect(try link.requestHead()["Proxy-Authorization"] == nil)
            try link.reply(407, "Proxy-Authenticate: NTLM")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response.bodyText.contains("where the rule \"late\" matches by the host alone"))
        }
    }

    @Test func `a parent that is down is told inside`() async throws {
        try await Self.run { proxy, parent in
            parent.close()
            let client = try proxy.client().connectSecurely("origin.test:443")
            try client.send("GET", "https://origin.test/")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response.bodyText.contains("The parent proxy \(parent.authority) refused"))
            #expect(response["Proxy-Status"]?.contains("next-hop=\"\(parent.authority)\"") == true)
            #expect(try proxy.record()["error.parent"] == parent.authority)
        }
    }
}
