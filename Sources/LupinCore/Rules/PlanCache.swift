// Plans that are made once and used often: tools ask the same few hosts over and over.

/// What the rules say of one target before a request is looked at.
package final class TargetRules {
    fileprivate struct Entry {
        let rule: Int
        /// It matches every request for the target.
        let isCertain: Bool
    }

    fileprivate let owner: ObjectIdentifier
    fileprivate let entries: [Entry]
    fileprivate let isCertain: Bool
    /// The plans of all requests and of all CONNECTs, where the target alone decides.
    fileprivate var plan: Plan?
    fileprivate var connectPlan: Plan?

    fileprivate init(_ entries: [Entry], of owner: PlanCache) {
        self.owner = ObjectIdentifier(owner)
        self.entries = entries
        isCertain = entries.allSatisfy(\.isCertain)
    }
}

/// The plans that one worker had use for lately, by the rules that they are made of.
///
/// With twenty rules that match, making a plan costs more than forwarding the request.
package final class PlanCache {
    private struct Key: Hashable {
        let matched: [Int]
        let isConnect: Bool
    }

    /// Beyond this many all are forgotten.
    private static let countMax = 256

    private let rules: RuleSet
    private var plans: [Key: Plan] = [:]

    package init(_ rules: RuleSet) { self.rules = rules }

    /// The plan of all rules that match `subject`, a request for `origin`; nil where none does.
    ///
    /// `known` is what was worked out about the target before; it is brought up to date.
    package func plan(
        for subject: MatchSubject,
        at origin: Origin,
        known: inout TargetRules?
    ) -> Plan? {
        let target = rules(for: origin, known)
        known = target
        if target.entries.isEmpty { return nil }
        if let plan = subject.isConnect ? target.connectPlan : target.plan { return plan }
        let matched = rules.matching(
            subject,
            among: target.entries.lazy.map { ($0.rule, $0.isCertain) }
        )
        if matched.isEmpty { return nil }
        let plan = plan(of: matched, isConnect: subject.isConnect)
        guard target.isCertain else { return plan }
        if subject.isConnect { target.connectPlan = plan } else { target.plan = plan }
        return plan
    }

    private func rules(for origin: Origin, _ known: TargetRules?) -> TargetRules {
        if let known, known.owner == ObjectIdentifier(self) { return known }
        let entries = rules.candidates(for: origin).map { rule, isCertain in
            TargetRules.Entry(rule: rule, isCertain: isCertain)
        }
        return TargetRules(entries, of: self)
    }

    private func plan(of matched: [Int], isConnect: Bool) -> Plan {
        let key = Key(matched: matched, isConnect: isConnect)
        if let plan = plans[key] { return plan }
        let plan = Plan(matched, of: rules, isConnect: isConnect)
        if plans.count >= Self.countMax { plans = [:] }
        plans[key] = plan
        return plan
    }
}
