// What `${…}` becomes in steps, how it is encoded for its place, and what is never sent.
import LupinIO
import LupinTestKit
import Testing

struct InterpolationTests {
    private func run(
        _ steps: String,
        tokens: String = "",
        environment: [String: String] = [:],
        files: [String: String] = [:],
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) throws -> Void
    ) async throws {
        let rules = """
            \(tokens)
            rules:
              - {name: steps, match: {path: /**}, request: [\(steps)]}
            """
        try await ProxyFixture.run(
            rules,
            environment: environment,
            files: files.mapValues { Array($0.utf8) }
        ) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: "\(request.target) \(request["x-a"] ?? "none")")
                }
            }
            try body(proxy, origin)
        }
    }

    @Test func `secrets, files, headers and the id stand where steps name them`() async throws {
        let steps = """
            {set: {X-A: "${secret:S}/${file:DIR/f}/${env:E}/${env:M:-def}/${header:X-B}/$$/${id}"}}
            """
        try await run(steps, environment: ["S": "se", "E": "en"], files: ["f": "fi\n"]) {
            let response = try $0.client().get($1.url(), "X-B: b c")
            let id = try #require($0.record()["id"])
            #expect(response.bodyText == "/ se/fi/en/def/b c/$/\(id)")
        }
    }

    @Test func `a query encodes all that is not unreserved`() async throws {
        let steps = """
            {query: {set: {k: "${secret:S}", h: "${header:X-B}", "a b": "$${x}"}}}
            """
        try await run(steps, environment: ["S": "a&b=c#d%2F +/?é"]) {
            let response = try $0.client().get($1.url("/p?k=old&z=1"), "X-B: x&y=1")
            let secret = "a%26b%3Dc%23d%252F%20%2B%2F%3F%C3%A9"
            #expect(response.bodyText == "/p?k=\(secret)&z=1&h=x%26y%3D1&a%20b=%24%7Bx%7D none")
        }
    }

    @Test func `a path encodes what comes from outside and keeps what the file says`()
        async throws
    {
        let steps = #"{url: {path: "/v1/${header:X-B}/${secret:S}/x%2Fy z"}}"#
        try await run(steps, environment: ["S": "../e?#"]) {
            let response = try $0.client().get($1.url("/p?q=1"), "X-B: ../../etc")
            #expect(
                response.bodyText
                    == "/v1/..%2F..%2Fetc/..%2Fe%3F%23/x%2Fy%20z?q=1 none"
            )
        }
    }

    @Test func `a header cannot end the field or the line`() async throws {
        for text in ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\u{0}b"] {
            let files = ["f": text]
            for steps in [
                #"{set: {X-A: "${file:DIR/f}"}}"#, #"{query: {set: {k: "${file:DIR/f}"}}}"#,
                #"{url: {path: "/${file:DIR/f}"}}"#,
            ] {
                // What the file says is read at the start: there it is refused, or at run time.
                do {
                    try await run(steps, files: files) { proxy, origin in
                        let response = try proxy.client().get(origin.url())
                        #expect(response.status == 502)
                        #expect(!response.bodyText.contains("Evil"))
                        #expect(origin.connections.isEmpty)
                    }
                } catch {
                    #expect(!"\(error)".contains("Evil"))
                }
            }
        }
    }

    @Test func `a token stands in fields and queries, and is refreshed after a 401`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let tokens = """
            tokens:
              me:
                oauth2:
                  {grant: client_credentials, url: "\(server.url)", client: {id: a, secret: b}}
            """
        let rules = """
            \(tokens)
            rules:
              - name: api
                match: {path: /api/**}
                request: [{query: {set: {key: "${token:me}"}}}, {set: {X-A: "k ${token:me}"}}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isRight = request.target == "/api/a?key=t2" && request["x-a"] == "k t2"
                    try connection.reply(isRight ? 200 : 401, body: request.bodyText)
                }
            }
            let client = try proxy.client()
            try client.send("POST", origin.url("/api/a"), body: "ping")
            let response = try client.response(to: "POST")
            #expect(response.status == 200)
            #expect(response.bodyText == "ping")
            #expect(server.count == 2)
            _ = try proxy.record()
            #expect(!proxy.logText.contains("key=t2"))
        }
    }

    @Test func `a token in a field goes to its host only`() async throws {
        let other = try PlayedOrigin()
        let rules = """
            tokens: {me: {bearer: abc123, plain_http: true}}
            rules:
              - name: api
                match: {host: api.test}
                request:
                  - set: {X-A: "${token:me}"}
                  - url: {host: other.test, port: \(other.address.port)}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let response = try proxy.client().get("http://api.test/a")
            #expect(response.status == 502)
            #expect(!other.hasWaiting)
        }
    }
}
