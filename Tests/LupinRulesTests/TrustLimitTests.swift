// `max_depth` of a trust policy: where it may stand, what it limits, and what is wrong with others.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct TrustLimitTests {
    private static let a = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private static let b = "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="
    private static let files = ["/etc/lupin/ca.pem": SampleFile.certificate]
    private static let pins = "pins: [\"\(a)\", \"\(b)\"]"

    private func rule(_ body: String) throws -> Rule {
        try #require(try configuration(body, files: Self.files).rules.rules.first)
    }

    private func policy(_ text: String) throws -> TrustPolicy {
        let rule = try rule("trust: {p: \(text)}\nrules: [{match: a.dev, trust: p}]")
        return try #require(rule.trust?.policy.policy)
    }

    @Test func `a limit is for every path of its policy, and alone it is system with a limit`()
        throws
    {
        let system = TrustPolicy.system(host: true)
        let keys = try policy("{\(Self.pins)}")
        #expect(try policy("{max_depth: 3}") == .limited(system, intermediatesMax: 3))
        #expect(try policy("{max_depth: 0}") == .limited(system, intermediatesMax: 0))
        #expect(
            try policy("{system: {host: false}, max_depth: 8}")
                == .limited(.system(host: false), intermediatesMax: 8)
        )
        #expect(
            try policy("{all: [system, {\(Self.pins), max_depth: 1}], max_depth: 2}")
                == .limited(
                    .all([system, .limited(keys, intermediatesMax: 1)]),
                    intermediatesMax: 2
                )
        )
        #expect(
            try policy("{any: [system], max_depth: 2}")
                == .limited(.any([system]), intermediatesMax: 2)
        )
        let grounded = TrustPolicy.all([system, .revocation(RevocationDemand())])
        #expect(
            try policy("{revocation: {}, max_depth: 2}") == .limited(grounded, intermediatesMax: 2)
        )
        #expect(
            try policy("{all: [{max_depth: 1}, revocation: {}]}")
                == .all([
                    .limited(system, intermediatesMax: 1), .revocation(RevocationDemand()),
                ])
        )
        let own = try policy(
            "{certificates: ca.pem, self_signed: true, chain: false, max_depth: 1}"
        )
        #expect(own.paths.map(\.limit) == [1])
    }

    @Test func `policies that differ in the limit share nothing`() throws {
        let one = try policy("{max_depth: 1}")
        let two = try policy("{max_depth: 2}")
        #expect(Set([one, two, .system(host: true)]).count == 3)
    }

    @Test func `a rule may have one in place`() throws {
        let limited = try rule("rules: [{match: a.dev, trust: {max_depth: 3}}]").trust
        #expect(
            limited?.policy.policy == .limited(.system(host: true), intermediatesMax: 3)
        )
        #expect(limited?.policy.name == "trust@2" && limited?.replaces == false)
        let other = try rule("rules: [{match: a.dev, trust: {max_depth: 3, replace: true}}]").trust
        #expect(other?.policy.policy == limited?.policy.policy && other?.replaces == true)
    }

    @Test(
        arguments: [
            (
                "{max_depth: 9}", "24: max_depth 9 is out of range  [E-RANGE]", "allowed: 0 to 8"
            ),
            (
                "{all: [system], max_depth: -1}", "39: max_depth -1 is out of range  [E-RANGE]",
                "allowed: 0 to 8"
            ),
            (
                "{max_depth: 999999999999999}",
                "24: max_depth 999999999999999 is out of range  [E-RANGE]", "allowed: 0 to 8"
            ),
            (
                "{max_depth: 99999999999999999999}",
                "24: \"99999999999999999999\" is not a number  [E-TYPE]",
                "write a number from 0 to 8"
            ),
            (
                "{max_depth: two}", "24: \"two\" is not a number  [E-TYPE]",
                "write a number from 0 to 8"
            ),
            ("{max_depth: }", "24: expected a number, found nothing  [E-TYPE]", "write 0"),
            (
                "{max_depth: 3, host: false}",
                "27: \"host\" does not belong to \"system\"  [E-KEY]",
                "write system: {host: false}"
            ),
            (
                "{\(pins), chain: false, max_depth: 3}",
                "145: \"max_depth\" is for paths, and the policy demands none  [E-KEY]",
                "take it out, or chain: false"
            ),
            (
                "{max_dept: 3}", "13: unknown key \"max_dept\" in \"trust\"  [E-KEY]",
                "did you mean \"max_depth\"?"
            ),
        ] as [(String, String, String?)]
    )
    func `a wrong limit is told with what to write`(text: String, first: String, hint: String?) {
        let problems = decode("trust: {p: \(text)}", files: Self.files).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:2:\(first)")
        #expect(problems.first?.hint == hint)
    }
}
