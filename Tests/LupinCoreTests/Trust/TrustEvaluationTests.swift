// That each evaluator and each combination of them judges as Alamofire's do.

import LupinCore
import LupinTestKit
import Testing

struct TrustEvaluationTests {
    private struct Sample: Sendable {
        var policy: TrustPolicy
        var trust: ScriptedTrust
        /// Nil passes.
        var problem: TrustProblem.Kind?

        init(
            _ policy: TrustPolicy,
            _ trust: ScriptedTrust = ScriptedTrust(),
            _ problem: TrustProblem.Kind? = nil
        ) {
            self.policy = policy
            self.trust = trust
            self.problem = problem
        }
    }

    private static let single: [Sample] = [
        Sample(.system(host: true)), Sample(.system(host: true), .noPath, .chain),
        Sample(.system(host: true), .otherHost, .host), Sample(.system(host: false), .otherHost),
        Sample(.system(host: false), .noPath, .chain),
        Sample(.system(host: true), .constrained, .constraint),
        Sample(.system(host: false), .constrained),

        Sample(pins(1)), Sample(pins(2)), Sample(pins(3)), Sample(pins(7, 2)),
        Sample(pins(7), ScriptedTrust(), .pin), Sample(pins(9), ScriptedTrust(), .pin),
        Sample(pins(1), .noPath, .chain), Sample(pins(1), .otherHost, .host),
        Sample(pins(1), .constrained, .constraint), Sample(pins(1, host: false), .constrained),
        Sample(pins(1, chain: false), .constrained),
        Sample(pins(1, host: false), .otherHost), Sample(pins(1, chain: false), .noPath),
        Sample(pins(2, chain: false), .noPath), Sample(pins(9, chain: false), .noPath, .pin),
        Sample(pins(3, chain: false), ScriptedTrust(), .pin),
        Sample(pins(1, chain: false), .otherHost, .host),

        Sample(certificates(1)), Sample(certificates(3)), Sample(certificates(8, 2)),
        Sample(certificates(9), ScriptedTrust(), .pin), Sample(certificates(1), .noPath, .chain),
        Sample(certificates(1), .otherHost, .host),
        Sample(certificates(1, host: false), .otherHost),
        Sample(certificates(1), .constrained, .constraint),
        Sample(certificates(1, host: false), .constrained),
        Sample(certificates(2, chain: false), .noPath),
        Sample(certificates(9, chain: false), .noPath, .pin),
        Sample(certificates(2, areAnchors: true), ScriptedTrust(), .chain),
        Sample(
            certificates(2, areAnchors: true),
            ScriptedTrust(paths: [.only([[2]]): [fact(1), fact(2)]])
        ),
        Sample(
            certificates(2, chain: false, areAnchors: true),
            ScriptedTrust(),
            .chain
        ),

        Sample(revocation()), Sample(revocation(isRequired: true)),
        Sample(revocation(), .noPath, .chain),
        Sample(revocation(), ScriptedTrust(finding: .unknown("away"))),
        Sample(
            revocation(isRequired: true),
            ScriptedTrust(finding: .unknown("away")),
            .revocation
        ),
        Sample(
            revocation(),
            ScriptedTrust(finding: .revoked(TrustProblem(.revoked, "Withdrawn."))),
            .revoked
        ),

        Sample(.limited(.system(host: true), intermediatesMax: 1)),
        Sample(.limited(.system(host: true), intermediatesMax: 0), ScriptedTrust(), .chain),
        Sample(
            .limited(.limited(.system(host: true), intermediatesMax: 0), intermediatesMax: 1),
            ScriptedTrust(),
            .chain
        ),
        Sample(
            .limited(.limited(.system(host: true), intermediatesMax: 1), intermediatesMax: 0),
            ScriptedTrust(),
            .chain
        ),
        Sample(.limited(.all([pins(1)]), intermediatesMax: 0), ScriptedTrust(), .chain),
        Sample(.limited(certificates(1), intermediatesMax: 0), ScriptedTrust(), .chain),
        Sample(.limited(revocation(), intermediatesMax: 0), ScriptedTrust(), .chain),
        Sample(.limited(.any([pins(1, chain: false)]), intermediatesMax: 0)),

        Sample(.disabled, ScriptedTrust(paths: [:], name: ScriptedTrust.wrongName)),
    ]

