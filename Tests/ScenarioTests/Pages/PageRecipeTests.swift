// That the recipes of the README and of the manual do what they say, as they stand there.
import LupinIO
import LupinTestKit
import Testing

struct PageRecipeTests {
    /// A recipe as `ProxyFixture` takes rules, which writes `lupin: 1` itself.
    private static func recipe(_ heading: String, of page: String = "README") throws -> String {
        let block = try #require(ManualPage.block("yaml", under: heading, of: page))
        return block.text.replacing("lupin: 1\n", with: "", maxReplacements: 1)
    }

    @Test(arguments: [
        ("README", "Inject a token, and renew it"), ("recipes", "Give tools a token, and renew it"),
    ])
    func `a token is fetched once, attached, and renewed after a 401`(
        recipe: (page: String, heading: String)
    ) async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        let rules = try Self.recipe(recipe.heading, of: recipe.page)
            .replacing("https://id.acme.example/token", with: server.url)
        let environment = ["ACME_SECRET": "quite-secret"]
        try await ProxyFixture.run(
            rules,
            environment: environment,
            resolve: ProxyFixture.here
        ) { proxy in
            let accepted = Accepted(["t1"])
            let origin = try proxy.secureOrigin(name: "api.acme.example") { connection in
                while let request = try connection.nextRequest() {
                    let isGood = accepted.admits(request)
                    try connection.reply(isGood ? 200 : 401, body: isGood ? "welcome" : "who?")
                }
            }
            let authority = "api.acme.example:\(origin.address.port)"
            let client = try proxy.client().connectSecurely(authority)
            #expect(try client.get("https://\(authority)/v1/users").bodyText == "welcome")
            accepted.set(["t2"])
            #expect(try client.get("https://\(authority)/v1/users").bodyText == "welcome")
            #expect(server.count == 2)
            #expect(accepted.asked == 3)
        }
    }

    @Test func `a failure is retried, and the response is served from the cache`() async throws {
        let rules = try Self.recipe("Retry and cache")
            .replacing("disk: 10GiB", with: "disk: 10GiB, path: DIR/cache")
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .fresh("one"))
            let url = "http://files.packages.example:\(origin.address.port)/a"
            let client = try proxy.client()
            try client.send("GET", url)
            try proxy.advance(by: .milliseconds(100), until: "the retry") { flaky.asked == 2 }
            #expect(try client.response().bodyText == "one")
            let hit = try client.get(url)
            #expect(hit.bodyText == "one")
            #expect(hit.isHit)
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a host leads to localhost, and one path of it to a mock`() async throws {
        let recipe = try Self.recipe("Send a host to localhost, or answer with a mock")
        let origin = try PlayedOrigin()
        let rules = recipe.replacing("3000", with: "\(origin.address.port)")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            let mock = try client.get("http://api.acme.example/flags")
            #expect(mock.bodyText == #"{"beta": true}"#)
            #expect(mock["content-type"] == "application/json")
            try client.send("GET", "http://api.acme.example/users?page=2")
            let connection = try origin.accept()
            let request = try connection.request()
            #expect(request.startLine == "GET /users?page=2 HTTP/1.1")
            #expect(request["host"] == "localhost:\(origin.address.port)")
            try connection.reply(body: "mine")
            #expect(try client.response().bodyText == "mine")
        }
    }

    @Test func `a part of a host leads to the own machine, under another name`() async throws {
        let origin = try PlayedOrigin()
        let rules = try Self.recipe("Send a host to your own machine", of: "recipes")
            .replacing("3000", with: "\(origin.address.port)")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://api.acme.example/users/1")
            let connection = try origin.accept()
            #expect(try connection.request()["x-forwarded-host"] == "api.acme.example")
            try connection.reply(body: "mine")
            #expect(try client.response().bodyText == "mine")
        }
    }

    @Test func `a mock answers and a block list refuses`() async throws {
        let mock = try Self.recipe("Answer by a mock", of: "recipes")
        try await ProxyFixture.run(mock) { proxy in
            let response = try proxy.client().get("http://api.acme.example/users")
            #expect(response.bodyText == #"[{"id": 1, "name": "Ada"}]"#)
        }
        let list = try Self.recipe("Block hosts", of: "recipes")
            .replacing("blocked.txt", with: "DIR/blocked.txt")
        let files = ["blocked.txt": Array("# a comment\n0.0.0.0 ads.example\n".utf8)]
        try await ProxyFixture.run(list, files: files) { proxy in
            let plain = try proxy.client().get("http://ads.example/")
            let tunnel = try proxy.client().connect("ads.example:443")
            #expect([plain.status, tunnel.status] == [403, 403])
        }
    }

    @Test func `only good answers pass a strict rule`() async throws {
        let rules = try Self.recipe("Test against a slow or strict API", of: "recipes")
            .replacing("200ms", with: "1ms")
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let (_, origin) = try proxy.flaky(.status(404, body: "no"))
            let url = "http://api.acme.example:\(origin.address.port)/"
            let response = try proxy.client().get(url)
            #expect(response.status == 502)
        }
    }
}
