// Caches plans, since tools send requests to the same few hosts again and again.

package import LupinCore

/// The rules that may match requests for one target, determined before any request.
package final class TargetRules {
    fileprivate struct Entry {
        let rule: Int
        /// Whether it matches every request for the target.
        let isCertain: Bool
    }

    fileprivate let owner: ObjectIdentifier
    fileprivate let entries: [Entry]
    /// Indexes of further rules, by the request's path or method.
    fileprivate let indices: [PathIndex]
    fileprivate let isCertain: Bool
    /// The plans of all requests and of all CONNECTs, when the target alone decides.
    fileprivate var plan: Plan?
    fileprivate var connectPlan: Plan?
    /// The rules that the last request other than CONNECT matched, and their plan.
    fileprivate var last: (matched: [Int], plan: Plan)?
    /// Room for the rules that a request matches.
    private var room: [Int] = []

    fileprivate init(_ entries: [Entry], _ indices: [PathIndex], of owner: PlanCache) {
        self.owner = ObjectIdentifier(owner)
        self.entries = entries
        self.indices = indices
        isCertain = indices.isEmpty && entries.allSatisfy(\.isCertain)
    }

    /// Lends the room, empty; it comes back by `putRoom`.
    fileprivate func takeRoom() -> [Int] {
        var taken: [Int] = []
        swap(&taken, &room)
        taken.removeAll(keepingCapacity: true)
        return taken
    }

    fileprivate func putRoom(_ matched: consuming [Int]) { room = matched }
}

/// The plans that one worker used recently, by their rules.
///
/// With twenty matching rules, making a plan costs more than forwarding the request.
package final class PlanCache {
    private struct Key: Hashable {
        let matched: [Int]
        let isConnect: Bool
    }

    /// The maximum number of plans; when it is reached all are dropped.
    private static let countMax = 256

    private let rules: RuleSet
    private var plans: [Key: Plan] = [:]

    package init(_ rules: RuleSet) { self.rules = rules }

    /// The plan of all rules that match `subject`, a request for `origin`; nil when none matches.
    ///
    /// `known` caches the rules for the target between calls, and is updated.
    package func plan(
        for subject: MatchSubject,
        at origin: Origin,
        known: inout TargetRules?
    ) -> Plan? {
        let target = rules(for: origin, known)
        known = target
        if target.entries.isEmpty, target.indices.isEmpty { return nil }
        if let plan = subject.isConnect ? target.connectPlan : target.plan { return plan }
        var matched = target.takeRoom()
        match(subject, at: target, &matched)
        let plan = plan(of: matched, subject, at: target)
        target.putRoom(matched)
        return plan
    }

    private func plan(of matched: [Int], _ subject: MatchSubject, at target: TargetRules) -> Plan? {
        if matched.isEmpty { return nil }
        if !subject.isConnect, let last = target.last, last.matched == matched { return last.plan }
        let plan = plan(of: matched, isConnect: subject.isConnect)
        if !subject.isConnect { target.last = (matched, plan) }
        guard target.isCertain else { return plan }
        if subject.isConnect { target.connectPlan = plan } else { target.plan = plan }
        return plan
    }

    private func match(
        _ subject: MatchSubject,
        at target: TargetRules,
        _ matched: inout [Int]
    ) {
        let entries = target.entries.lazy.map { (rule: $0.rule, isCertain: $0.isCertain) }
        var facts = SubjectFacts()
        var found: [Int] = []
        for index in target.indices { index.addCandidates(for: subject, &facts, to: &found) }
        if found.isEmpty {
            return rules.add(entries, matching: subject, &facts, to: &matched)
        }
        let all = entries + RuleIndex.merged(found).map { (rule: $0, isCertain: false) }
        let sorted = all.sorted { $0.rule < $1.rule }
        rules.add(sorted, matching: subject, &facts, to: &matched)
    }

    private func rules(for origin: Origin, _ known: TargetRules?) -> TargetRules {
        if let known, known.owner == ObjectIdentifier(self) { return known }
        let candidates = rules.candidates(for: origin)
        let entries = candidates.rules.map { rule, isCertain in
            TargetRules.Entry(rule: rule, isCertain: isCertain)
        }
        return TargetRules(entries, candidates.indices, of: self)
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
