// NTLM and Negotiate at a parent proxy, where a rule decrypts what the client's CONNECT is for.
import LupinTestKit
import Testing

struct ParentTunnelLoginTests {
    private static let field = "Proxy-Authorization: NTLM three"

    private static func run(
        _ body: @Sendable @escaping (ProxyFixture, PlayedOrigin) throws -> Void
    ) async throws {
        let parent = try PlayedOrigin()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        try await ProxyFixture.run(settings + Inside.rule) { proxy in try body(proxy, parent) }
    }

    /// Has the parent take the last message of a handshake, whose others need no part here.
    private static func connect(
        _ proxy: ProxyFixture,
        _ parent: PlayedOrigin,
        field: String = field
    ) throws -> (client: ScriptedClient, link: OriginConnection) {
        let client = try proxy.client()
        try client.send("CONNECT", "origin.test:443", [field])
        let link = try parent.accept()
        #expect(
            "Proxy-Authorization: " + (try link.requestHead()["Proxy-Authorization"] ?? "") == field
        )
        // Of a scheme without a name the parent says what it is.
        try link.send(head("HTTP/1.1 200 Connected", "Persistent-Auth: \(field.contains("X-"))"))
        #expect(try client.response(to: "CONNECT").status == 200)
        return (client, link)
    }

    private static func open(
        _ proxy: ProxyFixture,
        _ parent: PlayedOrigin,
        _ protocols: [String] = [],
        field: String = field
    ) throws -> (client: ScriptedClient, link: OriginConnection) {
        let (outer, link) = try connect(proxy, parent, field: field)
        var hello = SecureSocket.Client("origin.test")
        hello.protocols = protocols
        return (try outer.secure(hello), link)
    }

    private static func secure(
        _ link: OriginConnection,
        _ proxy: ProxyFixture
    ) throws -> OriginConnection {
        try link.secure(try proxy.authority.server("origin.test", ["http/1.1"]))
    }

    @Test(arguments: ["NTLM three", "nEgotiate abc", "Kerberos abc", "CredSSP abc", "X-Corp abc"])
    func `the last response of the connection tells the client to log in anew`(
        credentials: String
    ) async throws {
        try await Self.run { proxy, parent in
            let field = "Proxy-Authorization: \(credentials)"
            for _ in 0..<2 {
                let (client, link) = try Self.open(proxy, parent, field: field)
                try client.send("GET", "https://origin.test/1")
                let far = try Self.secure(link, proxy)
                try far.request()
                try far.reply(body: "one")
                let first = try client.response()
                #expect(first.bodyText == "one")
                #expect(first["Connection"] == nil)
                try client.send("GET", "https://origin.test/2")
                try far.request()
                try far.reply(200, "Connection: close", body: "two")
                let last = try client.response()
                #expect(last.bodyText == "two")
                #expect(last["Connection"] == "close")
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(!parent.hasWaiting)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `where the connection is gone the client's ends as one that was kept`(
        method: String
    ) async throws {
        try await Self.run { proxy, parent in
            let (client, link) = try Self.open(proxy, parent)
            try client.send("GET", "https://origin.test/1")
            let far = try Self.secure(link, proxy)
            try far.request()
            try far.reply(body: "one")
            #expect(try client.response().bodyText == "one")
            far.close()
            try client.send(method, "https://origin.test/2", body: method == "POST" ? "x" : nil)
            #expect(try client.waitForEnd() == .finished)
            // The old message is not shown to the parent again.
            #expect(!parent.hasWaiting)
            let record = try proxy.records(2)[1]
            #expect(record["outcome"] == "error")
        }
    }

    @Test func `a client that never had a response is told why`() async throws {
        try await Self.run { proxy, parent in
            let (client, link) = try Self.open(proxy, parent)
            link.close()
            try client.send("GET", "https://origin.test/")
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(!parent.hasWaiting)
        }
    }

    @Test(arguments: [(["h2", "http/1.1"], "http/1.1"), (["h2"], "h2")])
    func `requests that could need several connections get one each`(
        offered: [String],
        chosen: String
    ) async throws {
        try await Self.run { proxy, parent in
            let (client, _) = try Self.open(proxy, parent, offered)
            #expect(client.security?.facts.chosenProtocol == chosen)
        }
    }

    @Test(arguments: ["SSH-2.0-x\r\n", "GET / HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"])
    func `what is no TLS goes through the tunnel that was opened`(bytes: String) async throws {
        try await Self.run { proxy, parent in
            let (client, link) = try Self.connect(proxy, parent)
            try client.send(bytes)
            #expect(try link.stream.text(bytes.utf8.count) == bytes)
            try link.send("hello")
            #expect(try client.stream.text(5) == "hello")
            #expect(!parent.hasWaiting)
        }
    }
}
