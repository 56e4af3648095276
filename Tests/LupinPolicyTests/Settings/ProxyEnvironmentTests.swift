// Which variables name a proxy, in which spelling, and which hosts go without one.

import LupinCore
import LupinPolicy
import Testing

struct ProxyEnvironmentTests {
    @Test(arguments: [
        ("localhost", "localhost", 80, true), ("localhost", "a.localhost", 80, true),
        ("corp.example", "corp.example", 80, true), ("corp.example", "a.corp.example", 80, true),
        ("corp.example", "acorp.example", 80, false), ("corp.example", "example", 80, false),
        (".corp.example", "corp.example", 80, true),
        (".corp.example", "a.b.corp.example", 80, true),
        ("*.corp.example", "a.corp.example", 80, true), ("CORP.Example.", "corp.example", 80, true),
        ("*", "anything.dev", 443, true), ("*:443", "anything.dev", 443, true),
        ("*:443", "anything.dev", 80, false), ("corp.example:8080", "corp.example", 8080, true),
        ("corp.example:8080", "corp.example", 80, false), ("10.0.0.0/8", "10.200.3.4", 80, true),
        ("10.0.0.0/8", "11.0.0.1", 80, false), ("10.0.0.0/8", "ten.example", 80, false),
        ("127.0.0.1", "127.0.0.1", 80, true), ("127.0.0.1", "127.0.0.2", 80, false),
        ("127.0.0.1:81", "127.0.0.1", 81, true), ("127.0.0.1:81", "127.0.0.1", 80, false),
        ("::1", "::1", 80, true), ("[::1]", "::1", 80, true), ("[::1]:81", "::1", 81, true),
        ("[::1]:81", "::1", 80, false), ("fd00::/8", "fd12::1", 80, true),
        ("10.0.0.0/8", "::ffff:10.1.1.1", 80, true),
        ("bücher.example", "xn--bcher-kva.example", 80, true),
        ("0.0.1", "10.0.0.1", 80, false),
    ])
    func `every form of an entry is understood`(
        entry: String,
        host: String,
        port: UInt16,
        isCovered: Bool
    ) throws {
        let entry = try #require(NoProxyEntry(entry))
        #expect(entry.bypasses(host: try #require(Host(host)), port: port) == isCovered)
    }

    @Test(arguments: [
        "", " ", "a b", "host:0", "host:70000", "a*b.dev", "http://x", "10.0.0.0/33", ".",
    ])
    func `what is none of the forms is nil`(text: String) {
        #expect(NoProxyEntry(text) == nil)
    }

    @Test(
        arguments: [
            (["http_proxy": "http://l:1", "HTTP_PROXY": "http://u:2"], "l:1", nil),
            (["HTTP_PROXY": "http://u:2"], "u:2", nil),
            (["HTTP_PROXY": "http://u:2", "REQUEST_METHOD": "GET"], nil, nil),
            (["http_proxy": "http://l:1", "REQUEST_METHOD": "GET"], "l:1", nil),
            (["HTTPS_PROXY": "http://u:2", "REQUEST_METHOD": "GET"], nil, "u:2"),
            (["https_proxy": "s:3"], nil, "s:3"),
            (["all_proxy": "http://a:4"], "a:4", "a:4"),
            (["ALL_PROXY": "http://a:4", "https_proxy": ""], "a:4", nil),
            (["http_proxy": "", "HTTP_PROXY": "http://u:2"], nil, nil),
            ([:], nil, nil),
        ] as [([String: String], String?, String?)]
    )
    func `lower case wins, and upper-case HTTP_PROXY is not trusted under CGI`(
        variables: [String: String],
        http: String?,
        https: String?
    ) {
        let environment = ProxyEnvironment(variables)
        #expect(environment.http.map { "\($0.host.text):\($0.port)" } == http)
        #expect(environment.https.map { "\($0.host.text):\($0.port)" } == https)
        #expect(environment.problems.isEmpty)
    }

    private static func port(_ way: UpstreamWay) -> UInt16? {
        if case .parent(let proxy) = way { proxy.port } else { nil }
    }

