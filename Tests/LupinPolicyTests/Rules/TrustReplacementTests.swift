// Which trust policy wins, and where one would lose the pins of another.

import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

@Suite struct TrustReplacementTests {
    private static let pins = NamedTrustPolicy(
        name: "acme",
        policy: .all([
            .system(host: true), .pins(PinnedKeys([[UInt8](repeating: 1, count: 32)])),
        ])
    )
    private static let lab = NamedTrustPolicy(
        name: "lab",
        policy: .any([.system(host: true), .certificates(PinnedCertificates([[0x30]]))])
    )
    private static let revocation = NamedTrustPolicy(
        name: "strict",
        policy: .revocation(RevocationDemand())
    )
    private static let disabled = NamedTrustPolicy(name: "disabled", policy: .disabled)
    private static let lax = NamedTrustPolicy(
        name: "lax",
        policy: .any([.system(host: true), .all([.disabled])])
    )

    private func rule(
        _ name: String,
        _ host: String?,
        _ policy: NamedTrustPolicy,
        replaces: Bool = false,
        _ change: (inout Match) -> Void = { _ in }
    ) throws -> Rule {
        var match = try host.map { try Match.host($0) } ?? Match()
        change(&match)
        return .named(name, match) { $0.trust = (policy: policy, replaces: replaces) }
    }

    private func trust(_ rules: [Rule]) throws -> String? {
        try RuleSet(rules).plan(for: #require(SampleRequest()).subject).trust?.name
    }

    // MARK: What a policy is

    @Test func `what accepts anyone is seen through combinations`() {
        #expect(Self.disabled.policy.acceptsAnyone && Self.lax.policy.acceptsAnyone)
        #expect(!Self.pins.policy.acceptsAnyone && !Self.revocation.policy.acceptsAnyone)
        #expect(!TrustPolicy.all([.disabled, .system(host: true)]).acceptsAnyone)
        #expect(Self.pins.policy.hasPins && Self.lab.policy.hasPins)
        #expect(!Self.revocation.policy.hasPins && !Self.lax.policy.hasPins)
    }

    // MARK: What wins

    @Test func `the later policy wins, but disabled never does over a policy`() throws {
        let strict = try rule("strict", nil, Self.revocation)
        let system = try rule("system", nil, .system)
        let disabled = try rule("disabled", "x.dev", Self.disabled, replaces: true)
        let lax = try rule("lax", "x.dev", Self.lax)
        #expect(try trust([strict, system]) == "system")
        #expect(try trust([strict, disabled]) == "strict")
        #expect(try trust([system, lax]) == "system")
        #expect(try trust([disabled, system]) == "system")
        #expect(try trust([disabled, lax]) == "lax")
        #expect(try trust([disabled]) == "disabled")
        #expect(try trust([try rule("other", "y.dev", Self.pins)]) == nil)
    }

    // MARK: What is lost

    private func findings(_ rules: [Rule]) -> [String] {
        rules.explainTrustReplacements().map { "\($0.rule) \($0.earlier) \($0.kind)" }
    }

    @Test(arguments: [
        ("x.dev", "x.dev", true), ("x.dev", "y.dev", false), ("x.dev", "**.dev", true),
        ("**.dev", "x.dev", true), ("*.x.dev", "**.dev", true), ("*.x.dev", "a.*.dev", true),
        ("*.x.dev", "*.y.dev", false), ("a*.dev", "*b.dev", true), ("a*.dev", "b*.dev", false),
        ("x.dev", "a.x.dev", false), ("*.x.dev", "x.dev", false), ("**.x.dev", "x.dev", true),
        ("a.**.dev", "**.b.dev", true), ("/a/", "x.dev", false), ("/x/", "x.dev", true),
        ("x.dev", "/x/", true), ("/a/", "/b/", true), ("**", "x.dev", true), ("x.dev", "**", true),
        ("*", "x.dev", false), ("a-*.dev", "a-b*.dev", true), ("*a.dev", "*b.dev", false),
        ("127.0.0.1", "127.0.0.1", true), ("**.a.**.dev", "b.**.dev", true),
    ])
    func `pins are lost where both rules can match one host`(
        earlier: String,
        later: String,
        expected: Bool
    ) throws {
        let rules = [try rule("a", earlier, Self.pins), try rule("b", later, Self.lab)]
        #expect(findings(rules) == (expected ? ["1 0 losesPins"] : []))
    }

    @Test func `a rule without hosts meets every host`() throws {
        let (any, one) = (try rule("any", nil, Self.lab), try rule("one", "x.dev", Self.pins))
        #expect(findings([any, one]) == ["1 0 losesPins"])
        #expect(findings([one, any]) == ["1 0 losesPins"])
    }

    @Test func `ports and schemes keep rules apart, paths do not`() throws {
        func pair(
            _ first: (inout Match) throws -> Void,
            _ second: (inout Match) throws -> Void
        ) throws -> [String] {
            var rules = [try rule("a", "x.dev", Self.pins), try rule("b", "x.dev", Self.lab)]
            try first(&rules[0].matches[0])
            try second(&rules[1].matches[0])
            return findings(rules)
        }
        let apart = try pair(
            { $0.ports = PortSet([443...443]) },
            { $0.ports = PortSet([8443...8443, 9000...9009]) }
        )
        #expect(apart.isEmpty)
        #expect(try pair({ $0.schemes = [.https] }, { $0.schemes = [.http] }).isEmpty)
        let overlapping = try pair(
            { $0.ports = PortSet([400...500]) },
            { $0.ports = PortSet([1...443]) }
        )
        #expect(overlapping == ["1 0 losesPins"])
        let paths = try pair(
            { $0.paths = [try PathPattern("/a")] },
            { $0.paths = [try PathPattern("/b")] }
        )
        #expect(paths == ["1 0 losesPins"])
    }

    @Test func `the same policy replaces nothing, and replace is a word`() throws {
        let first = try rule("a", "x.dev", Self.pins)
        #expect(findings([first, try rule("b", "**.dev", Self.pins)]) == [])
        var renamed = Self.pins
        renamed.name = "same pins"
        #expect(findings([first, try rule("b", "**.dev", renamed)]) == [])
        #expect(findings([first, try rule("b", "x.dev", Self.lab, replaces: true)]) == [])
        #expect(
            findings([try rule("a", "x.dev", .system), try rule("b", "x.dev", Self.lab)]) == []
        )
    }

