// NTLM and Negotiate at a parent proxy log in to the connection with it: nobody else may use it.
import LupinTestKit
import Testing

struct ParentLoginTests {
    /// A parent that knows a user by the connection alone, once the handshake is done.
    private static func parent(
        _ scheme: String,
        _ answer: @escaping @Sendable (OriginConnection, _ repetition: Int) throws -> Void = {
            connection,
            _ in
            try connection.reply(200, "Cache-Control: max-age=600", body: "secret")
        }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { connection in
            var (isChallenged, isUser) = (false, false)
            var seen: [String: Int] = [:]
            while let request = try connection.nextRequest() {
                seen[request.target, default: 0] += 1
                let credentials = request["proxy-authorization"]
                if isUser || (isChallenged && credentials == "\(scheme) three") {
                    isUser = true
                    try answer(connection, seen[request.target] ?? 0)
                } else if credentials == "\(scheme) one" {
                    isChallenged = true
                    try connection.reply(407, "Proxy-Authenticate: \(scheme) two")
                } else {
                    try connection.reply(407, "Proxy-Authenticate: \(scheme)")
                }
            }
        }
    }

    private static func run(
        _ parent: ScriptedOrigin,
        _ rules: String = "",
        _ body: @Sendable @escaping (ProxyFixture) throws -> Void
    ) async throws {
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        try await ProxyFixture.run(settings + rules) { proxy in
            defer { parent.stop() }
            try body(proxy)
        }
    }

    private static func logIn(_ client: ScriptedClient, _ scheme: String) throws {
        #expect(try client.get("http://origin.test/").status == 407)
        let one = try client.get("http://origin.test/", "Proxy-Authorization: \(scheme) one")
        #expect(one["Proxy-Authenticate"] == "\(scheme) two")
        let three = try client.get("http://origin.test/", "Proxy-Authorization: \(scheme) three")
        #expect(three.bodyText == "secret")
    }

    @Test(arguments: ["NTLM", "Negotiate", "nTLM", "Kerberos", "Nego2", "CredSSP", "X-Corp"])
    func `who has not logged in does not get the connection of who has`(
        scheme: String
    ) async throws {
        try await Self.run(try Self.parent(scheme)) { proxy in
            let user = try proxy.client()
            try Self.logIn(user, scheme)
            #expect(try proxy.client().get("http://origin.test/").status == 407)
            #expect(try proxy.client().get("http://other.test/").status == 407)
            #expect(try proxy.client().connect("origin.test:443").status == 407)
            // The user's own connection stays logged in, for every origin.
            #expect(try user.get("http://other.test/").bodyText == "secret")
        }
    }

    @Test func `a handshake goes over one connection, whoever comes between`() async throws {
        try await Self.run(try Self.parent("NTLM")) { proxy in
            let (one, two) = (try proxy.client(), try proxy.client())
            for client in [one, two] {
                let field = "Proxy-Authorization: NTLM one"
                #expect(try client.get("http://origin.test/", field).status == 407)
            }
            #expect(try proxy.client().get("http://origin.test/").status == 407)
            for client in [one, two] {
                let field = "Proxy-Authorization: NTLM three"
                #expect(try client.get("http://origin.test/", field).bodyText == "secret")
            }
        }
    }

