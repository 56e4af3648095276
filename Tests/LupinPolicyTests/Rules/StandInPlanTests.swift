// What `stand_ins` and `scrub` demand of everything around a request.
import LupinCore
import LupinPolicy
import Testing

struct StandInPlanTests {
    private func plan(_ change: (inout Rule) -> Void) throws -> (Plan, RuleSet) {
        let rules = RuleSet([Rule.named("a", Match(), change)])
        let request = try #require(SampleRequest(.get, .https, host: "a.test"))
        return (rules.plan(for: request.subject), rules)
    }

    @Test func `a request that may exchange a stand-in is the owner's, as with auth`() throws {
        let (plan, rules) = try plan { $0.standIns = ["github"] }
        let origin = Origin(scheme: .https, host: try #require(Host("a.test")), port: 443)
        #expect(plan.standIns == ["github"])
        #expect(plan.isForOwner(at: origin, isConnect: false, defaultCertificate: nil))
        #expect(plan.attachments == [.token("github")])
        #expect(plan.demands == [.adapting, .presenting, .repeating])
        #expect(rules.rules[0].clearTextNeed(of: .standIns) == .demand)
        let token = TokenDefinition(name: "github", line: 1, source: .bearer(SecretText("s")))
        #expect(rules.refusal(of: token, at: origin, isProtected: true) == nil)
        let plain = Origin(scheme: .http, host: origin.host, port: 80)
        let refusal = rules.refusal(of: token, at: plain, isProtected: false)
        #expect(refusal?.contains("in clear; tokens.github") == true)
        let attachments = Attachments(
            of: plan,
            defaultCertificate: nil,
            at: origin,
            by: nil,
            version: "1"
        )
        #expect(attachments.partition.hasPrefix("token github\n"))
        #expect(attachments.storing == .asAuthenticated)
    }

    @Test func `auth exchanges the stand-in of its own token`() throws {
        let (plan, _) = try plan {
            $0.steps = [.auth(token: "github")]
            $0.standIns = ["nexus", "github"]
        }
        #expect(plan.standIns == ["github", "nexus"])
    }

    @Test func `scrub wants whole bodies in clear, in codings that can be undone`() throws {
        let (plan, rules) = try plan { $0.flags[.scrub] = true }
        #expect(plan.scrubs && plan.readsResponses && plan.changesResponses)
        #expect(plan.demands == [.adapting, .scrubbing])
        #expect(rules.rules[0].clearTextNeed(of: .scrub) == .demand)
        var exchanging = RuleSet([.named("a", Match()) { $0.standIns = ["github"] }])
        let request = try #require(SampleRequest(.get, .https, host: "a.test"))
        #expect(!exchanging.plan(for: request.subject).scrubs)
        exchanging.keptTokens = ["github"]
        #expect(exchanging.plan(for: request.subject).scrubs)
        let (off, others) = try self.plan { $0.flags[.scrub] = false }
        #expect(!off.scrubs && off.demands == [])
        #expect(others.rules[0].clearTextNeed(of: .scrub) == .none)
    }
}
