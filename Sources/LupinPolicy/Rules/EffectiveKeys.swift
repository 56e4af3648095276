// Which keys of the matching rules hold, and why the others don't.

import LupinCore

/// A key of a matching rule and its part in the plan.
package struct EffectiveKey: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        /// No later rule replaces it.
        case holds
        /// It adds to other rules.
        case adds
        /// A rule with this index has the same key and replaces it.
        case replaced(by: Int)
        /// It has no effect on this request, for this reason.
        case idle(String)
    }

    /// Index of the rule.
    package var rule: Int
    /// For example `trust` or `timeouts.total`.
    package var key: String
    package var line: Int
    package var part: Part
}

extension RuleSet {
    /// The part of every key of the rules in `plan` for `subject`, rule by rule in the order of
    /// their lines.
    package func effectiveKeys(of plan: Plan, for subject: MatchSubject) -> [EffectiveKey] {
        var keys: [EffectiveKey] = []
        for index in plan.matched {
            let lines = rules[index].keyLines.filter { $0.key != "match" }
            for (key, line) in lines.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
                let part = EffectiveKey.Part.holds
                keys.append(EffectiveKey(rule: index, key: key, line: line, part: part))
            }
        }
        for i in keys.indices {
            keys[i].part = part(of: keys[i], among: keys[(i + 1)...], plan, subject)
        }
        return keys
    }

    private func part(
        of key: EffectiveKey,
        among later: ArraySlice<EffectiveKey>,
        _ plan: Plan,
        _ subject: MatchSubject
    ) -> EffectiveKey.Part {
        guard let name = RuleKey(rawValue: String(key.key.prefix { $0 != "." })) else {
            return .holds
        }
        let row = name.row
        let rule = rules[key.rule]
        if name == .stop, !mayStop(key.rule, isConnect: subject.isConnect) {
            return .idle("the rule tests more than a CONNECT has, so it can't stop there")
        }
        if row.together == .stands { return .holds }
        if subject.isConnect {
            let acts =
                switch row.onConnect {
                case .acts: true
                case .answers: rule.answersConnect
                case .inside: false
                }
            if !acts { return .idle("does not act on a CONNECT") }
        }
        let delays = name == .request && StepTraits(rule.steps).delay != nil
        if plan.respond != nil, row.isUpstream, !delays { return .idle("lupin answers itself") }
        if row.together == .adds { return .adds }
        if name == .trust, let own = rule.trust?.policy, let holding = plan.trust,
            own.policy.acceptsAnyone, !holding.policy.acceptsAnyone
        {
            return .idle("\(own.name) never wins over \(holding.name)")
        }
        for other in later where other.rule != key.rule && other.replaces(key) {
            let isIdle = name == .trust && plan.trust != rules[other.rule].trust?.policy
            if !isIdle { return .replaced(by: other.rule) }
        }
        return .holds
    }
}

extension EffectiveKey {
    /// Whether a later key replaces `earlier`: the same key, or one that is a whole while the other
    /// is a leaf, such as `log: off`.
    fileprivate func replaces(_ earlier: EffectiveKey) -> Bool {
        key == earlier.key || key.hasPrefix("\(earlier.key).")
            || earlier.key.hasPrefix("\(key).")
    }
}
