// Stand-ins on their way: exchanged where a rule names their token, worth nothing elsewhere.
import LupinCore
import LupinPolicy
import LupinProxy
import LupinTestKit
import Testing

struct StandInTests {
    static let standIn = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    static let secret = "s3cret/value-of-github"

    static var hooks: Hooks {
        var hooks = Hooks()
        hooks.standIns = StandIns([StandIn(token: "github", text: standIn)])
        return hooks
    }

    private static let token = "tokens: {github: {bearer: \(secret), plain_http: true}}\n"

    /// Runs a story with a client that has a stand-in for `github`; names lead to 127.0.0.1.
    static func run(
        _ rules: String,
        identify: LocalUsers? = nil,
        _ body: @Sendable @escaping (ProxyFixture, PlayedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(
            token + rules,
            resolve: ProxyFixture.here,
            identify: identify?.identify,
            hooks: hooks
        ) { proxy in
            let origin = try PlayedOrigin()
            try body(proxy, origin)
            // Neither of the two is in the log, in whatever form.
            let log = proxy.logText
            for text in [standIn, secret, "s3cret%2Fvalue", "s3cret\\/value"] {
                #expect(!log.contains(text))
            }
        }
    }

    private static func basic(_ pair: String) -> String {
        "Basic " + Base64Text.encode(Array(pair.utf8))
    }

    /// What the origin gets for a request to `a.test`.
    private func sent(
        _ fields: [String],
        path: String = "/",
        _ proxy: ProxyFixture,
        _ origin: PlayedOrigin
    ) throws -> ScriptedMessage {
        let client = try proxy.client()
        try client.send("GET", "http://\(origin.authority("a.test"))\(path)", fields)
        let connection = try origin.accept()
        let request = try connection.request()
        try connection.reply(200, "Connection: close", body: "hello")
        #expect(try client.response().bodyText == "hello")
        return request
    }

    private static let rule = """
        rules:
          - name: a
            match: {host: a.test}
            stand_ins: {tokens: [github], in: [fields, query]}
        """

    @Test func `in fields and in the query the origin gets the credential`() async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let request = try sent(
                [
                    "Authorization: token \(Self.standIn)",
                    "X-Key: k=\(Self.standIn)",
                    "Cookie: a=1; t=\(Self.standIn)",
                ],
                path: "/a?access_token=\(Self.standIn)&b=c",
                proxy,
                origin
            )
            #expect(request["authorization"] == "token \(Self.secret)")
            #expect(request["x-key"] == "k=\(Self.secret)")
            #expect(request["cookie"] == "a=1; t=\(Self.secret)")
            #expect(request.target == "/a?access_token=s3cret%2Fvalue-of-github&b=c")
            let record = try proxy.record()
            #expect(record.list("stand_ins.exchanged") == ["github"])
            #expect(record["stand_ins.elsewhere"] == nil)
            #expect(record["auth.token"] == "github")
            #expect(record["auth.version"] == "1")
        }
    }

    /// It would show there but for the bytes that a server cuts off from what it repeats.
    @Test(arguments: [
        ("X-Request-Id", ""), ("Accept-Language", "en, "), ("Authorization", "Bearer aaaaaa"),
    ])
    func `a field that servers repeat keeps it`(name: String, before: String) async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let request = try sent(
                ["\(name): \(before)\(Self.standIn)", "X-Token: \(Self.standIn)"],
                path: "/?q=aaaaaa\(Self.standIn)",
                proxy,
                origin
            )
            #expect(request[name.lowercased()] == before + Self.standIn)
            #expect(request["x-token"] == Self.secret)
            #expect(request.target.hasSuffix(Self.standIn))
            let record = try proxy.record()
            #expect(record.list("stand_ins.exchanged") == ["github"])
            #expect(record.list("stand_ins.elsewhere") == ["github"])
        }
    }

    @Test(arguments: ["me:\(standIn)", "\(standIn):x-oauth-basic"])
    func `inside Basic it is exchanged as user or password`(pair: String) async throws {
        try await Self.run(Self.rule) { proxy, origin in
            let request = try sent(["Authorization: \(Self.basic(pair))"], proxy, origin)
            let real = pair.replacing(Self.standIn, with: Self.secret)
            #expect(request["authorization"] == Self.basic(real))
        }
    }

    @Test func `path and body keep it, and a request without one gets no credential`()
        async throws
    {
        try await Self.run(Self.rule) { proxy, origin in
            let request = try sent([], path: "/\(Self.standIn)", proxy, origin)
            #expect(request.target == "/\(Self.standIn)")
            #expect(request["authorization"] == nil)
            #expect(try proxy.record()["stand_ins.exchanged"] == nil)
            #expect(try proxy.record().list("stand_ins.elsewhere") == ["github"])
            let client = try proxy.client()
            let length = Self.standIn.utf8.count
            let url = "http://\(origin.authority("a.test"))/"
            try client.send("POST", url, ["Content-Length: \(length)"])
            try client.send(Self.standIn)
            let connection = try origin.accept()
            #expect(try connection.request().bodyText == Self.standIn)
            try connection.reply()
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `with auth the client's form stays, and without a stand-in the token's is sent`()
        async throws
    {
        let rule = "rules: [{name: a, match: {host: a.test}, request: [{auth: github}]}]"
        try await Self.run(rule) { proxy, origin in
            let forms = [
                "token \(Self.standIn)": "token \(Self.secret)",
                "Bearer \(Self.standIn)": "Bearer \(Self.secret)",
                Self.basic("git:\(Self.standIn)"): Self.basic("git:\(Self.secret)"),
                "Bearer another": "Bearer \(Self.secret)",
            ]
            for (form, real) in forms {
                let request = try sent(["Authorization: \(form)"], proxy, origin)
                #expect(request.values("authorization") == [real])
            }
            #expect(try sent([], proxy, origin)["authorization"] == "Bearer \(Self.secret)")
            // Of two lines lupin can't know which one counts.
            let request = try sent(
                ["Authorization: token \(Self.standIn)", "Authorization: token mine"],
                proxy,
                origin
            )
            #expect(request.values("authorization") == ["Bearer \(Self.secret)"])
            #expect(try proxy.records(6).allSatisfy { $0.list("rules.steps") == ["auth github"] })
        }
    }

    @Test func `elsewhere it goes as it is, and the record says so`() async throws {
        try await Self.run("rules: [{name: b, match: {host: b.test}, stand_ins: [github]}]") {
            let request = try sent(["X-Key: \(Self.standIn)"], $0, $1)
            #expect(request["x-key"] == Self.standIn)
            let record = try $0.record()
            #expect(record.list("stand_ins.elsewhere") == ["github"])
            #expect(record["stand_ins.exchanged"] == nil)
            #expect(record["auth.token"] == nil)
        }
    }

    @Test(arguments: ["/", "/?t=\(standIn)", "/\(standIn)"])
    func `elsewhere: refuse answers 403, and the origin gets nothing`(path: String) async throws {
        let rules = "stand_ins: {elsewhere: refuse}\n" + Self.rule
        try await Self.run(rules) { proxy, origin in
            let fields = path == "/" ? ["Authorization: \(Self.basic("a:\(Self.standIn)"))"] : []
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("b.test"))\(path)", fields)
            let response = try client.response()
            #expect(response.status == 403)
            #expect(response.bodyText.contains("stand-in for the token \"github\""))
            #expect(!response.bodyText.contains(Self.standIn))
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "http_request_denied")
            #expect(record.list("stand_ins.elsewhere") == ["github"])
            // Where a rule exchanges it, nothing is refused; this is the origin's first request.
            #expect(try sent(["X-Key: \(Self.standIn)"], proxy, origin)["x-key"] == Self.secret)
        }
    }

    @Test func `another user of the machine is refused`() async throws {
        let users = LocalUsers()
        try await Self.run(Self.rule, identify: users) { proxy, origin in
            let stranger = try users.stranger(proxy)
            let url = "http://\(origin.authority("a.test"))/"
            let response = try stranger.get(url, "Authorization: token \(Self.standIn)")
            #expect(response.status == 403)
            #expect(response.bodyText.contains("access.credentials"))
            #expect(try sent(["X-Key: \(Self.standIn)"], proxy, origin)["x-key"] == Self.secret)
        }
    }

    @Test func `inside an intercepted CONNECT it is exchanged`() async throws {
        let rules = Self.token + Self.rule.replacing("a.test", with: "origin.test")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here, hooks: Self.hooks) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client().connectSecurely(origin.authority("origin.test"))
            let inside = Inside(proxy: proxy, origin: origin, client: client)
            try inside.send("GET", "/?a=\(Self.standIn)", "Authorization: token \(Self.standIn)")
            let connection = try inside.accept()
            let request = try connection.request()
            #expect(request["authorization"] == "token \(Self.secret)")
            #expect(request.target == "/?a=s3cret%2Fvalue-of-github")
            try connection.reply(body: "hello")
            #expect(try client.response().bodyText == "hello")
        }
    }

    @Test func `where the token may not go, nothing is sent`() async throws {
        let rules = """
            tokens: {github: {bearer: \(Self.secret)}}
            rules:
              - {match: {host: a.test}, stand_ins: [github]}
              - {match: {path: /b}, request: [{url: {host: b.test}}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here, hooks: Self.hooks) { proxy in
            let client = try proxy.client()
            let clear = try client.get("http://a.test:1/", "X-Key: \(Self.standIn)")
            #expect(clear.status == 502)
            #expect(clear.bodyText.contains("in clear"))
            let other = try client.get("http://a.test:1/b", "X-Key: \(Self.standIn)")
            #expect(other.status == 502)
            #expect(other.bodyText.contains("is not for b.test:1"))
        }
    }
}
