// Which keys of the matching rules hold, and why the others don't.

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

extension Rule {
    /// Keys whose leaves later rules replace one by one.
    package static let mergingKeys: Set<String> = ["timeouts", "log", "throttle"]

    /// Keys that apply to a CONNECT that is not intercepted.
    fileprivate static let tunnelKeys: Set<String> = ["timeouts", "log", "throttle", "proxy"]

    /// Keys without effect when lupin answers itself.
    fileprivate static let answered: Set<String> = [
        "request", "response", "retry", "cache", "trust", "validate", "redirect", "resume",
        "throttle", "cookies", "client_cert", "tls", "proxy", "stand_ins", "scrub",
    ]
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
        let name = String(key.key.prefix { $0 != "." })
        let rule = rules[key.rule]
        if name == "stop", !mayStop(key.rule, isConnect: subject.isConnect) {
            return .idle("the rule tests more than a CONNECT has, so it can't stop there")
        }
        if name == "stop" || name == "intercept" { return .holds }
        if subject.isConnect, !Rule.tunnelKeys.contains(name) {
            guard name == "respond", rule.answersConnect else {
                return .idle("does not act on a CONNECT")
            }
        }
        if plan.respond != nil, Rule.answered.contains(name) {
            return .idle("lupin answers itself")
        }
        if ["request", "response", "stand_ins"].contains(name) { return .adds }
        if name == "trust", let own = rule.trust?.policy, let holding = plan.trust,
            own.policy.acceptsAnyone, !holding.policy.acceptsAnyone
        {
            return .idle("\(own.name) never wins over \(holding.name)")
        }
        for other in later where other.rule != key.rule && other.replaces(key) {
            let isIdle = name == "trust" && plan.trust != rules[other.rule].trust?.policy
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
