// Redirects that lupin follows, until one is delivered: what it must be, and where it leads.
import LupinTestKit
import Testing

struct DeliveredRedirectTests {
    private static func rules(_ keys: String, _ redirect: String = "max: 1") -> String {
        """
        rules:
          - {name: all, match: {host: "*.test"}, redirect: {follow: true, \(redirect)}\(keys)}
        """
    }

    /// A client whose request was answered with a redirect to another origin, which answers with
    /// `reply`.
    private func run(
        _ rules: String,
        _ reply: @Sendable @escaping (OriginConnection) throws -> Void,
        _ check: @Sendable @escaping (ScriptedMessage, ProxyFixture, PlayedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let (old, new) = (try PlayedOrigin(), try PlayedOrigin())
            let client = try proxy.client()
            try client.send("GET", "http://\(old.authority("a.test"))/a/b?c")
            let first = try old.accept()
            try first.request()
            try first.reply(302, "Location: http://\(new.authority("b.test"))/d/e")
            let second = try new.accept()
            try second.request()
            try reply(second)
            try check(try client.response(), proxy, new)
        }
    }

    private static let locations = [
        ("/x", "/x"), ("y?z", "/d/y?z"), ("../up", "/up"), ("?q", "/d/e?q"), ("#f", "/d/e#f"),
    ]

    @Test(arguments: locations)
    func `behind another origin a relative Location is made absolute`(
        location: String,
        path: String
    ) async throws {
        try await run(Self.rules("")) {
            try $0.reply(302, "Location: \(location)")
        } _: { response, _, new in
            #expect(response.status == 302)
            #expect(response["Location"] == "http://\(new.authority("b.test"))\(path)")
        }
    }

    @Test func `what a rule made of the URL asked last stays lupin's`() async throws {
        let rules =
            Self.rules("")
            + "\n  - {name: inner, match: {host: b.test}, request: [{url: {path: /inner/z}}]}"
        try await run(rules) {
            try $0.reply(302, "Location: y")
        } _: { response, _, new in
            #expect(response["Location"] == "http://\(new.authority("b.test"))/d/y")
        }
    }

    @Test func `so is that of a response that is no redirect`() async throws {
        try await run(Self.rules("")) {
            try $0.reply(201, "Location: /made")
        } _: { response, _, new in
            #expect(response["Location"] == "http://\(new.authority("b.test"))/made")
        }
    }

    @Test(arguments: ["https://c.test/x", "HTTP://C.test/%7e", "mailto:x"])
    func `an absolute Location stays as it is`(location: String) async throws {
        try await run(Self.rules("")) {
            try $0.reply(302, "Location: \(location)")
        } _: { response, _, _ in
            #expect(response["Location"] == location)
        }
    }

    @Test func `without a followed redirect nothing is changed`() async throws {
        let rules = Self.rules("", "deny: [\"*.test\"]")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))/")
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(302, "Location: /x")
            #expect(try client.response()["Location"] == "/x")
        }
    }

    @Test func `a redirect that is not followed is judged by validate`() async throws {
        let rules = Self.rules(", validate: {status: 200-299}", "deny: [\"*.test\"]")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))/")
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(302, "Location: /x")
            #expect(try client.response().status == 502)
            let record = try proxy.record()
            #expect(record["error.type"] == "http_response_status" || record["outcome"] == "error")
            #expect(record["error.detail"]?.contains("validate") == true)
        }
    }

    @Test func `so is the last one where the maximum is reached`() async throws {
        try await run(Self.rules(", validate: {status: 200-299}")) {
            try $0.reply(302, "Location: /x")
        } _: { response, _, _ in
            #expect(response.status == 502)
        }
    }

    @Test func `a redirect that validate allows is delivered`() async throws {
        try await run(Self.rules(", validate: {status: 200-399}")) {
            try $0.reply(302, "Location: /x")
        } _: { response, proxy, _ in
            #expect(response.status == 302)
            let reason = try proxy.record()["attempts.1.reason"]
            #expect(reason?.contains("the maximum of 1 is reached") == true)
        }
    }

    @Test func `a refusal of credentials that is delivered is judged by validate`() async throws {
        let rules = """
            tokens: {one: {bearer: aaa111, plain_http: true}}
            rules:
              - match: {path: /**}
                request: [{auth: one}]
                validate: {status: 200-299}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(
                answering:
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(try proxy.client().get(origin.url()).status == 502)
        }
    }
}
