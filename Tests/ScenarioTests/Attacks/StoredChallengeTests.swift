// A parent proxy's 407 is for the client that it asks: it is no response of the origin to store.
import LupinTestKit
import Synchronization
import Testing

struct StoredChallengeTests {
    /// A parent that wants `Basic dTpw`, and lets its 407 be stored by whoever likes.
    private static func parent(_ control: String) throws -> ScriptedOrigin {
        try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                if request["proxy-authorization"] == "Basic dTpw" {
                    try connection.reply(200, "Cache-Control: max-age=0", "ETag: \"1\"", body: "in")
                } else {
                    let field = "Proxy-Authenticate: \(challenge)"
                    try connection.reply(407, field, control, "ETag: \"1\"", body: "who?")
                }
            }
        }
    }

    private static func settings(_ parent: ScriptedOrigin, _ store: String = "") -> String {
        "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}\n\(store)"
    }

    private static let challenge = "Basic realm=\"corp\""
    private static let url = "http://origin.test/page"
    private static let password = "Proxy-Authorization: Basic dTpw"

    /// Who asks gets the challenge each time, and with the password the page.
    private static func logIn(_ proxy: ProxyFixture) throws {
        for _ in 0..<2 {
            let client = try proxy.client()
            let response = try client.get(url)
            #expect(response.status == 407)
            #expect(response["Proxy-Authenticate"] == challenge)
            #expect(response.caching.hasSuffix("detail=proxy-challenge"))
            #expect(response.bodyText == "who?")
            #expect(try client.get(url, password).bodyText == "in")
        }
    }

    @Test(
        arguments: [
            "standard", "{use: standard, mode: private}", "{ttl: 10m}",
            "{ttl: 10m, ignore: [no-store, private, cookies, vary]}", "{stale_if_error: 1h}",
        ],
        [
            "Cache-Control: max-age=60", "Cache-Control: public, s-maxage=60",
            "Expires: Thu, 01 Jan 2037 00:00:00 GMT", "Cache-Control: stale-if-error=600",
        ]
    )
    func `a challenge is given to everybody who is asked`(cache: String, control: String)
        async throws
    {
        let parent = try Self.parent(control)
        defer { parent.stop() }
        let rules = Self.settings(parent) + everywhere("cache: \(cache)")
        try await ProxyFixture.run(rules) { try Self.logIn($0) }
    }

    @Test func `nor is it on disk, for the next start`() async throws {
        let parent = try Self.parent("Cache-Control: max-age=60")
        defer { parent.stop() }
        let folder = try Folder()
        let store = "cache: {store: {memory: 1MiB, disk: 64MiB, path: \(folder.path)/store}}\n"
        let rules = Self.settings(parent, store) + everywhere("cache: standard")
        for _ in 0..<2 {
            try await DiskStory.live(under: rules) { try Self.logIn($0) }
        }
    }

    /// Asked about what is stored, before a client gets it or behind its back.
    @Test(arguments: ["Cache-Control: no-cache", "Cache-Control: max-age=600\r\nAge: 1000"])
    func `a challenge takes nothing out of the store`(control: String) async throws {
        let asked = Atomic(0)
        let parent = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                let isValidation = request["if-none-match"] == "\"1\""
                switch asked.add(1, ordering: .relaxed).oldValue {
                case 0: try connection.reply(200, control, "ETag: \"1\"", body: "in")
                case 1: try connection.reply(407, "Proxy-Authenticate: \(Self.challenge)")
                default: try connection.reply(isValidation ? 304 : 200, "ETag: \"1\"")
                }
            }
        }
        defer { parent.stop() }
        let cache = everywhere("cache: {mode: private, stale_while_revalidate: 1h}")
        try await ProxyFixture.run(Self.settings(parent) + cache) { proxy in
            let client = try proxy.client()
            #expect(try client.get(Self.url).bodyText == "in")
            // In the background nobody gets the challenge.
            let second = try client.get(Self.url)
            #expect(second["Proxy-Authenticate"] == (second.status == 407 ? Self.challenge : nil))
            try eventually("the parent is asked twice") { asked.load(ordering: .relaxed) >= 2 }
            try proxy.settleWell()
            #expect(try client.get(Self.url).bodyText == "in")
        }
    }

    @Test func `who waits for a fetch that is challenged is asked, too`() async throws {
        let gate = Bell()
        let parent = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                _ = gate.wait()
                let fields = ["Proxy-Authenticate: \(Self.challenge)", "Cache-Control: max-age=60"]
                try connection.reply(407, fields[0], fields[1], body: "who?")
            }
        }
        defer { parent.stop() }
        let rules = Self.settings(parent) + everywhere("cache: standard")
        try await ProxyFixture.run(rules) { proxy in
            let clients = [try proxy.client(), try proxy.client()]
            for client in clients {
                try client.send("GET", Self.url)
                try proxy.settleWell()
            }
            for _ in clients { gate.ring() }
            for client in clients {
                let response = try client.response()
                #expect(response.status == 407)
                #expect(response["Proxy-Authenticate"] == Self.challenge)
            }
        }
    }
}
