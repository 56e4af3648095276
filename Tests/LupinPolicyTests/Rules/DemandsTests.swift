// What each key of a rule asks of an exchange: one whose plan asks for little needs no task.

import LupinCore
import LupinPolicy
import Testing

@Suite struct DemandsTests {
    /// The demands of the plan of one rule that matches everything.
    private static func demands(
        isConnect: Bool = false,
        _ change: (inout Rule) throws -> Void
    ) throws -> Demands {
        var rule = Rule.named("r")
        try change(&rule)
        let method: Method = isConnect ? .connect : .get
        return RuleSet([rule]).plan(for: try #require(SampleRequest(method)).subject).demands
    }

    private static func demands(of step: RequestStep) throws -> Demands {
        try demands { $0.steps = [step] }
    }

    private static func retry(_ change: (inout RetryPolicy) -> Void) throws -> Demands {
        try demands { rule in
            var policy = RetryPolicy.safe
            change(&policy)
            rule.retry = policy
        }
    }

    @Test func `steps that need nothing from elsewhere are applied at once`() throws {
        for step in [
            RequestStep.set(name: "X-A", value: Template([.text("1")])),
            .add(name: "X-A", value: Template([.header("host")])), .remove(pattern: "x-*"),
            .default(name: "X-A", value: Template([.id])),
            .set(name: "X-A", value: Template([.secret("s")])),
        ] {
            #expect(try Self.demands(of: step) == .adapting)
            #expect(try Self.demands(of: step).isDisjoint(with: .needTask))
        }
    }

    @Test func `credentials are presented, and delays are waited for`() throws {
        let asked: Demands = [.adapting, .presenting, .repeating]
        #expect(try Self.demands(of: .auth(token: "github")) == asked)
        let named = RequestStep.set(name: "X-A", value: Template([.token("github")]))
        #expect(try Self.demands(of: named) == asked)
        #expect(try Self.demands(of: .delay(.seconds(1))) == [.adapting, .waiting])
    }

    @Test func `each key asks for what it does and for no more`() throws {
        #expect(try Self.demands { _ in } == [])
        #expect(try Self.demands { $0.cache = .some(CachePolicy(name: "standard")) } == .storing)
        #expect(try Self.demands { $0.respond = CannedResponse(status: 403) } == .answering)
        #expect(try Self.demands { $0.flags[.resume] = true } == .resuming)
        #expect(try Self.demands { $0.cookieJar = .some("/jar") } == [.adapting, .judging])
        #expect(try Self.demands { $0.log.off = true } == [])
        #expect(try Self.demands { $0.timeouts.total = .some(.seconds(1)) } == [])
        #expect(try Self.demands { $0.intercept = true } == [])
        #expect(try Self.demands { $0.responseSteps = [.remove(pattern: "server")] } == [])
        #expect(try Self.retry { $0.perTry = .seconds(1) } == .racing)
        #expect(try Self.retry { _ in } == [])
    }

    @Test func `what a later rule takes back is asked for no more`() throws {
        let on = Rule.named("on") { $0.cache = .some(CachePolicy(name: "standard")) }
        let off = Rule.named("off") { $0.cache = .some(nil) }
        let subject = try #require(SampleRequest()).subject
        #expect(RuleSet([on, off]).plan(for: subject).demands == [])
        #expect(RuleSet([off, on]).plan(for: subject).demands == .storing)
    }

    @Test func `on a CONNECT the keys for what is inside ask for nothing`() throws {
        let demands = try Self.demands(isConnect: true) { rule in
            rule.steps = [.auth(token: "github")]
            rule.cache = .some(CachePolicy(name: "standard"))
            rule.flags[.resume] = true
        }
        #expect(demands == [])
    }
}
