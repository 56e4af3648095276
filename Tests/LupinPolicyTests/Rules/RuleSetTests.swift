// Which rules apply to a request, and what they say together.

import LupinCore
import LupinPolicy
import Testing

@Suite struct RuleSetTests {
    private func names(_ rules: [Rule], _ request: SampleRequest?) throws -> [String] {
        try RuleSet(rules).plan(for: #require(request).subject).names
    }

    @Test func `no rule costs nothing and says nothing`() throws {
        let rules = RuleSet([])
        #expect(rules.isEmpty)
        let plan = try rules.plan(for: #require(SampleRequest()).subject)
        #expect(plan.matched.isEmpty && plan.steps.isEmpty && plan.respond == nil)
    }

    // MARK: What a match asks

    private static let questions: [(String, @Sendable (inout Match) throws -> Void, Bool)] = [
        ("nothing", { _ in }, true),
        ("scheme", { $0.schemes = [.http] }, true),
        ("another scheme", { $0.schemes = [.https] }, false),
        ("port", { $0.ports = PortSet([80...81, 8080...8080]) }, true),
        ("another port", { $0.ports = PortSet([443...443]) }, false),
        (
            "one of two hosts", { $0.hosts = [try HostPattern("y"), try HostPattern("*.dev")] },
            true
        ),
        ("an empty list", { $0.hosts = [] }, false),
        ("path", { $0.paths = [try PathPattern("/no"), try PathPattern("/api/**")] }, true),
        ("another path", { $0.paths = [try PathPattern("/v1/**")] }, false),
        ("method", { $0.methods = [.head, .post] }, true),
        ("another method", { $0.methods = [.get] }, false),
        ("a field's value", { $0.headers = [("x-env", [try ValuePattern("staging")])] }, true),
        ("its second line", { $0.headers = [("x-env", [try ValuePattern("two")])] }, true),
        ("another value", { $0.headers = [("x-env", [try ValuePattern("prod")])] }, false),
        ("only presence", { $0.headers = [("x-env", [])] }, true),
        ("a missing field", { $0.headers = [("x-no", [])] }, false),
        (
            "two fields",
            { $0.headers = [("x-env", []), ("accept", [try ValuePattern("*json")])] }, true
        ),
        ("one missing of two", { $0.headers = [("x-env", []), ("x-no", [])] }, false),
        ("a parameter", { $0.query = [("q", [try ValuePattern("a b")])] }, true),
        ("an escaped parameter", { $0.query = [("é", [try ValuePattern("1")])] }, true),
        ("its second value", { $0.query = [("q", [try ValuePattern("z")])] }, true),
        ("a parameter without value", { $0.query = [("flag", [try ValuePattern("")])] }, true),
        ("another parameter", { $0.query = [("r", [])] }, false),
        ("client", { $0.clients = try [#require(CIDR("127.0.0.0/8"))] }, true),
        ("another client", { $0.clients = try [#require(CIDR("10.0.0.0/8"))] }, false),
        ("program", { $0.programs = [try ValuePattern("curl*")] }, true),
        ("another program", { $0.programs = [try ValuePattern("wget")] }, false),
        ("user", { $0.users = [try ValuePattern("ben"), try ValuePattern("a*")] }, true),
        ("another user", { $0.users = [try ValuePattern("ben")] }, false),
        ("not", { $0.not = [try .with { $0.paths = [try PathPattern("/health")] }] }, true),
        ("not that holds", { $0.not = [.with { $0.methods = [.post] }] }, false),
        (
            "not with two keys of which one holds",
            {
                $0.not = [
                    .with {
                        $0.methods = [.post]
                        $0.schemes = [.https]
                    }
                ]
            }, true
        ),
        ("one of two nots", { $0.not = [.with { $0.methods = [.get] }, Match()] }, false),
        (
            "a not inside a not",
            { $0.not = [.with { $0.not = [.with { $0.methods = [.post] }] }] }, true
        ),
    ]

    @Test(arguments: questions.indices)
    func `keys are AND, items are OR, not negates`(index: Int) throws {
        let (question, change, expected) = Self.questions[index]
        var request = try #require(
            SampleRequest(
                .post,
                host: "x.dev",
                path: "/api/%75sers?q=a+b&%C3%A9=1&q=z&flag",
                fields: [("X-Env", "staging"), ("Accept", "application/json"), ("x-env", "two")]
            )
        )
        request.program = "curl"
        request.user = "ann"
        let rule = Rule.named("r", try .with(change))
        #expect(try names([rule], request) == (expected ? ["r"] : []), "\(question)")
    }

    @Test func `matches of one rule are alternatives`() throws {
        var rule = Rule.named("r", try .host("a.dev"))
        rule.matches.append(try .host("b.dev"))
        #expect(try names([rule], SampleRequest(host: "b.dev")) == ["r"])
        #expect(try names([rule], SampleRequest(host: "c.dev")) == [])
        rule.matches = []
        #expect(try names([rule], SampleRequest(host: "b.dev")) == [])
    }

    @Test func `paths compare in normal form, OPTIONS star has none`() throws {
        let rule = Rule.named("r", try .with { $0.paths = [try PathPattern("/v1/**")] })
        #expect(try names([rule], SampleRequest(path: "/x/../v1/a")) == ["r"])
        #expect(try names([rule], SampleRequest(path: "/v1/../a")) == [])
        let all = Rule.named("r", try .with { $0.paths = [try PathPattern("/**")] })
        #expect(try names([all], SampleRequest(.options, path: "")) == [])
        #expect(try names([all], SampleRequest(.get, path: "")) == ["r"])
    }

    @Test func `the program is needed only if some rule tests it`() throws {
        let testing = try Match.with { $0.programs = [try ValuePattern("curl")] }
        #expect(RuleSet([.named("r", testing)]).needsProgram)
        #expect(RuleSet([.named("r", .with { $0.not = [testing] })]).needsProgram)
        #expect(!RuleSet([.named("r")]).needsProgram)
        #expect(try names([.named("r", testing)], SampleRequest()) == [])
    }

    @Test func `who was not asked for a name is no user`() throws {
        let ann = try Match.with { $0.users = [try ValuePattern("*")] }
        #expect(try names([.named("r", ann)], SampleRequest()) == [])
        #expect(try names([.named("r", .with { $0.not = [ann] })], SampleRequest()) == ["r"])
    }

    // MARK: What the rules say together

    @Test func `all matching rules apply, top to bottom`() throws {
        let rules = [
            Rule.named("one") { $0.steps = [.remove(pattern: "a"), .remove(pattern: "b")] },
            .named("other", try .host("y.dev")) { $0.steps = [.remove(pattern: "no")] },
            .named("two", try .host("x.dev")) { $0.steps = [.remove(pattern: "c")] },
        ]
        let plan = try RuleSet(rules).plan(for: #require(SampleRequest()).subject)
        #expect(plan.matched == [0, 2])
        #expect(plan.names == ["one", "two"])
        #expect(plan.steps.map(\.rule) == [0, 0, 2])
        #expect(plan.steps.map(\.step.summary) == ["remove a", "remove b", "remove c"])
    }

    @Test func `the steps of a rule with stop apply, then matching ends`() throws {
        let rules = [
            Rule.named("one") {
                $0.stop = true
                $0.steps = [.remove(pattern: "a")]
            },
            .named("two"),
        ]
        let plan = try RuleSet(rules).plan(for: #require(SampleRequest()).subject)
        #expect(plan.names == ["one"])
        #expect(plan.steps.count == 1)
    }

    @Test func `a rule with stop that does not match ends nothing`() throws {
        let rules = [Rule.named("one", try .host("y.dev")) { $0.stop = true }, .named("two")]
        #expect(try names(rules, SampleRequest()) == ["two"])
    }

    @Test func `timeouts and log merge leaf by leaf, the rest is replaced`() throws {
        let rules = [
            Rule.named("one") {
                $0.timeouts.connect = .seconds(1)
                $0.timeouts.total = .some(.seconds(9))
                $0.log.off = true
                $0.log.level = .attempt
                $0.proxy = .parent(ParentProxy(host: Host(.v4(1)), port: 3128))
                $0.respond = CannedResponse(status: 403)
            },
            .named("two") {
                $0.timeouts.connect = .seconds(2)
                $0.timeouts.total = .some(nil)
                $0.timeouts.idle = .seconds(3)
                $0.timeouts.sniff = .seconds(4)
                $0.timeouts.tls = .seconds(5)
                $0.log.headers = LogSettings.Headers.none
                $0.proxy = .direct
                $0.respond = CannedResponse(status: 404)
            },
            .named("three"),
        ]
        let plan = try RuleSet(rules).plan(for: #require(SampleRequest()).subject)
        #expect(plan.log.level == .attempt)
        #expect(plan.timeouts.connect == .seconds(2))
        let none: Duration?? = .some(nil)
        #expect(plan.timeouts.total == none)
        #expect(plan.timeouts.idle == .seconds(3))
        #expect(plan.timeouts.dns == nil)
        let merged = Timeouts().applying(plan.timeouts)
        #expect(merged.sniff == .seconds(4) && merged.tls == .seconds(5))
        #expect(merged.dns == Timeouts().dns && merged.total == nil)
        #expect(plan.log.off == true)
        #expect(plan.log.headers == LogSettings.Headers.none)
        #expect(plan.proxy == .direct)
        #expect(plan.respond?.status == 404)
    }

    @Test func `the last word about the cache counts, and off is one`() throws {
        let first = Rule.named("first") { $0.cache = .some(.standard) }
        let off = Rule.named("off") { $0.cache = .some(nil) }
        let last = Rule.named("last") { $0.cache = .some(CachePolicy(name: "mine")) }
        let silent = Rule.named("silent")
        let request = try #require(SampleRequest())
        func cache(_ rules: [Rule]) -> String? {
            RuleSet(rules).plan(for: request.subject).cache?.name
        }
        #expect(cache([silent]) == nil)
        #expect(cache([first, silent]) == "standard")
        #expect(cache([first, off]) == nil)
        #expect(cache([first, off, last, silent]) == "mine")
        #expect(first.needsClearText && !off.needsClearText)
        let connect = try #require(SampleRequest(.connect, .https, path: ""))
        #expect(RuleSet([first]).plan(for: connect.subject).cache == nil)
    }

    @Test func `client_cert, tls and trust are replaced whole`() throws {
        let files = CertificateFiles(certificate: "c", key: "k")
        let first = Rule.named("one") {
            $0.clientCertificate = files
            $0.tls.minimum = .tls13
            $0.tls.ciphers = "A"
            $0.trust = (policy: NamedTrustPolicy(name: "p", policy: .all([])), replaces: false)
        }
        let second = Rule.named("two") {
            $0.clientCertificate = .some(nil)
            $0.tls.ciphers = "B"
            $0.trust = (policy: .system, replaces: false)
        }
        let subject = try #require(SampleRequest()).subject
        let none: CertificateFiles?? = .some(nil)
        let plan = RuleSet([first, second, .named("three")]).plan(for: subject)
        #expect(plan.clientCertificate == none)
        #expect(plan.tls.minimum == nil && plan.tls.ciphers == "B")
        #expect(plan.trust == .system)
        let one = RuleSet([first]).plan(for: subject)
        #expect(one.clientCertificate == .some(.some(files)))
        #expect(one.tls.minimum == .tls13)
        let nothing = RuleSet([.named("none")]).plan(for: subject)
        #expect(nothing.trust == nil && nothing.clientCertificate == nil && nothing.tls.isEmpty)
    }

    // MARK: CONNECT

    private static let onConnect: [(String, @Sendable (inout Match) throws -> Void, Bool)] = [
        ("nothing", { _ in }, true),
        ("host", { $0.hosts = [try HostPattern("x.dev")] }, true),
        ("scheme https", { $0.schemes = [.https] }, true),
        ("scheme http", { $0.schemes = [.http] }, false),
        ("port", { $0.ports = PortSet([443...443]) }, true),
        ("CONNECT listed", { $0.methods = [.get, .connect] }, true),
        ("other methods", { $0.methods = [.get] }, false),
        ("path", { $0.paths = [try PathPattern("/**")] }, false),
        ("header", { $0.headers = [("user-agent", [])] }, false),
        ("query", { $0.query = [("q", [])] }, false),
        ("not a path", { $0.not = [try .with { $0.paths = [try PathPattern("/**")] }] }, true),
    ]

    @Test(arguments: onConnect.indices)
    func `a CONNECT is matched without path, fields and query`(index: Int) throws {
        let (question, change, expected) = Self.onConnect[index]
        let request = SampleRequest(
            .connect,
            .https,
            host: "x.dev",
            path: "",
            fields: [("User-Agent", "curl")]
        )
        let rule = Rule.named("r", try .with(change))
        #expect(try names([rule], request) == (expected ? ["r"] : []), "\(question)")
    }

    @Test func `on a CONNECT only log, timeouts and proxy act`() throws {
        let rule = Rule.named("r") {
            $0.steps = [.remove(pattern: "a")]
            $0.timeouts.connect = .seconds(1)
            $0.log.off = true
            $0.proxy = .direct
            $0.trust = (policy: .system, replaces: false)
            $0.clientCertificate = .some(nil)
            $0.tls.minimum = .tls13
        }
        let request = try #require(SampleRequest(.connect, .https, path: ""))
        let plan = RuleSet([rule]).plan(for: request.subject)
        #expect(plan.steps.isEmpty && plan.trust == nil)
        #expect(plan.clientCertificate == nil && plan.tls.isEmpty)
        #expect(plan.timeouts.connect == .seconds(1))
        #expect(plan.log.off == true)
        #expect(plan.proxy == .direct)
    }

    @Test func `a respond answers the CONNECT only if its rule tests nothing in clear`() throws {
        let request = try #require(SampleRequest(.connect, .https, path: ""))
        func status(_ match: Match) -> UInt16? {
            let rule = Rule.named("r", match) { $0.respond = CannedResponse(status: 403) }
            return RuleSet([rule]).plan(for: request.subject).respond?.status
        }
        #expect(try status(.host("x.dev")) == 403)
        #expect(status(.with { $0.methods = [.connect] }) == 403)
        let notHealth = try Match.with {
            $0.not = [try .with { $0.paths = [try PathPattern("/health")] }]
        }
        #expect(status(notHealth) == nil)
        let inside = Rule.named("inside", try .host("x.dev")) {
            $0.respond = CannedResponse(status: 200)
            $0.intercept = true
        }
        #expect(RuleSet([inside]).plan(for: request.subject).respond == nil)
        let get = try #require(SampleRequest(.get, .https))
        #expect(RuleSet([inside]).plan(for: get.subject).respond?.status == 200)
    }

    @Test func `a rule that a CONNECT cannot decide does not stop the next`() throws {
        let undecided = try Match.with {
            $0.not = [try .with { $0.paths = [try PathPattern("/health")] }]
        }
        let rules = [
            Rule.named("first", undecided) { $0.stop = true },
            .named("deny") { $0.respond = CannedResponse(status: 403) },
        ]
        let connect = try #require(SampleRequest(.connect, .https, path: ""))
        #expect(RuleSet(rules).plan(for: connect.subject).respond?.status == 403)
        #expect(try names(rules, SampleRequest()) == ["first"])
    }
}
