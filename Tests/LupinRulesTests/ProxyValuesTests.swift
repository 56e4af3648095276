// The parent proxy: direct, a URL with secrets, the environment's, and never ourselves.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct ProxyValuesTests {
    private func parentProxy(_ configuration: Configuration) -> ParentProxy? {
        guard case .parent(let parent) = configuration.settings.upstream.proxy else { return nil }
        return parent
    }

    @Test(arguments: [
        ("http://proxy.corp:3128", "proxy.corp", 3128, nil),
        ("http://PROXY.corp", "proxy.corp", 80, nil),
        ("http://[::1]:99/", "::1", 99, nil),
        ("http://u:p%40ss@proxy.corp:3128", "proxy.corp", 3128, "u:p@ss"),
        ("http://u:${env:PW}@proxy.corp:3128", "proxy.corp", 3128, "u:a@b/c%:d"),
        ("http://u:${secret:PW}@proxy.corp:3128", "proxy.corp", 3128, "u:a@b/c%:d"),
        ("http://u:${file:pw}@proxy.corp:3128", "proxy.corp", 3128, "u:hunter2"),
        ("http://${env:NONE:-u}:x@proxy.corp", "proxy.corp", 80, "u:x"),
        ("http://${env:HOST}:8888", "cache.corp", 8888, nil),
        ("${env:WHOLE}", "all.corp", 1234, "me:secret"),
    ])
    func `a parent proxy is a URL`(
        url: String,
        host: String,
        port: UInt16,
        userinfo: String?
    ) throws {
        let configuration = try configuration(
            "upstream: {proxy: \"\(url)\"}",
            environment: [
                "PW": "a@b/c%:d", "HOST": "cache.corp", "WHOLE": "http://me:secret@all.corp:1234",
            ],
            files: ["/etc/lupin/pw": FileContents(bytes: Array("hunter2\n".utf8))]
        )
        let parent = try #require(parentProxy(configuration))
        #expect(parent.host.text == host)
        #expect(parent.port == port)
        #expect(parent.userinfo == userinfo)
        if let userinfo {
            #expect(configuration.secrets.contains(userinfo))
            let password = userinfo.drop { $0 != ":" }.dropFirst()
            #expect(configuration.secrets.contains(String(password)))
        } else {
            #expect(configuration.secrets.isEmpty)
        }
    }

    @Test(arguments: [
        ("dircet", "2:19: unknown proxy \"dircet\"  [E-NAME]"),
        ("proxy.corp:3128", "2:19: a proxy needs a scheme  [E-TYPE]"),
        ("http://p.corp:0", "2:19: the port of a proxy is a number from 1 to 65535  [E-TYPE]"),
        ("http://p.corp/x", "2:19: a proxy is a host and a port, without a path  [E-TYPE]"),
        ("http://:80", "2:19: the host of the proxy is not a name or an address  [E-TYPE]"),
        ("http://u:%zz@p", "2:19: a % in the user or password must be written %25  [E-TYPE]"),
        ("ftp://p.corp", "2:19: a parent proxy is reached by http or https  [E-TYPE]"),
        ("https://localhost:8080", "2:19: the proxy is one of lupin's own listeners  [E-LOOP]"),
        (
            "socks5h://p.corp",
            "2:19: \"socks5h\" is not available yet: a SOCKS parent proxy arrives in a later "
                + "version  [E-AVAIL]"
        ),
        ("http://u:${env:PW}@p.corp", "2:29: the environment has no variable \"PW\"  [E-ENV]"),
        ("http://u:${secret:PW}@p.corp", "2:29: the environment has no variable \"PW\"  [E-ENV]"),
        (
            "http://u:${file:pw}@p.corp",
            "2:29: cannot read /etc/lupin/pw: there is no such file  [E-FILE]"
        ),
        ("http://u:${header:X}@p.corp", "2:29: \"${header:X}\" is not allowed here  [E-TYPE]"),
        ("http://localhost:8080", "2:19: the proxy is one of lupin's own listeners  [E-LOOP]"),
        ("http://127.0.0.1:8080", "2:19: the proxy is one of lupin's own listeners  [E-LOOP]"),
        ("http://0.0.0.0:8080", "2:19: the proxy is one of lupin's own listeners  [E-LOOP]"),
    ])
    func `a wrong proxy is told`(proxy: String, first: String) {
        let problems = decode("upstream: {proxy: \"\(proxy)\"}").errors
        #expect(problems.count == 1)
        let line = problems.first?.text.split(separator: "\n").first
        #expect(line.map(String.init) == "lupin.yaml:\(first)")
    }

    @Test func `a secret never stands in a report beyond the user's own line`() {
        let report = errors(
            "upstream:\n  proxy: http://${env:USERPASS}@[broken",
            environment: ["USERPASS": "u:topsecret"]
        )
        #expect(!report.contains("topsecret"))
    }

    @Test func `a password written in the file is stars in a report`() {
        #expect(
            errors("upstream: {proxy: \"http://me:hunter2@p.corp:x\"}") == """
                lupin.yaml:2:19: the port of a proxy is a number from 1 to 65535  [E-TYPE]
                    upstream: {proxy: "http://me:*******@p.corp:x"}
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^  write http://proxy.example:3128
                """
        )
    }

    @Test func `a secret file belongs to its owner alone`() throws {
        var contents = FileContents(bytes: Array("hunter2".utf8))
        contents.isOpenToOthers = true
        let body = "upstream: {proxy: \"http://u:${file:~/pw}@p.corp\"}"
        #expect(
            errors(body, files: ["/users/ann/pw": contents]) == """
                lupin.yaml:2:29: the secret file /users/ann/pw is readable by group or \
                others  [E-FILE]
                    \(body)
                                                ^^^^^^^^^^^^  chmod 600 /users/ann/pw
                """
        )
        contents.isMountedByRoot = true
        let mounted = decode(body, files: ["/users/ann/pw": contents])
        #expect(mounted.errors.isEmpty)
        #expect(mounted.warnings.map(\.code) == [.file])
        #expect(mounted.configuration?.secrets.contains("hunter2") == true)
    }

    @Test func `the environment's proxy is read once, and ours means direct with a warning`() throws
    {
        let own = decode(
            "upstream: {proxy: environment}",
            environment: ["http_proxy": "http://localhost:8080", "https_proxy": "p.corp:81"]
        )
        #expect(own.warnings.map(\.code) == [.loop])
        guard
            case .environment(let proxies) = try #require(own.configuration).settings.upstream.proxy
        else {
            Issue.record("not the environment")
            return
        }
        #expect(proxies.http == nil)
        #expect(proxies.https?.port == 81)
    }

    @Test(
        arguments: [
            (["ALL_PROXY": "socks5://p.corp"], .unavailable),
            (["https_proxy": "p:x"], .environment),
            (["http_proxy": "p.corp:81", "no_proxy": "<local>"], .environment),
        ] as [([String: String], Diagnostic.Code)]
    )
    func `what lupin can't read in its environment is a warning`(
        environment: [String: String],
        code: Diagnostic.Code
    ) {
        let decoded = decode("upstream: {proxy: environment}", environment: environment)
        #expect(decoded.errors.isEmpty)
        #expect(decoded.warnings.map(\.code) == [code])
        #expect(decoded.configuration != nil)
    }

    @Test func `a parent proxy by https has its own default port, in a rule too`() throws {
        let top = try configuration("upstream: {proxy: https://u:pw@p.corp}")
        #expect(parentProxy(top)?.scheme == .https)
        #expect(parentProxy(top)?.port == 443)
        #expect(top.secrets == ["u:pw", "pw"])
        #expect(parentProxy(try configuration("upstream: {proxy: http://p.corp}"))?.scheme == .http)
        let rule = try configuration("rules: [{match: a.dev, proxy: https://p.corp:8443}]").rules
        guard case .parent(let parent) = rule.rules.first?.proxy else {
            Issue.record("no parent")
            return
        }
        #expect(parent.scheme == .https)
        #expect(parent.port == 8443)
    }

    @Test func `a rule may have its own proxy`() throws {
        let rules = try configuration(
            "rules: [{match: a.dev, proxy: http://p.corp:81}, {match: b.dev, proxy: direct}]"
        ).rules.rules
        #expect(rules.last?.proxy == .direct)
        guard case .parent(let parent) = rules.first?.proxy else {
            Issue.record("no parent")
            return
        }
        #expect(parent.port == 81)
        #expect(
            decode("rules: [{match: a.dev, proxy: http://localhost:8080}]").errors.map(\.code)
                == [.loop]
        )
    }
}
