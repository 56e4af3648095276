// What a lupin tells of its environment: whose proxies hold, and no secret.
import LupinCore
import LupinPolicy
import LupinProxy
import Testing

struct ToldVariablesTests {
    private static let environment = [
        "http_proxy": "http://ann:hush@proxy.corp:3128", "HTTPS_PROXY": "ann:hu@sh@other.corp:80",
        "no_proxy": "localhost,.corp", "all_proxy": "socks5://ann:hush@socks.corp:1080",
        "HOME": "/users/ann", "GITHUB_TOKEN": "hush",
    ]

    @Test func `parent proxies are told without user and password, and nothing else`() {
        #expect(
            ToldVariables.proxies(in: Self.environment) == [
                "http_proxy": "http://proxy.corp:3128", "HTTPS_PROXY": "other.corp:80",
                "no_proxy": "localhost,.corp", "all_proxy": "socks5://socks.corp:1080",
            ]
        )
    }

    @Test func `the proxies of another environment take the place of all of one's own`() throws {
        let own = ["HTTP_PROXY": "http://mine.test:1", "NO_PROXY": "*", "HOME": "/users/bob"]
        let proxies = ToldVariables.proxies(in: Self.environment)
        let mixed = ToldVariables.environment(own, with: proxies)
        #expect(mixed["HOME"] == "/users/bob" && mixed["HTTP_PROXY"] == nil)
        let host = try #require(Host("a.example"))
        func way(_ environment: [String: String]) -> UpstreamWay {
            ProxyEnvironment(environment).way(for: .http, host: host, port: 80)
        }
        guard case .parent(var parent) = way(Self.environment) else {
            Issue.record("no parent")
            return
        }
        parent.userinfo = nil
        #expect(way(mixed) == .parent(parent))
        #expect(way(ToldVariables.environment(own, with: [:])) == .direct)
    }

    @Test func `a check tells values apart, and is short`() {
        let check = ToldVariables.check(of: "api.example", salt: "lupin-1")
        #expect(check == ToldVariables.check(of: "api.example", salt: "lupin-1"))
        #expect(check != ToldVariables.check(of: "api.test", salt: "lupin-1"))
        #expect(check.utf8.count <= 7)
    }
}
