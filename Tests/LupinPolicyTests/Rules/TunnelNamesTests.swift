// Which names a tunnel may carry besides that of its CONNECT.
import LupinCore
import LupinPolicy
import Testing

struct TunnelNamesTests {
    private func objection(
        _ name: String,
        _ rules: [Rule],
        denying targets: [DeniedTarget] = [.linkLocal, .own],
        _ change: (inout Settings) throws -> Void = { _ in }
    ) throws -> String? {
        var settings = Settings()
        settings.access.denyTargets = targets
        try change(&settings)
        let connect = try #require(
            SampleRequest(.connect, .https, host: "good.test", port: 8443, path: "")
        )
        return RuleSet(rules).objection(
            to: name,
            inside: connect.subject,
            access: AccessPolicy(settings, listeners: []),
            settings: settings
        )
    }

    /// Refuses all hosts but good.test and its subdomains.
    private static func allowList() throws -> Rule {
        var match = Match()
        match.not = [try .host("good.test", "*.good.test")]
        return .named("list", match) { $0.respond = CannedResponse(status: 403) }
    }

    @Test(arguments: [
        "good.test", "GOOD.test", "good.test.", "a.good.test", "A.Good.Test.", "_x.good.test",
    ])
    func `a name that the list allows may pass`(name: String) throws {
        #expect(try objection(name, [Self.allowList()]) == nil)
    }

    @Test(arguments: [
        "evil.test", "EVIL.TEST.", "good.test.evil.test", "xn--mnchen-3ya.test", "10.0.0.1",
        "2130706433", "::1", "localhost",
    ])
    func `one that it does not is refused, by the rule's name`(name: String) throws {
        let clause = try #require(try objection(name, [Self.allowList()]))
        #expect(clause.hasPrefix("rule \"list\" (line 1) refuses "))
    }

    @Test(arguments: [
        "", ".", "good.test..", "a..good.test", "%67ood.test", "[::1]", "*.good.test", "good test",
        "good.test:443", "a/good.test", String(repeating: "a", count: 64) + ".good.test",
        String(repeating: "a.", count: 127) + "test", "1.2.3.4.5", "g\u{F6}\u{D6}d.test\0",
    ])
    func `what is no host name is refused`(name: String) throws {
        #expect(try objection(name, [Self.allowList()]) == "that is no host name")
    }

    @Test func `denied targets are denied as names, too`() throws {
        let evil = DeniedTarget.host(try HostPattern("*.evil.test"))
        #expect(try objection("a.evil.test", [], denying: [evil])?.contains("deny_targets") == true)
        #expect(try objection("other.test", [], denying: [evil]) == nil)
        #expect(try objection("169.254.169.254", [])?.contains("deny_targets") == true)
    }

    @Test func `a rule that answers inside keeps its host out, one that changes does not`() throws {
        var path = try Match.host("api.test")
        path.paths = [try PathPattern("/mock")]
        let mock = Rule.named("mock", path) { $0.respond = CannedResponse(status: 200) }
        let step = Rule.named("step", try .host("api.test")) { $0.steps = [.remove(pattern: "a")] }
        let clause = try #require(try objection("api.test", [mock]))
        #expect(clause.hasSuffix("answers requests to api.test, and a tunnel would go around it"))
        #expect(try objection("other.test", [mock]) == nil)
        #expect(try objection("api.test", [step]) == nil)
        // What is tunnelled in any case may be tunnelled here.
        #expect(try objection("api.test", [mock]) { $0.intercept.mode = .none } == nil)
        let pattern = try HostPattern("api.test")
        #expect(try objection("api.test", [mock]) { $0.intercept.except = [pattern] } == nil)
    }

    @Test func `port, client and user are those of the CONNECT`() throws {
        var match = Match()
        match.ports = PortSet([8443...8443])
        let port = Rule.named("port", match) { $0.respond = CannedResponse(status: 403) }
        #expect(try objection("evil.test", [port]) != nil)
        match.ports = PortSet([443...443])
        let other = Rule.named("other", match) { $0.respond = CannedResponse(status: 403) }
        #expect(try objection("evil.test", [other]) == nil)
    }

    @Test func `only files that refuse judge names`() throws {
        #expect(try RuleSet([Self.allowList()]).judgesNames)
        #expect(!RuleSet([.named("a") { $0.steps = [.remove(pattern: "a")] }]).judgesNames)
        var settings = Settings()
        #expect(!AccessPolicy(settings, listeners: []).judgesNames)
        settings.access.ech = .refuse
        #expect(AccessPolicy(settings, listeners: []).judgesNames)
        settings.access.ech = .any
        settings.access.denyTargets = [.host(try HostPattern("*.evil.test"))]
        #expect(AccessPolicy(settings, listeners: []).judgesNames)
    }
}
