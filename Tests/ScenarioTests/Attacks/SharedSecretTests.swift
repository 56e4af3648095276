// What lupin attached for its owner: who gets a response that was fetched with it.
import LupinTLS
import LupinTestKit
import Testing

struct SharedSecretTests {
    private static let files = "client_cert: {cert: DIR/my.pem, key: DIR/my.key}"

    /// Runs a story with a certificate to show and two users.
    private func run(
        _ rules: String,
        _ body: @Sendable @escaping (ProxyFixture, LocalUsers) throws -> Void
    ) async throws {
        let files = try TestAuthority.identityFiles("client.test")
        let users = LocalUsers()
        try await ProxyFixture.run(
            rules,
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here,
            identify: users.identify
        ) { try body($0, users) }
    }

    /// An origin under TLS that says in its body whether it was shown a certificate, and that its
    /// response is for everybody.
    private static func origin(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        var server = try proxy.authority.server("origin.test")
        server.asksForCertificate = true
        return try proxy.origin(security: server) { connection in
            while try connection.nextRequest() != nil {
                let isShown = connection.security?.facts.certificates.isEmpty == false
                try connection.reply(
                    200,
                    "Cache-Control: public, max-age=600",
                    body: isShown ? "secret" : "open"
                )
            }
        }
    }

    /// Rules that differ by a field: the owner's shows the certificate.
    private static let byField = """
        rules:
          - {name: all, match: {host: origin.test}, cache: standard}
          - {name: mine, match: {host: origin.test, header: {X-Who: me}}, \(files)}
        """

    @Test func `what a certificate brought is not served to who shows none`() async throws {
        try await run(Self.byField) { proxy, users in
            let origin = try Self.origin(proxy)
            let url = "https://\(origin.authority("origin.test"))/"
            let owner = try proxy.client()
            for _ in 0..<3 {
                #expect(try owner.get(url, "X-Who: me").bodyText == "secret")
            }
            let stranger = try users.stranger(proxy)
            for _ in 0..<3 {
                #expect(try stranger.get(url).bodyText == "open")
                #expect(try stranger.get(url, "X-Who: me").status == 403)
            }
            #expect(try owner.get(url, "X-Who: me").isHit)
        }
    }