    @Test(arguments: ["NTLM", "CredSSP", "X-Corp"])
    func `the handshake of a CONNECT goes over one connection of the client's`(
        scheme: String
    ) async throws {
        let parent = try Self.parent(scheme) { connection, _ in
            try connection.send(head("HTTP/1.1 200 OK") + "inside")
        }
        try await Self.run(parent) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:443", ["Proxy-Authorization: \(scheme) one"])
            let challenge = try client.response(to: "CONNECT")
            #expect(challenge.status == 407)
            #expect(challenge["Proxy-Authenticate"] == "\(scheme) two")
            #expect(challenge["Connection"] == nil)
            try client.send("CONNECT", "origin.test:443", ["Proxy-Authorization: \(scheme) three"])
            #expect(try client.response(to: "CONNECT").status == 200)
            #expect(try client.stream.text(6) == "inside")
            #expect(parent.connections.count == 1)
        }
    }

    @Test func `a repeated request goes over the connection of the login`() async throws {
        let parent = try Self.parent("NTLM") { connection, repetition in
            repetition == 1 ? try connection.reply(503) : try connection.reply(body: "secret")
        }
        let rules = "rules: [{match: {host: origin.test}, retry: {use: standard}}]"
        try await Self.run(parent, rules) { proxy in
            let user = try proxy.client()
            try Self.logIn(user, "NTLM")
            // The first answer to it is 503, on whatever connection.
            #expect(try user.get("http://origin.test/again").bodyText == "secret")
            #expect(try user.get("http://origin.test/").bodyText == "secret")
        }
    }

    @Test func `no hedge runs beside a request on the connection of a login`() async throws {
        let gate = Bell()
        let parent = try Self.parent("NTLM") { connection, _ in
            _ = gate.wait()
            try connection.reply(body: "secret")
        }
        gate.ring()
        let clock = VirtualClock()
        let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
        let rules = everywhere("retry: {use: standard, hedge: {after: 200ms}}")
        try await ProxyFixture.run(settings + rules, clock: clock) { proxy in
            defer { parent.stop() }
            let user = try proxy.client()
            try Self.logIn(user, "NTLM")
            let before = parent.connections.count
            try user.send("GET", "http://origin.test/slow")
            try proxy.settle()
            try clock.advance(by: .seconds(1))
            try proxy.settle()
            gate.ring()
            #expect(try user.response().bodyText == "secret")
            #expect(parent.connections.count == before)
            #expect(try proxy.client().get("http://origin.test/").status == 407)
        }
    }

    @Test func `the rest of a broken download is asked for without the login`() async throws {
        let parent = try Self.parent("NTLM") { connection, repetition in
            guard repetition == 1 else { return try connection.reply(body: "secret") }
            let fields = ["HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 10"]
            try connection.send(fields.joined(separator: "\r\n") + "\r\n\r\n01234")
            connection.close()
        }
        try await Self.run(parent, everywhere("resume: true")) { proxy in
            let user = try proxy.client()
            try Self.logIn(user, "NTLM")
            try user.send("GET", "http://origin.test/file")
            // Another connection knows no user: its 407 is no rest.
            let (bytes, _) = try user.stream.untilEnd()
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasSuffix("01234"))
            #expect(try proxy.client().get("http://origin.test/file").status == 407)
            #expect(try proxy.records(5)[3]["outcome"] == "truncated")
        }
    }

    @Test func `what comes over a login is stored for nobody else`() async throws {
        let rules = everywhere("cache: standard")
        try await Self.run(try Self.parent("NTLM"), rules) { proxy in
            let user = try proxy.client()
            try Self.logIn(user, "NTLM")
            #expect(try user.get("http://origin.test/page").bodyText == "secret")
            #expect(try proxy.client().get("http://origin.test/page").status == 407)
        }
    }

    @Test(arguments: ["public, max-age=600", "s-maxage=600", "max-age=600, must-revalidate"])
    func `nor where the origin lets everybody have it`(control: String) async throws {
        let parent = try Self.parent("NTLM") { connection, repetition in
            try connection.reply(200, "Cache-Control: \(control)", body: "secret \(repetition)")
        }
        defer { parent.stop() }
        for mode in ["standard", "{use: standard, mode: private}"] {
            let settings = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n"
            try await ProxyFixture.run(settings + everywhere("cache: \(mode)")) { proxy in
                let user = try proxy.client()
                for part in ["one", "three"] {
                    try user.get("http://origin.test/", "Proxy-Authorization: NTLM \(part)")
                }
                let page = try user.get("http://origin.test/page")
                #expect(page.bodyText.hasPrefix("secret"))
                #expect(page.caching == "lupin; fwd=bypass; detail=login")
                #expect(try proxy.client().get("http://origin.test/page").status == 407)
                #expect(try user.get("http://origin.test/page").bodyText.hasPrefix("secret"))
            }
        }
    }

    @Test func `nor is what comes for a client's own password`() async throws {
        let parent = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                if request["proxy-authorization"] == "Basic dTpw" {
                    try connection.reply(200, "Cache-Control: max-age=600", body: "secret")
                } else {
                    try connection.reply(407, "Proxy-Authenticate: Basic realm=\"corp\"")
                }
            }
        }
        try await Self.run(parent, everywhere("cache: standard")) { proxy in
            let field = "Proxy-Authorization: Basic dTpw"
            let url = "http://origin.test/page"
            let (user, stranger) = (try proxy.client(), try proxy.client())
            for _ in 0..<2 { #expect(try user.get(url, field).bodyText == "secret") }
            #expect(try stranger.get(url).status == 407)
        }
    }
}