    @Test func `disabled loses pins whatever it says, and is idle after other policies`() throws {
        let pinned = try rule("a", "x.dev", Self.pins)
        let disabled = try rule("b", "x.dev", Self.disabled, replaces: true)
        #expect(findings([pinned, disabled]) == ["1 0 losesPins"])
        let strict = try rule("s", nil, Self.revocation)
        #expect(findings([strict, disabled]) == ["1 0 isIdle"])
        #expect(findings([strict, pinned, disabled]) == ["2 1 losesPins"])
        #expect(findings([disabled, strict]) == [])
        #expect(findings([disabled, try rule("lax", "x.dev", Self.lax)]) == [])
    }

    @Test func `of several pinned rules before it the first is told`() throws {
        let rules = [
            try rule("a", "**.dev", Self.pins), try rule("b", "x.dev", Self.pins),
            try rule("c", "x.dev", Self.lab), try rule("d", "y.x.dev", .system),
        ]
        #expect(findings(rules) == ["2 0 losesPins", "3 0 losesPins"])
    }

    @Test func `ten thousand pinned hosts are compared by their ends`() throws {
        let rules = try (0..<10_000).map { try rule("r\($0)", "h\($0).x.dev", Self.pins) }
        let last = try rule("last", "h9.x.dev", Self.lab)
        let time = processorTime {
            #expect(findings(rules + [last]) == ["10000 9 losesPins"])
        }
        #expect(time < .seconds(2))
    }
}