    @Test func `a stranger's equal request is refused although the answer is in memory`()
        async throws
    {
        let rules = """
            upstream: {tls: {\(Self.files)}}
            rules: [{name: all, match: {host: origin.test}, cache: standard}]
            """
        try await run(rules) { proxy, users in
            let origin = try Self.origin(proxy)
            let url = "https://\(origin.authority("origin.test"))/"
            let owner = try proxy.client()
            for _ in 0..<4 { #expect(try owner.get(url).bodyText == "secret") }
            let stranger = try users.stranger(proxy)
            for _ in 0..<3 { #expect(try stranger.get(url).status == 403) }
            let unknown = try users.client(proxy, of: nil)
            #expect(try unknown.get(url).status == 403)
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `a stranger's equal request gets an answer of its own past a private cache`()
        async throws
    {
        let users = LocalUsers()
        try await ProxyFixture.run(
            everywhere("cache: {mode: private}"),
            identify: users.identify
        ) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .answer(200, ["Cache-Control: no-store"], "any")
            )
            let owner = try proxy.client()
            for _ in 0..<6 { #expect(try owner.get(origin.url()).bodyText == "any") }
            let stranger = try users.stranger(proxy)
            for _ in 0..<3 { #expect(try stranger.get(origin.url()).bodyText == "any") }
            #expect(flaky.asked == 9)
        }
    }

    @Test func `in a private cache a Cookie parts nothing unless Vary names it`() async throws {
        try await ProxyFixture.run(everywhere("cache: {mode: private}")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("one"),
                .fresh("two", ["Vary: Cookie"]),
                .fresh("three", ["Vary: Cookie"])
            )
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a"), "Cookie: a=1").bodyText == "one")
            #expect(try client.get(origin.url("/a"), "Cookie: a=2").isHit)
            #expect(try client.get(origin.url("/b"), "Cookie: a=1").bodyText == "two")
            #expect(try client.get(origin.url("/b"), "Cookie: a=2").bodyText == "three")
            #expect(try client.get(origin.url("/b"), "Cookie: a=1").bodyText == "two")
            #expect(flaky.asked == 3)
        }
    }

    /// Many users may come from one address: behind a bridge of containers all do.
    @Test func `clients that nobody knows don't share what came for another one's Cookie`()
        async throws
    {
        let users = LocalUsers()
        let rules = everywhere("cache: {mode: private}")
        try await ProxyFixture.run(rules, identify: users.identify) { proxy in
            let lifetime = "Cache-Control: private, max-age=600"
            let (flaky, origin) = try proxy.flaky(
                .answer(200, [lifetime], "one"),
                .answer(200, [lifetime], "two")
            )
            for (cookie, body) in [("a", "one"), ("b", "two"), ("a", "one"), ("b", "two")] {
                let client = try users.client(proxy, of: nil)
                #expect(try client.get(origin.url(), "Cookie: id=\(cookie)").bodyText == body)
            }
            #expect(flaky.asked == 2)
        }
    }

    @Test func `what two identities at a parent proxy brought is kept apart`() async throws {
        let parent = try PlayedOrigin()
        let (one, two) = ("one:first1@\(parent.authority)", "two:second2@\(parent.authority)")
        let rules = """
            upstream: {proxy: "http://\(one)", no_proxy: []}
            rules:
              - {name: all, match: {host: origin.test}, cache: standard}
              - {name: other, match: {header: {X-Who: two}}, proxy: "http://\(two)"}
            """
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            for (fields, body) in [([], "for one"), (["X-Who: two"], "for two")] {
                try client.send("GET", "http://origin.test/", fields)
                let connection = try parent.accept()
                try connection.request()
                try connection.reply(200, "Cache-Control: max-age=600", body: body)
                #expect(try client.response().bodyText == body)
                #expect(try client.get("http://origin.test/", fields.first ?? "X-A: b").isHit)
            }
        }
    }

    @Test func `a stranger never waits for what is fetched with the owner's credentials`()
        async throws
    {
        let rules = """
            tokens: {mine: {bearer: owner-token, plain_http: true}}
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: mine, match: {header: {X-Who: me}}, request: [{auth: mine}]}
            """
        let users = LocalUsers()
        try await ProxyFixture.run(rules, identify: users.identify) { proxy in
            let origin = try PlayedOrigin()
            let owner = try proxy.client()
            try owner.send("GET", origin.url(), ["X-Who: me"])
            let first = try origin.accept()
            #expect(try first.request()["Authorization"] == "Bearer owner-token")
            let stranger = try users.stranger(proxy)
            try stranger.send("GET", origin.url())
            // Not collapsed with the owner's: it goes its own way while that is under way.
            let second = try origin.accept()
            #expect(try second.request()["Authorization"] == nil)
            let fields = "Cache-Control: public, max-age=60"
            try first.reply(200, fields, body: "secret")
            try second.reply(200, fields, body: "open")
            #expect(try owner.response().bodyText == "secret")
            #expect(try stranger.response().bodyText == "open")
            #expect(try stranger.get(origin.url()).bodyText == "open")
        }
    }

    @Test func `what a followed redirect brought with a token lies under no URL`() async throws {
        let users = LocalUsers()
        let old = try PlayedOrigin()
        let new = try PlayedOrigin()
        let rules = """
            tokens: {mine: {bearer: owner-token, plain_http: true}}
            rules:
              - {name: all, match: {host: "*.test"}, cache: standard, redirect: {follow: true}}
              - {name: b, match: {host: b.test}, request: [{auth: mine}]}
            """
        try await ProxyFixture.run(
            rules,
            resolve: ProxyFixture.here,
            identify: users.identify
        ) { proxy in
            let url = "http://\(old.authority("a.test"))/"
            let owner = try proxy.client()
            try owner.send("GET", url)
            let first = try old.accept()
            try first.request()
            try first.reply(302, "Location: http://\(new.authority("b.test"))/b")
            let second = try new.accept()
            #expect(try second.request()["Authorization"] == "Bearer owner-token")
            try second.reply(200, "Cache-Control: public, max-age=600", body: "secret")
            #expect(try owner.response().bodyText == "secret")
            let stranger = try users.stranger(proxy)
            try stranger.send("GET", url)
            try first.request()
            try first.reply(302, "Location: http://\(new.authority("b.test"))/b")
            #expect(try stranger.response().status == 403)
        }
    }
}