    @Test(
        arguments: [
            ("10.*", "10.9.8.7", true), ("10.*", "11.0.0.1", false), ("10.*.*.*", "10.0.0.1", true),
            ("192.168.*", "192.168.7.1", true), ("192.168.*", "192.169.7.1", false),
            ("192.168.7.*", "192.168.7.1", true), ("192.168.7.*", "192.168.8.1", false),
            ("10.*:81", "10.0.0.1", false), ("10.*", "10.example", false),
            ("10.", "10.9.8.7", true), ("10.1.", "10.1.2.3", true), ("10.1.", "10.2.2.3", false),
            ("192.168.7.", "192.168.7.1", true), ("192.168.7.", "192.168.8.1", false),
            ("10.1.:80", "10.1.2.3", true), ("10.1.:81", "10.1.2.3", false),
        ]
    )
    func `the first bytes of an address and a star are a network`(
        entry: String,
        host: String,
        bypasses: Bool
    ) throws {
        let host = try #require(Host(host))
        #expect(try #require(NoProxyEntry(entry)).bypasses(host: host, port: 80) == bypasses)
    }

    @Test(arguments: [
        "<local>", "169.254/16", "a;b", "256.*", "10.*.1", "1.2.3.4.*", "10..", "*.*", "1*",
    ])
    func `what is no entry is told`(entry: String) {
        #expect(NoProxyEntry(entry) == nil)
        #expect(ProxyEnvironment(["no_proxy": "a.dev \(entry)"]).problems.count == 1)
    }

    @Test func `a proxy that can't be used concerns only who needs it`() throws {
        let host = try #require(Host("a.dev"))
        let near = try #require(Host("b.near"))
        let environment = ProxyEnvironment([
            "http_proxy": "http://p:1", "all_proxy": "socks5://p:2", "no_proxy": "near",
        ])
        #expect(environment.problems.map(\.variable) == ["all_proxy"])
        #expect(Self.port(environment.way(for: .http, host: host, port: 80)) == 1)
        #expect(environment.way(for: .https, host: near, port: 443) == .direct)
        let sentence =
            "all_proxy names no proxy that lupin can use (a SOCKS parent proxy); write the URL of "
            + "an HTTP proxy, or direct, into `upstream.proxy`"
        #expect(environment.way(for: .https, host: host, port: 443) == .none(sentence))
        let both = ProxyEnvironment(["http_proxy": "http://p:1", "https_proxy": "http://p:1"])
        #expect(both.problems.isEmpty)
    }

    @Test(arguments: ["localhost", "app.localhost", "a.b.LOCALHOST"])
    func `this machine's own names go to no parent proxy`(name: String) throws {
        var upstream = UpstreamSettings()
        upstream.noProxy = []
        upstream.proxy = .parent(try ParentProxy(url: "http://p.dev:3128"))
        let host = try #require(Host(name))
        #expect(upstream.way(for: .http, host: host, port: 80) == .direct)
        #expect(upstream.way(for: .http, host: host, port: 80, override: upstream.proxy) == .direct)
    }

