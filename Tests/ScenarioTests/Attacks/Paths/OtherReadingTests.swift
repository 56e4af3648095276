// Paths that servers read as another folder than the rules judged.
import LupinCore
import LupinTestKit
import Testing

struct OtherReadingTests {
    private static let tokens = "tokens: {acme: {bearer: owner-token, plain_http: true}}\n"
    /// What is public may be asked for with the token, and nothing else may be asked for.
    private static let allowing = """
        rules:
          - name: public
            match: {host: a.test, path: /pub/**}
            request: [{auth: acme}]
            stop: true
          - {name: rest, match: {host: a.test}, respond: {status: 403}}
        """
    /// What is secret may not be asked for.
    private static let denying = """
        rules: [{name: secret, match: {host: a.test, path: /secret/**}, respond: {status: 403}}]
        """

    private static func status(
        of path: String,
        _ rules: String,
        _ check: @Sendable @escaping (ScriptedMessage, ScriptedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(tokens + rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "") }
            }
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))\(path)")
            try check(try client.response(), origin)
        }
    }

    @Test(arguments: [
        "/pub/..%2fsecret/x", "/pub/%2e%2e%2fsecret/x", "/pub/%2e%2e/%2e%2e%2fsecret/x",
        "/pub/..%5csecret/x", "/pub/..%5Csecret", "/pub/..;/secret/x", "/pub/..;a=b/secret",
        "/pub/.%2e;x/secret", "/pub/%252e%252e%252fsecret/x", "/pub/..%252fsecret",
        "/pub/%25252e%25252e%25252fsecret", "/pub/%c0%ae%c0%ae%c0%afsecret",
        "/pub/..%c0%afsecret/x", "/pub/..%e0%80%afsecret/x", "/pub/..%ef%bc%8fsecret/x",
        "/pub/%ef%bc%8e%ef%bc%8e%ef%bc%8fsecret", "/pub/..%e2%88%95secret", "/pub/..%20/secret",
        "/pub/..%5c..%5csecret", "/pub/...%2f..%2f..%2fsecret", "/pub/x/..%2f..%2fsecret",
        "/pub/..%3b/secret", "/pub/..%2f%2e%2e%2fsecret?a=/pub/", "/pub/..%u2215secret",
        "/pub/%u002e%u002e%u002fsecret", "/pub/..%u005csecret", "/pub/..%uff0fsecret",
        "/pub/..%09/secret", "/pub/..%00/secret", "/pub/.%00./secret", "/pub/..%c2%a0/secret",
        "/pub/..%f0%80%80%afsecret", "/pub/%e3%80%82%e3%80%82/secret", "/pub/..%2500/secret",
    ])
    func `a way out of the folder that the rule allows is 400`(path: String) async throws {
        try await Self.status(of: path, Self.allowing) { response, origin in
            #expect([400, 403].contains(response.status), "\(path)")
            #expect(origin.connections.isEmpty)
            #expect(response.bodyText.contains(response.status == 400 ? "access.paths" : "rest"))
        }
    }

    @Test(arguments: [
        "//secret/x", "/%2fsecret/x", "/%2Fsecret%2Fx", "/x/..%2fsecret/x", "/secret%2fx",
        "/;a/secret/x", "/secret;a/x", "/secret;/x", "/%5csecret/x", "/secret%5cx",
        "/%2573ecret/x", "/%c0%afsecret/x", "/%ef%bc%8fsecret/x", "/secret./x", "/secret%20/x",
        "/secret.%20./x", "/x/%2e%2e//secret%2fx", "/secret/%00", "/./%2e/secret%2fx",
        "/%ef%bd%93ecret/x", "/secret%2f%3fa", "/secret%09/x", "/secret%c2%a0/x", "/%09secret/x",
        "/%u0073ecret/x", "/secret%u2215x", "/secret%u002fx", "/%U0073ecret/x", "/secret%00/x",
        "/%00secret/x", "/sec%00ret/x", "/secret%00", "/secret./", "/secret%20/", "/secret%20.",
        "/secret.../x", "/secret%0a", "/sec%0d%0aret/x", "/secret%7f/x", "/%20secret/x",
        "/%2e%c0%af/secret%c0%afx", "/secret%c0%ae", "/%c1%b3ecret/x", "/%e0%81%b3ecret/x",
        "/secret%e2%80%8b/x", "/se%c2%adcret/x", "/%ef%bb%bfsecret/x", "/secret%e3%80%80/x",
        "/secret%2509/x", "/secret%2500.png", "/%25u0073ecret/x", "/secret%e2%81%84x",
    ])
    func `a way into the folder that the rule refuses is 400`(path: String) async throws {
        try await Self.status(of: path, Self.denying) { response, origin in
            #expect([400, 403].contains(response.status), "\(path)")
            #expect(origin.connections.isEmpty)
        }
    }

    @Test(arguments: [
        "/pub/@scope%2fname", "/pub/a;jsessionid=1", "/pub/a//b", "/pub/a%20b", "/pub/%252f",
        "/pub/v1.2./x", "/pub/a%5Cb", "/pub/x/..%2fy", "/pub/%e2%82%ac", "/pub/a%3Fb", "/pub/a.",
        "/pub/projects/group%2Fproject/x", "/pub/100%u", "/pub/voil%C3%A0/x", "/pub/a%09b",
        "/pub/%u20ac", "/pub/%E4%BD%A0%E5%A5%BD", "/pub/a%00", "/pub/caf%e9/x", "/pub/%f0%9f%90%ba",
        "/pub/a?u=../secret", "/pub/a?u=%2e%2e%2f%5c;",
    ])
    func `a path for which the same rules hold in every reading passes as it came`(
        path: String
    ) async throws {
        try await Self.status(of: path, Self.allowing) { response, origin in
            #expect(response.status == 200, "\(path)")
            #expect(origin.receivedText.hasPrefix("GET \(path) "))
            #expect(origin.receivedText.contains("owner-token"))
        }
    }

    @Test(arguments: [
        ("X-Original-URL: /secret", 400), ("X-Rewrite-URL: /secret", 400),
        ("X-Original-URL: /pub/a", 200), ("X-HTTP-Method-Override: DELETE", 200),
    ])
    func `a field by which a server reads another path is 400`(field: String, status: Int)
        async throws
    {
        try await ProxyFixture.run(
            Self.tokens + Self.allowing,
            resolve: ProxyFixture.here
        ) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 200 OK", "Content-Length: 0"))
            let url = "http://\(origin.authority("a.test"))/pub/a"
            let response = try proxy.client().get(url, field)
            #expect(response.status == status)
            #expect(origin.connections.isEmpty == (status == 400))
            #expect(response.bodyText.contains("access.paths") == (status == 400))
        }
    }

    @Test func `lenient lets it pass, and rules that decide nothing do, too`() async throws {
        let path = "/pub/..%2fsecret"
        let lenient = "access: {paths: lenient}\n" + Self.allowing
        try await Self.status(of: path, lenient) { response, _ in
            #expect(response.status == 200)
        }
        let idle = "rules: [{match: {host: a.test, path: /pub/**}, log: off}]"
        try await Self.status(of: path, idle) { response, _ in #expect(response.status == 200) }
    }

    @Test func `where a redirect is followed to, the path is judged as well`() async throws {
        let rules = """
            rules:
              - {match: {host: b.test}, redirect: {follow: true}}
              - {match: {host: a.test, path: /secret/**}, respond: {status: 403}}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("b.test"))/")
            let connection = try origin.accept()
            try connection.request()
            let location = "http://\(origin.authority("a.test"))/%2fsecret/x"
            try connection.reply(302, "Location: \(location)")
            #expect(try client.response().status == 400)
        }
    }

    @Test func `inside an interception the same holds`() async throws {
        let rules = """
            rules: [{match: {host: origin.test, path: /secret/**}, respond: {status: 403}}]
            """
        try await Inside.run(rules) { inside in
            try inside.send("GET", "/x/..%2fsecret/x")
            #expect(try inside.client.response().status == 400)
            try inside.send("GET", "/secret/x")
            #expect(try inside.client.response().status == 403)
        }
    }
}
