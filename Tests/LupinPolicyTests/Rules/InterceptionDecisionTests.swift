// Which CONNECTs are intercepted, for which rule, and which clients may be tunnelled after all.

import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

@Suite struct InterceptionDecisionTests {
    private static let step = RequestStep.set(name: "a", value: Template("b"))

    private func connect(
        _ host: String = "x.dev",
        port: UInt16 = 443,
        program: String? = nil,
        user: String? = nil
    ) throws -> MatchSubject {
        var request = try #require(
            SampleRequest(.connect, .https, host: host, port: port, path: "")
        )
        request.program = program
        request.user = user
        return request.subject
    }

    private func decide(
        _ rules: [Rule],
        _ host: String = "x.dev",
        _ change: (inout InterceptSettings) throws -> Void = { _ in }
    ) throws -> InterceptionDecision {
        var settings = InterceptSettings()
        try change(&settings)
        return RuleSet(rules).interception(of: try connect(host), settings: settings)
    }

    private static func wanting(_ name: String, _ match: Match = Match()) -> Rule {
        .named(name, match) { $0.steps = [step] }
    }

    // MARK: Which keys need clear text

    private static let keys: [(String, @Sendable (inout Rule) -> Void, needs: Bool, Bool)] = [
        ("nothing", { _ in }, false, true),
        ("log", { $0.log.off = true }, false, true),
        ("timeouts", { $0.timeouts.total = .some(.seconds(1)) }, false, true),
        ("proxy", { $0.proxy = .direct }, false, true),
        (
            "proxy by path",
            {
                $0.proxy = .direct
                $0.matches[0].paths = (try? PathPattern("/v1/**")).map { [$0] }
            }, true, false
        ),
        (
            "proxy by method",
            {
                $0.proxy = .direct
                $0.matches[0].methods = [.get]
            }, true, false
        ),
        ("stop", { $0.stop = true }, false, true),
        ("respond to the CONNECT", { $0.respond = CannedResponse(status: 403) }, false, true),
        ("client_cert: none", { $0.clientCertificate = .some(nil) }, false, true),
        ("request", { $0.steps = [step] }, true, true),
        ("a step that removes", { $0.steps = [step, .remove(pattern: "a")] }, true, false),
        ("a step that attaches", { $0.steps = [.auth(token: "t"), step] }, true, false),
        (
            "a secret", { $0.steps = [.set(name: "a", value: Template([.secret("s")]))] }, true,
            false
        ),
        ("a response step", { $0.responseSteps = [step] }, true, true),
        (
            "a response step that removes", { $0.responseSteps = [.remove(pattern: "a")] }, true,
            false
        ),
        ("cookies", { $0.cookieJar = .some("jar") }, true, false),
        ("retry", { $0.retry = .safe }, true, true),
        ("cache", { $0.cache = .some(.standard) }, true, true),
        ("resume", { $0.flags[.resume] = true }, true, true),
        (
            "respond with a body",
            {
                $0.respond = CannedResponse(status: 403)
                $0.respond?.content = .text(Template("no"))
            }, true, false
        ),
        ("respond with 200", { $0.respond = CannedResponse(status: 200) }, true, false),
        ("refuse with 503", { $0.respond = CannedResponse(status: 503) }, false, true),
        (
            "respond inside",
            {
                $0.respond = CannedResponse(status: 200)
                $0.intercept = true
            }, true, false
        ),
        (
            "respond to a path",
            {
                $0.respond = CannedResponse(status: 200)
                $0.matches[0].methods = [.get]
            }, true, false
        ),
        ("trust", { $0.trust = (policy: .system, replaces: false) }, true, false),
        (
            "client_cert",
            { $0.clientCertificate = CertificateFiles(certificate: "c", key: "k") }, true, false
        ),
        ("tls", { $0.tls.minimum = .tls13 }, true, false),
        ("intercept", { $0.intercept = true }, true, false),
        (
            "request and trust",
            {
                $0.steps = [step]
                $0.trust = (policy: .system, replaces: false)
            }, true, false
        ),
    ]

    @Test(arguments: keys.indices)
    func `every key but those that act on a CONNECT needs clear text`(index: Int) throws {
        let (key, change, needs, isConvenience) = Self.keys[index]
        let rule = Rule.named("r", try .host("x.dev"), change)
        #expect(rule.needsClearText == needs, "\(key)")
        let expected: InterceptionDecision =
            needs ? .intercept(rule: 0, isConvenienceOnly: isConvenience) : .tunnel(.noRule)
        #expect(try decide([rule]) == expected, "\(key)")
    }

    // MARK: Which rules count

    private static let matches: [(String, @Sendable (inout Match) throws -> Void, Bool)] = [
        ("nothing", { _ in }, true),
        ("host", { $0.hosts = [try HostPattern("*.dev")] }, true),
        ("another host", { $0.hosts = [try HostPattern("y.dev")] }, false),
        ("scheme https", { $0.schemes = [.https] }, true),
        ("both schemes", { $0.schemes = [.http, .https] }, true),
        ("scheme http", { $0.schemes = [.http] }, false),
        ("port", { $0.ports = PortSet([443...443]) }, true),
        ("another port", { $0.ports = PortSet([80...80]) }, false),
        ("client", { $0.clients = [try #require(CIDR("127.0.0.0/8"))] }, true),
        ("another client", { $0.clients = [try #require(CIDR("10.0.0.0/8"))] }, false),
        ("program", { $0.programs = [try ValuePattern("curl*")] }, true),
        ("another program", { $0.programs = [try ValuePattern("wget")] }, false),
        ("user", { $0.users = [try ValuePattern("ann")] }, true),
        ("another user", { $0.users = [try ValuePattern("ben")] }, false),
        ("path", { $0.paths = [try PathPattern("/v1/**")] }, true),
        ("header", { $0.headers = [("x-env", [])] }, true),
        ("query", { $0.query = [("q", [])] }, true),
        ("method", { $0.methods = [.get] }, true),
        ("only CONNECT", { $0.methods = [.connect] }, false),
        ("not a path", { $0.not = [try .with { $0.paths = [try PathPattern("/v1/**")] }] }, true),
        ("not this host", { $0.not = [try .host("x.dev")] }, false),
        (
            "not a path of this host",
            {
                $0.not = [
                    try .with {
                        $0.hosts = [try HostPattern("x.dev")]
                        $0.paths = [try PathPattern("/v1/**")]
                    }
                ]
            }, true
        ),
        ("not another host", { $0.not = [try .host("y.dev")] }, true),
        ("not http", { $0.not = [.with { $0.schemes = [.http] }] }, true),
        ("not https", { $0.not = [.with { $0.schemes = [.https] }] }, false),
        (
            "not a not",
            { $0.not = [try .with { $0.not = [try .host("x.dev")] }] }, true
        ),
        (
            "not not another host",
            { $0.not = [try .with { $0.not = [try .host("y.dev")] }] }, false
        ),
    ]

    @Test(arguments: matches.indices)
    func `a rule counts when a request inside may match it`(index: Int) throws {
        let (question, change, counts) = Self.matches[index]
        let rules = RuleSet([Self.wanting("r", try .with(change))])
        let subject = try connect(program: "curl", user: "ann")
        let decision = rules.interception(of: subject, settings: InterceptSettings())
        let expected: InterceptionDecision =
            counts ? .intercept(rule: 0, isConvenienceOnly: true) : .tunnel(.noRule)
        #expect(decision == expected, "\(question)")
    }

    @Test func `one alternative that may match is enough`() throws {
        var rule = Self.wanting("r", try .host("y.dev"))
        rule.matches.append(.with { $0.methods = [.get] })
        #expect(try decide([rule]) == .intercept(rule: 0, isConvenienceOnly: true))
    }

    @Test func `the first rule that needs it is named, and every rule has a say`() throws {
        let rules = [
            Rule.named("log") { $0.log.off = true }, Self.wanting("one"),
            .named("other", try .host("y.dev")) { $0.intercept = true },
            .named("pinned", try .host("x.dev")) { $0.trust = (policy: .system, replaces: false) },
        ]
        #expect(try decide(rules) == .intercept(rule: 1, isConvenienceOnly: false))
        #expect(try decide(rules, "z.dev") == .intercept(rule: 1, isConvenienceOnly: true))
    }

    @Test func `a tunnel would lift a refusal that the CONNECT alone does not meet`() throws {
        func reading(_ match: Match, _ change: (inout Rule) -> Void = { _ in }) -> Rule {
            .named("reading", match) {
                $0.cache = .some(.standard)
                $0.stop = true
                change(&$0)
            }
        }
        var limited = try Match.host("x.dev")
        limited.methods = [.connect, .get]
        let none = Rule.named("none") { $0.respond = CannedResponse(status: 403) }
        let refused = InterceptionDecision.intercept(rule: 0, isConvenienceOnly: false)
        let lifted = InterceptionDecision.intercept(rule: 0, isConvenienceOnly: true)
        #expect(try decide([reading(limited), none]) == refused)
        #expect(try decide([reading(limited), none]) { $0.mode = .all } == refused)
        // Nothing is refused to the host, not behind this rule, or to other hosts alone.
        #expect(try decide([reading(.host("x.dev")), none]) == lifted)
        #expect(try decide([reading(limited)]) == lifted)
        let all = Rule.named("all", try .host("x.dev")) { $0.stop = true }
        #expect(try decide([reading(limited), all, none]) == lifted)
        let other = Rule.named("other", try .host("y.dev")) {
            $0.respond = CannedResponse(status: 403)
        }
        #expect(try decide([reading(limited), other]) == lifted)
        // The CONNECT itself meets it, so that there is none to tunnel.
        #expect(try decide([reading(limited) { $0.stop = false }, none]) == lifted)
        limited.methods = [.get]
        #expect(try decide([reading(limited), none]) == lifted)
    }

    @Test func `a rule that surely stops keeps later ones from counting`() throws {
        let stop = Rule.named("stop", try .host("x.dev")) { $0.stop = true }
        #expect(try decide([stop, Self.wanting("all")]) == .tunnel(.noRule))
        #expect(
            try decide([stop, Self.wanting("all")], "y.dev")
                == .intercept(rule: 1, isConvenienceOnly: true)
        )
        let perhaps = Rule.named("perhaps", .with { $0.methods = [.get] }) { $0.stop = true }
        #expect(
            try decide([perhaps, Self.wanting("all")])
                == .intercept(rule: 1, isConvenienceOnly: true)
        )
        var own = Self.wanting("own", try .host("x.dev"))
        own.stop = true
        let demanding = Rule.named("demanding") { $0.intercept = true }
        #expect(try decide([own, demanding]) == .intercept(rule: 0, isConvenienceOnly: true))
    }

    // MARK: Settings

    @Test func `mode none tunnels all, mode all tunnels only the exceptions`() throws {
        let rules = [Self.wanting("r")]
        #expect(try decide(rules) { $0.mode = .none } == .tunnel(.mode))
        #expect(try decide([]) == .tunnel(.noRule))
        let all = InterceptionDecision.intercept(rule: nil, isConvenienceOnly: true)
        #expect(try decide([]) { $0.mode = .all } == all)
        for mode in [InterceptSettings.Mode.auto, .all] {
            let decision = try decide(rules, "www.bank.dev") {
                $0.mode = mode
                $0.except = [try HostPattern("y.dev"), try HostPattern("*.bank.dev")]
            }
            #expect(decision == .tunnel(.exception))
        }
    }

    // MARK: What a file says against itself

    @Test(arguments: [
        ("x.dev", "x.dev", true), ("www.bank.dev", "*.bank.dev", true), ("**.dev", "x.dev", false),
        ("*.bank.dev", "**.bank.dev", true), ("x.dev", "y.dev", false), ("x.dev", "/x/", true),
    ])
    func `a host that lies in an exception is refused`(
        host: String,
        exception: String,
        expected: Bool
    ) throws {
        var settings = InterceptSettings()
        settings.except = [try HostPattern(exception)]
        let rule = Self.wanting("r", try .host("other.dev", host))
        let refusal = expected ? ClearTextRefusal.exception(try HostPattern(host)) : nil
        #expect(rule.refusal(by: settings) == refusal)
        var http = rule
        http.matches[0].schemes = [.http]
        #expect(http.refusal(by: settings) == nil)
        #expect(Rule.named("r", try .host(host)).refusal(by: settings) == nil)
    }

    @Test func `mode none refuses whatever needs clear text`() throws {
        var settings = InterceptSettings()
        settings.mode = .none
        #expect(Self.wanting("r").refusal(by: settings) == .mode)
        #expect(Self.wanting("r", .with { $0.schemes = [.http] }).refusal(by: settings) == nil)
        #expect(Rule.named("r") { $0.log.off = true }.refusal(by: settings) == nil)
    }

    @Test func `a rule without a host decrypts everything`() throws {
        #expect(Self.wanting("r").decryptsEverything)
        #expect(Self.wanting("r", .with { $0.methods = [.get] }).decryptsEverything)
        #expect(!Self.wanting("r", .with { $0.schemes = [.http] }).decryptsEverything)
        #expect(!Self.wanting("r", try .host("x.dev")).decryptsEverything)
        #expect(!Rule.named("r").decryptsEverything)
    }

    @Test func `a rule names a host by itself and not by a pattern`() throws {
        let rule = Rule.named("r", try .host("*.1", "10.0.0.1", "**"))
        #expect(rule.names(try #require(Host("10.0.0.1"))))
        #expect(!rule.names(try #require(Host("10.0.0.2"))))
        #expect(!Rule.named("r").names(try #require(Host("10.0.0.1"))))
    }

    // MARK: Refusals of the CONNECT

    // MARK: Cost

    @Test func `ten thousand rules for other hosts cost what a few do`() throws {
        func time(_ count: Int) throws -> Duration {
            let rules = RuleSet(
                try (0..<count).map { Self.wanting("r\($0)", try .host("h\($0).x.dev")) }
            )
            let subject = try connect("h7.x.dev")
            let settings = InterceptSettings()
            var best = Duration.seconds(9)
            for _ in 0..<20 {
                best = min(
                    best,
                    processorTime {
                        for _ in 0..<50 { _ = rules.interception(of: subject, settings: settings) }
                    }
                )
            }
            #expect(
                rules.interception(of: subject, settings: settings)
                    == .intercept(rule: 7, isConvenienceOnly: true)
            )
            return best
        }
        #expect(try time(2_000) < time(20) * 20)
    }
}