    @Test(arguments: ["http://127.0.0.1:8081", "https://[::1]:8081", "http://localhost:8081"])
    func `but to one that is on this machine, too, where no exception names them`(
        url: String
    ) throws {
        var upstream = UpstreamSettings()
        let parent = try ParentProxy(url: url)
        let environment = ProxyEnvironment(["http_proxy": url, "https_proxy": "http://p.dev"])
        for proxy in [UpstreamProxy.parent(parent), .environment(environment)] {
            for name in ["localhost", "app.localhost", "127.0.0.1"] {
                let host = try #require(Host(name))
                upstream.proxy = proxy
                upstream.noProxy = UpstreamSettings().noProxy
                #expect(upstream.way(for: .http, host: host, port: 80) == .direct)
                #expect(upstream.exception(for: .http, host: host, port: 80) != nil)
                upstream.noProxy = []
                #expect(upstream.way(for: .http, host: host, port: 80) == .parent(parent))
                #expect(upstream.exception(for: .http, host: host, port: 80) == nil)
                upstream.proxy = .direct
                let way = upstream.way(for: .http, host: host, port: 80, override: proxy)
                #expect(way == .parent(parent))
            }
        }
        let host = try #require(Host("app.localhost"))
        upstream.proxy = .environment(environment)
        #expect(upstream.way(for: .https, host: host, port: 443) == .direct)
        upstream.noProxy = [try #require(NoProxyEntry("localhost"))]
        #expect(upstream.way(for: .http, host: host, port: 80) == .direct)
    }

    @Test(arguments: [
        ("http://127.0.0.1", "direct", true), ("http://localhost", "http://p.corp", true),
        ("http://127.0.0.1", "http://localhost:81", true),
        ("http://[::1]", "https://p.corp", false),
        ("http://[::ffff:127.0.0.1]", "http://10.9.9.9:81", false),
        ("http://127.1", "http://10.9.9.9:81", false), ("https://127.1", "http://p.corp", true),
        ("https://a.test", "http://p.corp", true), ("http://a.test", "direct", false),
        ("http://a.test", "http://127.0.0.1:81", false),
        ("http://127.0.0.9", "http://p.corp", true),
    ])
    func `what goes in clear is protected where it stays on this machine`(
        url: String,
        parent: String,
        isProtected: Bool
    ) throws {
        let origin = try #require(HTTPURL("\(url)/")).origin
        var upstream = UpstreamSettings()
        upstream.noProxy = [try #require(NoProxyEntry("127.0.0.9"))]
        let parents: [UpstreamProxy] =
            parent == "direct"
            ? [.direct]
            : [
                .parent(try ParentProxy(url: parent)),
                .environment(ProxyEnvironment(["all_proxy": parent])),
            ]
        for proxy in parents {
            upstream.proxy = .direct
            #expect(upstream.protects(origin, override: proxy) == isProtected)
            upstream.proxy = proxy
            #expect(upstream.protects(origin) == isProtected)
            let isHere = origin.scheme == .http && isProtected
            if origin.scheme == .http {
                #expect(upstream.mayProtect(origin.host, overrides: []) == isHere)
            }
            let mayBe = origin.host.isLoopback
            #expect(upstream.mayProtect(origin.host, overrides: [.direct]) == mayBe)
        }
    }

    @Test func `an exception for one port may keep a host on this machine`() throws {
        var upstream = UpstreamSettings()
        upstream.proxy = .parent(try ParentProxy(url: "http://p.corp"))
        upstream.noProxy = [try #require(NoProxyEntry("127.0.0.1:3000"))]
        let host = try #require(Host("127.0.0.1"))
        #expect(upstream.mayProtect(host, overrides: []))
        #expect(!upstream.protects(Origin(scheme: .http, host: host, port: 80)))
        #expect(upstream.protects(Origin(scheme: .http, host: host, port: 3000)))
    }

    @Test func `NO_PROXY is a list by commas and blanks, in both cases`() throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let environment = ProxyEnvironment([
                "http_proxy": "http://p:1", name: ".corp.dev, 10.0.0.0/8 x.dev:81,,",
            ])
            #expect(environment.noProxy.count == 3)
            let host = try #require(Host("a.corp.dev"))
            #expect(environment.way(for: .http, host: host, port: 80) == .direct)
            let other = try #require(Host("b.dev"))
            #expect(Self.port(environment.way(for: .http, host: other, port: 80)) == 1)
            #expect(environment.way(for: .https, host: other, port: 443) == .direct)
        }
    }

    @Test func `what is not understood is told by its variable and never with its value`() {
        let environment = ProxyEnvironment([
            "http_proxy": "socks5://u:topsecret@p", "https_proxy": "http://u:topsecret@p:x",
            "no_proxy": "a b*c",
        ])
        #expect(environment.problems.map(\.variable) == ["http_proxy", "https_proxy", "no_proxy"])
        #expect(environment.problems.map(\.problem.isUnavailable) == [true, false, false])
        #expect(!environment.problems.contains { $0.problem.message.contains("topsecret") })
    }

    @Test func `the next hop follows the setting, its exceptions and a rule's own proxy`() throws {
        var upstream = UpstreamSettings()
        let host = try #require(Host("a.dev"))
        let local = try #require(Host("localhost"))
        let parent = try ParentProxy(url: "http://u:p%3A@p.dev:3128")
        #expect(parent.userinfo == "u:p:")
        #expect(parent.scheme == .http)
        #expect(try ParentProxy(url: "https://p.dev:3128") != ParentProxy(url: "http://p.dev:3128"))
        #expect(try ParentProxy(url: "HTTPS://p.dev").port == 443)
        #expect(upstream.way(for: .http, host: host, port: 80) == .direct)
        upstream.proxy = .parent(parent)
        #expect(upstream.way(for: .https, host: host, port: 443) == .parent(parent))
        #expect(upstream.way(for: .http, host: local, port: 80) == .direct)
        #expect(upstream.way(for: .http, host: host, port: 80, override: .direct) == .direct)
        upstream.proxy = .environment(ProxyEnvironment(["https_proxy": "http://p.dev:3128"]))
        #expect(upstream.way(for: .http, host: host, port: 80) == .direct)
        #expect(Self.port(upstream.way(for: .https, host: host, port: 443)) == 3128)
    }
}
