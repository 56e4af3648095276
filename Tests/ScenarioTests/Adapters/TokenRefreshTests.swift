// One refresh for all who need it: expired tokens, refused tokens, and refreshes that fail.
import LupinCoding
import LupinTestKit
import Synchronization
import Testing

struct TokenRefreshTests {
    /// A rule for `/api/**` and its token.
    static func rules(_ server: TokenServer, _ more: String = "") -> String {
        """
        tokens:
          me:
            oauth2: {grant: client_credentials, url: "\(server.url)", client: {id: cli, secret: pw}}
        \(more)
        rules:
          - {name: api, match: {path: /api/**}, request: [{auth: me}]}
        """
    }

    private func option(_ text: String) -> String { "    \(text)" }

    @Test func `a hundred requests without a token make one token request`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, gate: gate)
        defer { server.stop() }
        try await ProxyFixture.run(Self.rules(server)) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let clients = try (0..<100).map { _ in try proxy.client() }
            for client in clients { try client.send("GET", origin.url("/api/a")) }
            #expect(server.asked.wait())
            try proxy.settle()
            gate.ring()
            for client in clients { #expect(try client.response().bodyText == "welcome") }
            #expect(server.forms == ["grant_type=client_credentials"])
            #expect(server.requests[0]["authorization"] == "Basic Y2xpOnB3")
            #expect(try proxy.records(100).allSatisfy { $0.count("attempts") == 1 })
        }
    }

    @Test func `an expired token is replaced once before anybody sends it`() async throws {
        let server = try TokenServer(life: 60)
        defer { server.stop() }
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(server), clock: clock) { proxy in
            let accepted = Accepted(["t1"])
            let origin = try proxy.guardedOrigin(accepted)
            #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            try clock.advance(by: .seconds(61))
            accepted.set(["t2"])
            let answers = try proxy.storm(20, origin.url("/api/a"))
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(accepted.asked == 21)
            #expect(server.count == 2)
        }
    }

    @Test func `a hundred refused requests lead to one refresh and are all replayed`()
        async throws
    {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        try await ProxyFixture.run(Self.rules(server)) { proxy in
            let accepted = Accepted(["t1"])
            // Nobody is refused before all have come, so that all carry the same token.
            let all = Bell()
            let origin = try proxy.guardedOrigin(accepted) {
                if accepted.asked == 101 { for _ in 0..<100 { all.ring() } }
                #expect(all.wait())
            }
            #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            accepted.set(["t2"])
            let answers = try proxy.storm(100, origin.url("/api/a"))
            #expect(answers.allSatisfy { $0.status == 200 && $0.bodyText == "welcome" })
            #expect(server.count == 2)
            #expect(accepted.asked == 201)
            let records = try proxy.records(101).filter { $0.count("attempts") == 2 }
            #expect(records.count == 100)
            #expect(records.allSatisfy { $0["attempts.0.decision"] == "refresh" })
            #expect(records.allSatisfy { $0["attempts.0.reason"] == "bearer invalid_token" })
            #expect(records.allSatisfy { $0["attempts.1.why"] == "auth" })
        }
    }

    @Test func `when a refresh fails each 401 is the client's own, and new requests get 502`()
        async throws
    {
        let server = try TokenServer(life: 60)
        defer { server.stop() }
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(server), clock: clock) { proxy in
            let accepted = Accepted(["t1"])
            let answered = Atomic(0)
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isAdmitted = accepted.admits(request)
                    let body = isAdmitted ? "welcome" : "refused \(request.target)"
                    try connection.reply(isAdmitted ? 200 : 401, body: body)
                    answered.add(1, ordering: .sequentiallyConsistent)
                }
            }
            #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            accepted.set([])
            let gate = Bell()
            server.change { manners in
                manners.refusal = (400, #"{"error":"invalid_grant"}"#)
                manners.gate = gate
            }
            let clients = try (0..<3).map { _ in try proxy.client() }
            for (i, client) in clients.enumerated() {
                try client.send("GET", origin.url("/api/\(i)"))
            }
            // Sent, not only decided on: who is refused later would have the token fetched again.
            try eventually("the refusals") { answered.load(ordering: .sequentiallyConsistent) == 4 }
            try proxy.settle()
            gate.ring()
            for (i, client) in clients.enumerated() {
                let response = try client.response()
                #expect(response.status == 401)
                #expect(response.bodyText == "refused /api/\(i)")
            }
            #expect(server.count == 2)
            try clock.advance(by: .seconds(61))
            gate.ring()
            let late = try proxy.client().get(origin.url("/api/late"))
            #expect(late.status == 502)
            #expect(late.bodyText.contains("\"me\" is not available"))
            #expect(accepted.asked == 4)
            try eventually("the record of a request without credential") {
                // Lines are handed over in time.
                try? clock.advance(by: .milliseconds(20))
                return proxy.recordsSoFar().contains { $0["error.side"] == "config" }
            }
        }
    }

    @Test func `a long 401 is delivered whole after a refresh that failed`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        try await ProxyFixture.run(Self.rules(server)) { proxy in
            let refusal = String(repeating: "0123456789abcdef", count: 20 << 10)
            #expect(refusal.utf8.count > 64 << 10)
            let origin = try proxy.guardedOrigin(Accepted([]), refusal: refusal) {
                server.change { $0.refusal = (400, "") }
            }
            let response = try proxy.client().get(origin.url("/api/a"))
            #expect(response.status == 401)
            #expect(response.bodyText == refusal)
            #expect(response["www-authenticate"]?.contains("invalid_token") == true)
        }
    }

    @Test func `a second 401 in a row is the client's`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        try await ProxyFixture.run(Self.rules(server)) { proxy in
            let accepted = Accepted([])
            let origin = try proxy.guardedOrigin(accepted, refusal: "never")
            let response = try proxy.client().get(origin.url("/api/a"))
            #expect(response.status == 401)
            #expect(response.bodyText == "never")
            #expect(accepted.asked == 2)
            #expect(server.count == 2)
            let record = try proxy.record()
            #expect(record["attempts.1.reason"] == "refused again")
            #expect(record["attempts.1.decision"] == "deliver")
        }
    }

    @Test func `no more than max refreshes begin in a window`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        let clock = VirtualClock()
        let more = option("refresh: {max: 3, window: 30s}")
        try await ProxyFixture.run(Self.rules(server, more), clock: clock) { proxy in
            let origin = try proxy.guardedOrigin(Accepted([]))
            let client = try proxy.client()
            for _ in 0..<5 { #expect(try client.get(origin.url("/api/a")).status == 401) }
            #expect(server.count == 3)
            let records = try proxy.records(5)
            #expect(records[4]["attempts.0.reason"] == "refreshed too often")
            #expect(records[4].count("attempts") == 1)
            try clock.advance(by: .seconds(31))
            #expect(try client.get(origin.url("/api/a")).status == 401)
            #expect(server.count == 4)
        }
    }

    @Test func `too little scope is nothing that a refresh could cure`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        let more = option("refresh: {on: [401, 403]}")
        try await ProxyFixture.run(Self.rules(server, more)) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let status = request.target.hasSuffix("403") ? 403 : 401
                    let challenge = #"Bearer realm="a, b", error="insufficient_scope""#
                    try connection.reply(
                        status,
                        #"WWW-Authenticate: Basic realm="x", \#(challenge)"#,
                        body: "more scope"
                    )
                }
            }
            for status in [401, 403] {
                let response = try proxy.client().get(origin.url("/api/\(status)"))
                #expect(response.status == status)
                #expect(response.bodyText == "more scope")
            }
            #expect(server.count == 1)
            #expect(try proxy.record()["attempts.0.reason"] == "insufficient_scope")
        }
    }

    @Test func `a token server that is busy for a moment is asked again`() async throws {
        let clock = VirtualClock()
        let answer = #"{"access_token":"t1"}"#
        let server = FlakyOrigin([.status(503), .status(429), .status(200, body: answer)])
        let played = try ScriptedOrigin { server.serve($0) }
        defer { played.stop() }
        let rules = """
            tokens:
              me:
                oauth2: {grant: client_credentials, url: "\(played.url())", client: {id: cli}}
            rules: [{match: {path: /api/**}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let client = try proxy.client()
            try client.send("GET", origin.url("/api/a"))
            for count in 1...2 {
                try eventually("a request for a token") { server.asked == count }
                try proxy.settle()
                try clock.advance(by: .seconds(1))
            }
            #expect(try client.response().bodyText == "welcome")
            #expect(server.asked == 3)
        }
    }

    @Test func `a failure that passes is nobody's but those who waited for it`() async throws {
        let answer = #"{"access_token":"t1"}"#
        let failures = (0..<8).map { _ in FlakyOrigin.Deed.status(503) }
        let server = FlakyOrigin(failures + [.status(200, body: answer)])
        let played = try ScriptedOrigin { server.serve($0) }
        defer { played.stop() }
        try await ProxyFixture.run(Self.unrepeated(played.url()), clock: VirtualClock()) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let client = try proxy.client()
            // No time passes, and more fail than `refresh.max` allows.
            for count in 1...8 {
                #expect(try client.get(origin.url("/api/a")).status == 502)
                #expect(server.asked == count)
            }
            #expect(try client.get(origin.url("/api/a")).bodyText == "welcome")
            #expect(server.asked == 9)
        }
    }

    private static func unrepeated(_ url: String) -> String {
        """
        tokens:
          me:
            oauth2: {grant: client_credentials, url: "\(url)", client: {id: cli}, retry: 0}
        rules: [{match: {path: /api/**}, request: [{auth: me}]}]
        """
    }

    @Test func `all who waited get the same failure by one token request`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, gate: gate)
        defer { server.stop() }
        server.change { $0.refusal = (503, "") }
        try await ProxyFixture.run(Self.unrepeated(server.url)) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let clients = try (0..<10).map { _ in try proxy.client() }
            for client in clients { try client.send("GET", origin.url("/api/a")) }
            try eventually("a request for a token") { server.count == 1 }
            try proxy.settle()
            gate.ring()
            for client in clients { #expect(try client.response().status == 502) }
            #expect(server.count == 1)
        }
    }

    @Test func `a refusal that stays is not asked for again at once, and says so`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        server.change { $0.refusal = (400, #"{"error":"invalid_grant"}"#) }
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.unrepeated(server.url), clock: clock) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let client = try proxy.client()
            let first = try client.get(origin.url("/api/a")).bodyText
            #expect(first.contains("nothing for client_credentials") && !first.contains("refresh"))
            let second = try client.get(origin.url("/api/a")).bodyText
            #expect(second.contains("lupin asks for it again in 10 s"))
            #expect(server.count == 1)
            try clock.advance(by: .seconds(11))
            _ = try client.get(origin.url("/api/a"))
            #expect(server.count == 2)
        }
    }

    @Test(arguments: [("gzip", true), ("x-gzip", true), ("compress", false)])
    func `an answer that is compressed unasked is read, or refused in words`(
        coding: String,
        isKnown: Bool
    ) async throws {
        let body = try WholeBody.encoded(
            Array(#"{"access_token":"t1","token_type":"Bearer"}"#.utf8),
            with: ["gzip"]
        )
        let played = try ScriptedOrigin { connection in
            _ = try connection.request()
            try connection.send(
                head(
                    "HTTP/1.1 200 OK",
                    "Content-Encoding: \(coding)",
                    "Content-Length: \(body.count)"
                )
            )
            try connection.send(body)
        }
        defer { played.stop() }
        try await ProxyFixture.run(Self.unrepeated(played.url())) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            let response = try proxy.client().get(origin.url("/api/a"))
            let words =
                isKnown ? "welcome" : "its answer is coded with compress, which lupin can't undo"
            #expect(response.bodyText.contains(words))
        }
    }

    @Test(arguments: [#"{json: {/code: 10001}}"#, "{status: 200, header: {X-Token: dead}}"])
    func `a success may say that a token is dead`(condition: String) async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let more = option("refresh: {on: [401, \(condition)]}")
        try await ProxyFixture.run(Self.rules(server, more)) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isDead = request["authorization"] == "Bearer t1"
                    try connection.reply(
                        200,
                        "X-Token: \(isDead ? "dead" : "good")",
                        body: isDead ? #"{"code":10001}"# : #"{"code":0}"#
                    )
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/api/a")).bodyText == #"{"code":0}"#)
            #expect(try client.get(origin.url("/api/b")).bodyText == #"{"code":0}"#)
            #expect(server.count == 2)
            #expect(try proxy.records(2).map { $0.count("attempts") } == [2, 1])
        }
    }

    @Test func `without a token the request goes out if the rule says so`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        server.change { $0.refusal = (403, "") }
        let more = option("on_missing: send")
        try await ProxyFixture.run(Self.rules(server, more)) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                try connection.reply(body: request["authorization"] ?? "none")
            }
            #expect(try proxy.client().get(origin.url("/api/a")).bodyText == "none")
            #expect(try proxy.record().list("rules.steps") == [])
        }
    }

    @Test func `a refresh ahead of the end keeps nobody waiting`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 100)
        defer { server.stop() }
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(server), clock: clock) { proxy in
            let accepted = Accepted(["t1", "t2"])
            let origin = try proxy.guardedOrigin(accepted)
            let client = try proxy.client()
            #expect(try client.get(origin.url("/api/a")).status == 200)
            server.change { $0.gate = gate }
            #expect(server.asked.wait())
            try clock.advance(by: .seconds(92))
            // The token server is silent, and the request is answered all the same.
            let next = try proxy.client()
            #expect(try next.get(origin.url("/api/a")).status == 200)
            #expect(server.asked.wait())
            #expect(server.count == 2)
            gate.ring()
            accepted.set(["t2"])
            // Whoever is refused meanwhile waits for the same refresh.
            #expect(try next.get(origin.url("/api/a")).status == 200)
            #expect(server.count == 2)
        }
    }
}
