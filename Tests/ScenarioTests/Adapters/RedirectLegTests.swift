// What holds on the new leg of a followed redirect: access, deny list and rules, all asked anew.
import LupinTestKit
import Testing

struct RedirectLegTests {
    /// A story in which `a.test` redirects to what `location` says.
    private func run(
        _ rules: String,
        to location: @Sendable @escaping (PlayedOrigin) -> String,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedClient, PlayedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let (old, new) = (try PlayedOrigin(), try PlayedOrigin())
            let client = try proxy.client()
            try client.send("GET", "http://\(old.authority("a.test"))/a")
            let connection = try old.accept()
            try connection.request()
            try connection.reply(302, "Location: \(location(new))")
            try body(proxy, client, new)
        }
    }

    private let follow = "- {name: follow, match: {host: a.test}, redirect: {follow: true}}"

    @Test func `the token of the new host's rule is attached, the old one's is not`()
        async throws
    {
        let rules = """
            tokens:
              one: {bearer: first-token, plain_http: true}
              two: {bearer: second-token, plain_http: true}
            rules:
              - name: a
                match: {host: a.test}
                request: [{auth: one}, {set: {X-A: a}}]
                redirect: {follow: true}
              - {name: b, match: {host: b.test}, request: [{auth: two}]}
            """
        try await run(rules, to: { "http://\($0.authority("b.test"))/b" }) { proxy, client, new in
            let connection = try new.accept()
            let request = try connection.request()
            #expect(request["authorization"] == "Bearer second-token")
            #expect(request["x-a"] == nil)
            try connection.reply(body: "b")
            #expect(try client.response().bodyText == "b")
            let record = try proxy.record()
            #expect(record.list("rules.matched") == ["a", "b"])
            #expect(record.list("rules.steps") == ["auth two"])
            #expect(record["url.domain"] == "a.test")
        }
    }

    @Test func `where no rule matches the new host, nothing of the old one holds`() async throws {
        let rules = """
            tokens: {one: {bearer: first-token, plain_http: true}}
            rules:
              - {match: {host: a.test}, request: [{auth: one}], redirect: {follow: true}}
            """
        try await run(rules, to: { "http://\($0.authority("b.test"))/b" }) { _, client, new in
            let connection = try new.accept()
            #expect(try connection.request()["authorization"] == nil)
            // No rule follows this one.
            try connection.reply(302, "Location: /c")
            let response = try client.response()
            #expect(response.status == 302)
            #expect(response["location"] == "http://\(new.authority("b.test"))/c")
        }
    }

    @Test func `the deny list is asked about the new host`() async throws {
        let rules = "access: {deny_targets: [b.test]}\nrules:\n  \(follow)"
        try await run(rules, to: { "http://\($0.authority("b.test"))/b" }) { proxy, client, new in
            let response = try client.response()
            #expect(response.status == 403)
            #expect(!new.hasWaiting)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `the deny list is asked about the new address`() async throws {
        let rules = "access: {deny_targets: [link-local]}\nrules:\n  \(follow)"
        try await run(rules, to: { _ in "http://169.254.169.254/latest" }) { proxy, client, _ in
            #expect(try client.response().status == 502)
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "destination_ip_prohibited")
        }
    }

    @Test func `a rule that answers does so on the new leg too`() async throws {
        let rules = """
            rules:
              \(follow)
              - {name: canned, match: {host: b.test}, respond: {status: 418, body: teapot}}
            """
        try await run(rules, to: { "http://\($0.authority("b.test"))/b" }) { proxy, client, new in
            let response = try client.response()
            #expect(response.status == 418)
            #expect(response.bodyText == "teapot")
            #expect(!new.hasWaiting)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok" || record["outcome"] == "denied")
            #expect(record.list("rules.matched") == ["follow", "canned"])
        }
    }

    @Test func `strangers do not get at credentials by way of a redirect`() async throws {
        let rules = """
            access: {credentials: [nobody]}
            tokens: {two: {bearer: second-token, plain_http: true}}
            rules:
              \(follow)
              - {name: b, match: {host: b.test}, request: [{auth: two}]}
            """
        try await run(rules, to: { "http://\($0.authority("b.test"))/b" }) { _, client, new in
            let response = try client.response()
            #expect(response.status == 403)
            #expect(!new.hasWaiting)
        }
    }

    @Test func `strangers do not show the client certificate by way of a redirect`()
        async throws
    {
        let files = try TestAuthority.identityFiles("client.test")
        let rules = """
            access: {credentials: [nobody]}
            upstream: {tls: {client_cert: {cert: DIR/my.pem, key: DIR/my.key}}}
            rules:
              \(follow)
            """
        try await ProxyFixture.run(
            rules,
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            let (old, new) = (try PlayedOrigin(), try PlayedOrigin())
            let client = try proxy.client()
            try client.send("GET", "http://\(old.authority("a.test"))/a")
            let connection = try old.accept()
            try connection.request()
            try connection.reply(302, "Location: https://\(new.authority("b.test"))/b")
            #expect(try client.response().status == 403)
            #expect(!new.hasWaiting)
        }
    }
}
