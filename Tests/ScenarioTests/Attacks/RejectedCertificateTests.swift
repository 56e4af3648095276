// A stranger who refuses lupin's certificate in the owner's name: whose rules does that switch off?
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct RejectedCertificateTests {
    /// Makes TLS inside a CONNECT and refuses what it is shown.
    private func refuse(_ client: ScriptedClient, _ authority: String) throws {
        #expect(try client.connect(authority).status == 200)
        var tls = SecureSocket.Client("origin.test")
        tls.maximum = .tls12
        tls.verdict = .refused(.unknownAuthority)
        #expect(throws: TLSFailure.self) { try client.secure(tls) }
    }

    private func run(
        _ rules: String,
        _ body: @Sendable @escaping (ProxyFixture, LocalUsers, PlayedOrigin) throws -> Void
    ) async throws {
        let users = LocalUsers()
        let files = try TestAuthority.identityFiles("client.test")
        try await ProxyFixture.run(
            rules,
            environment: ["SECRET": "hidden-value"],
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here,
            identify: users.identify
        ) { try body($0, users, try PlayedOrigin()) }
    }

    /// Whether a client of lupin's user is looked into.
    private func isIntercepted(_ client: ScriptedClient, _ authority: String) throws -> Bool {
        let inside = try client.connectSecurely(authority)
        let leaf = try #require(inside.security?.facts.certificates.first)
        return try Certificate.parse(der: leaf).issuerText.contains("lupin")
    }

    @Test func `a stranger's refusal leaves the owner's rules on`() async throws {
        try await run(Inside.rule) { proxy, users, origin in
            let authority = origin.authority("origin.test")
            try refuse(try users.stranger(proxy), authority)
            _ = try proxy.record()
            #expect(try isIntercepted(try proxy.client(), authority))
        }
    }

    @Test func `an unknown client's refusal leaves the owner's rules on`() async throws {
        try await run(Inside.rule) { proxy, users, origin in
            let authority = origin.authority("origin.test")
            try refuse(try users.client(proxy, of: nil), authority)
            _ = try proxy.record()
            #expect(try isIntercepted(try proxy.client(), authority))
        }
    }

    @Test func `a stranger's refusal locks the owner out of nothing`() async throws {
        let rules = """
            rules: [{match: {host: origin.test}, client_cert: {cert: DIR/my.pem, key: DIR/my.key}}]
            """
        try await run(rules) { proxy, users, origin in
            let authority = origin.authority("origin.test")
            try refuse(try users.stranger(proxy), authority)
            _ = try proxy.record()
            #expect(try users.stranger(proxy).connect(authority).status == 403)
            #expect(try isIntercepted(try proxy.client(), authority))
        }
    }

    /// What a rule attaches, removes or demands, so that no client may go without.
    static let demands = [
        "request: [{remove: [Cookie]}]",
        "request: [{auth: mine}]",
        "request: [{set: {X-Key: \"${secret:SECRET}\"}}]",
        "request: [{set: {X-Key: \"${token:mine}\"}}]",
        "request: [{query: {remove: [debug]}}]",
        "request: [{rewrite: {header: User-Agent, from: /x/, to: y}}]",
        "request: [{url: {host: other.test}}]",
        "response: [{remove: [Server]}]",
        "cookies: {jar: DIR/jar.txt}",
        "client_cert: {cert: DIR/my.pem, key: DIR/my.key}",
        "trust: {any: [system]}",
        "tls: {min: \"1.2\"}",
        "validate: {status: 200-399}",
        "validate: {status: 200-399, then: retry}",
        "intercept: true",
    ]

    @Test(arguments: demands)
    func `a rule that attaches, removes or demands something yields to nobody`(
        keys: String
    ) async throws {
        let rules = """
            tokens: {mine: {bearer: owner-token}}
            rules: [{match: {host: origin.test}, \(keys)}]
            """
        try await run(rules) { proxy, _, origin in
            let authority = origin.authority("origin.test")
            try refuse(try proxy.client(), authority)
            _ = try proxy.record()
            #expect(try proxy.client().connect(authority).status == 403)
            #expect(!origin.hasWaiting)
        }
    }

    /// What a client can go without that refuses the certificate.
    static let conveniences = [
        "request: [{set: {X-A: b}}]", "request: [{add: {X-A: \"${header:X-B}\"}}]",
        "request: [{default: {X-A: b}}]", "request: [{query: {set: {a: b}}}]",
        "request: [{delay: 1ms}]", "request: [{compress: {with: gzip}}]",
        "response: [{set: {X-A: b}}]", "retry: standard", "cache: standard", "resume: true",
        "redirect: {follow: true}", "validate: {status: 200-399, then: log}",
    ]

    @Test(arguments: conveniences)
    func `a rule that is a convenience yields to who refuses the certificate`(
        keys: String
    ) async throws {
        try await run("rules: [{match: {host: origin.test}, \(keys)}]") { proxy, _, origin in
            let authority = origin.authority("origin.test")
            try refuse(try proxy.client(), authority)
            _ = try proxy.record()
            #expect(try proxy.client().connect(authority).status == 200)
            _ = try origin.accept()
        }
    }
}
