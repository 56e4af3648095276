// What `validate` makes of responses by a parent proxy: its 407 is a question to the client, and
// any other response may be the origin's.
import LupinTestKit
import Testing

struct CheckedChallengeTests {
    /// A parent that knows a user by `Basic dTpw`, and answers it with `status`.
    private static func run(
        _ keys: String,
        answering status: Int = 200,
        userinfo: String = "",
        _ body: @Sendable @escaping (ProxyFixture, _ parent: String) throws -> Void
    ) async throws {
        let parent = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                if request["proxy-authorization"] == "Basic dTpw" {
                    try connection.reply(status, "Content-Type: application/json", body: "{}")
                } else {
                    try connection.reply(407, "Proxy-Authenticate: \(challenge)", body: "who?")
                }
            }
        }
        defer { parent.stop() }
        let proxy = "http://\(userinfo)\(parent.authority)"
        let settings = "upstream: {proxy: \"\(proxy)\", no_proxy: []}\n"
        try await ProxyFixture.run(settings + everywhere(keys)) { try body($0, parent.authority) }
    }

    private static let challenge = "Basic realm=\"corp\", Digest realm=\"corp\", nonce=\"1\""
    private static let url = "http://origin.test/"
    private static let password = "Proxy-Authorization: Basic dTpw"

    @Test(
        arguments: [
            "validate: standard", "validate: {status: [200]}", "validate: {json: {/ok: true}}",
            "validate: {status: 200-299, then: retry}",
            "validate: {status: [200, 404], then: fail}",
            "validate: standard, retry: {use: standard, hold: 64KiB}",
            "validate: standard, retry: {use: standard, status: [407]}",
        ]
    )
    func `a parent's challenge passes, and the client logs in`(keys: String) async throws {
        try await Self.run(keys) { proxy, _ in
            let client = try proxy.client()
            let response = try client.get(Self.url)
            #expect(response.status == 407)
            #expect(response["Proxy-Authenticate"] == Self.challenge)
            #expect(response.bodyText == "who?")
            let answer = try client.get(Self.url, Self.password)
            // What the origin gives is checked as ever.
            #expect(answer.status == (keys.contains("json") ? 502 : 200))
            let record = try proxy.records(2)[0]
            #expect(record["outcome"] == "error")
            #expect(record["error.parent_status"] == "407")
        }
    }

    @Test func `where lupin's own password is wrong the client can't log in`() async throws {
        try await Self.run("validate: standard", userinfo: "corp:wrong@") { proxy, parent in
            let response = try proxy.client().get(Self.url)
            #expect(response.status == 502)
            #expect(response["Proxy-Authenticate"] == nil)
            #expect(response.bodyText.contains("\(parent) did not accept the user and password"))
            #expect(try proxy.record()["error.parent_status"] == "407")
        }
    }

    @Test(arguments: [404, 500, 503])
    func `an origin's response is not blamed on the parent`(status: Int) async throws {
        let keys = "validate: standard, retry: none"
        try await Self.run(keys, answering: status) { proxy, parent in
            let response = try proxy.client().get(Self.url, Self.password)
            #expect(response.status == 502)
            let text = "The response of origin.test (by the parent proxy \(parent)) is not"
            #expect(response.bodyText.contains(text))
            #expect(response["Proxy-Status"]?.contains("next-hop=\"\(parent)\"") == true)
            let record = try proxy.record()
            #expect(record["error.parent"] == nil)
            #expect(record["attempts.0.via"] == parent)
        }
    }
}