    @Test(arguments: single)
    private func `an evaluator passes or tells why not`(sample: Sample) {
        let verdict = sample.policy.evaluate(sample.trust)
        #expect(verdict.passed == (sample.problem == nil))
        #expect(verdict.problem?.kind == sample.problem)
        #expect(verdict.checks.count == 1 && verdict.checks.first?.passed == verdict.passed)
        #expect(verdict.pending.isEmpty && !verdict.awaitsStaple)
    }

    @Test func `the pin that matched is told, the leaf's before the root's`() {
        let verdict = pins(3, 1).evaluate(ScriptedTrust())
        #expect(verdict.checks.first?.match == PinText.text(fact(1).keyDigest))
        #expect(verdict.checks.first?.match?.hasPrefix("sha256/AQEB") == true)
    }

    @Test func `what could not be found out is noted`() throws {
        let verdict = revocation().evaluate(ScriptedTrust(finding: .unknown("they are away")))
        #expect(verdict.checks.first?.note == "they are away")
        let failed = revocation(isRequired: true).evaluate(
            ScriptedTrust(finding: .unknown("they are away"))
        )
        #expect(
            failed.problem?.sentence
                == "Whether the certificate was withdrawn is unknown: they are away."
        )
    }

    @Test func `all must pass, each is told, and the first failure is the reason`() {
        let trust = ScriptedTrust.otherHost
        let policy = TrustPolicy.all([
            .system(host: false), pins(7, host: false), .system(host: true), .disabled,
        ])
        let verdict = policy.evaluate(trust)
        #expect(!verdict.passed && verdict.problem?.kind == .pin)
        #expect(verdict.checks.map(\.name) == ["system", "pins", "system", "disabled"])
        #expect(verdict.checks.map(\.passed) == [true, false, false, true])
    }

    @Test func `one of any is enough, each is told, and the first failure is the reason`() {
        let good = TrustPolicy.any([pins(7), .system(host: true)]).evaluate(ScriptedTrust())
        #expect(good.passed && good.problem == nil)
        #expect(good.checks.map(\.passed) == [false, true])
        let bad = TrustPolicy.any([pins(7), .system(host: true)]).evaluate(ScriptedTrust.otherHost)
        #expect(!bad.passed && bad.problem?.kind == .host)
        #expect(bad.checks.count == 2)
    }

    @Test func `combinations may be nested`() {
        let policy = TrustPolicy.all([
            .any([pins(7), .all([.system(host: true), pins(2)])]), certificates(3),
        ])
        let verdict = policy.evaluate(ScriptedTrust())
        #expect(verdict.passed)
        #expect(verdict.checks.map(\.name) == ["pins", "system", "pins", "certificates"])
    }

    @Test func `any of nothing fails`() {
        #expect(!TrustPolicy.any([]).evaluate(ScriptedTrust()).passed)
    }

    @Test func `revocation may follow the path to pinned anchors`() {
        let trust = ScriptedTrust(paths: [.only([[2]]): [fact(1), fact(2)]])
        let anchors = certificates(2, areAnchors: true)
        #expect(TrustPolicy.all([revocation(), anchors]).evaluate(trust).passed)
        #expect(TrustPolicy.all([anchors, .any([revocation()])]).evaluate(trust).passed)
        #expect(!revocation().evaluate(trust).passed)
    }

    @Test func `revocation follows the paths that the policy demands, then any`() {
        let own = certificates(2, host: false, areAnchors: true)
        let paths = TrustPolicy.all([.any([own, pins(1)]), pins(1, chain: false)]).paths
        let expected = [TrustPathDemand(.only([[2]]), isForHost: false), .configured]
        #expect(paths == expected)
        let demand = TrustPolicy.all([pins(1, chain: false), revocation()])
        #expect(demand.paths.isEmpty)
        #expect(demand.evaluate(ScriptedTrust.constrained).passed)
        #expect(!demand.evaluate(ScriptedTrust.noPath).passed)
    }

    @Test func `a limit is for the part of a policy that it stands beside`() {
        let short = TrustPolicy.limited(.system(host: true), intermediatesMax: 0)
        let verdict = TrustPolicy.any([short, pins(1)]).evaluate(ScriptedTrust())
        #expect(verdict.passed && verdict.checks.map(\.passed) == [false, true])
        let either = TrustPolicy.any([short, .limited(pins(1), intermediatesMax: 2)])
        #expect(either.paths.map(\.limit) == [0, 2])
        #expect(TrustPolicy.limited(either, intermediatesMax: 1).paths.map(\.limit) == [0, 1])
    }

    @Test func `a limit hides no pins and makes no policy of disabled`() {
        #expect(TrustPolicy.limited(pins(1), intermediatesMax: 1).hasPins)
        #expect(TrustPolicy.limited(.any([.disabled]), intermediatesMax: 1).acceptsAnyone)
        #expect(!TrustPolicy.limited(.system(host: true), intermediatesMax: 1).acceptsAnyone)
    }

    // MARK: Verdicts that don't stand yet

    private static let query = RevocationQuery(kind: .ocsp, url: "http://ocsp.example/")

    @Test func `a verdict that waits for answers says which`() {
        let trust = ScriptedTrust(finding: .pending([Self.query]))
        let verdict = TrustPolicy.all([.system(host: true), revocation()]).evaluate(trust)
        #expect(verdict.passed && verdict.pending == [Self.query])
    }

    @Test func `what failed already waits for nothing`() {
        for finding in [RevocationFinding.pending([Self.query]), .awaitsStaple] {
            let verdict = TrustPolicy.all([revocation(), pins(7)]).evaluate(
                ScriptedTrust(finding: finding)
            )
            #expect(!verdict.passed && verdict.pending.isEmpty && !verdict.awaitsStaple)
        }
    }

    @Test func `any waits only if nothing passed for good`() {
        for finding in [RevocationFinding.pending([Self.query]), .awaitsStaple] {
            let trust = ScriptedTrust(finding: finding)
            let decided = TrustPolicy.any([revocation(), .system(host: true)]).evaluate(trust)
            #expect(decided.passed && decided.pending.isEmpty && !decided.awaitsStaple)
            let waiting = TrustPolicy.any([pins(7), revocation()]).evaluate(trust)
            #expect(waiting.passed && waiting.problem == nil)
            #expect(waiting.awaitsStaple || waiting.pending == [Self.query])
        }
    }

    @Test func `a verdict may wait for the stapled response`() {
        let trust = ScriptedTrust(finding: .awaitsStaple)
        let verdict = TrustPolicy.all([.system(host: true), revocation()]).evaluate(trust)
        #expect(verdict.passed && verdict.awaitsStaple && verdict.pending.isEmpty)
    }

    // MARK: Records

    @Test func `the record has the leaf's pin, whether it failed or passed`() {
        let leaf = fact(1)
        let failed = TrustRecord(
            policy: "acme",
            verdict: pins(7).evaluate(ScriptedTrust()),
            leaf: leaf
        )
        #expect(failed.verdict == .fail && failed.leaf == PinText.text(leaf.keyDigest))
        #expect(failed.notAfter == 1 && failed.checks.count == 1)
        let passed = TrustRecord(
            policy: "acme",
            verdict: pins(1).evaluate(ScriptedTrust()),
            leaf: leaf
        )
        #expect(passed.verdict == .pass && passed.leaf == failed.leaf && passed.notAfter == 1)
    }

    @Test func `nothing judged is a failure, and nothing checked is disabled`() {
        #expect(TrustRecord(policy: "acme", verdict: nil, leaf: nil).verdict == .fail)
        let disabled = TrustPolicy.disabled.evaluate(ScriptedTrust())
        #expect(TrustRecord(policy: "d", verdict: disabled, leaf: nil).verdict == .disabled)
        let either = TrustPolicy.any([.system(host: true), .disabled])
        let unchecked = either.evaluate(ScriptedTrust.noPath)
        #expect(TrustRecord(policy: "e", verdict: unchecked, leaf: nil).verdict == .disabled)
        let both = TrustPolicy.all([.system(host: true), .disabled]).evaluate(ScriptedTrust())
        #expect(TrustRecord(policy: "b", verdict: both, leaf: nil).verdict == .pass)
    }
}
