// Which key of which matching rule holds in the end, and what became of the others.

/// A key of a matching rule and its part in the plan.
package struct EffectiveKey: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        /// Nothing later replaces it.
        case holds
        /// It adds to what other rules say.
        case adds
        /// A later rule has the same key: its index.
        case replaced(by: Int)
        /// It does nothing to this request, and why.
        case idle(String)
    }

    /// Index of the rule.
    package var rule: Int
    /// Such as `trust` or `timeouts.total`.
    package var key: String
    package var line: Int
    package var part: Part
}

extension Rule {
    /// Keys of which a later rule replaces only the leaves that it has.
    package static let mergingKeys: Set<String> = ["timeouts", "log", "throttle"]

    /// Keys that act on a CONNECT which is not looked into.
    fileprivate static let tunnelKeys: Set<String> = ["timeouts", "log", "throttle", "proxy"]

    /// Keys that have nothing to do where lupin answers itself.
    fileprivate static let answered: Set<String> = [
        "request", "response", "retry", "cache", "trust", "validate", "redirect", "resume",
        "throttle", "cookies", "client_cert", "tls", "proxy",
    ]
}

extension RuleSet {
    /// What becomes of every key of the rules that `plan` sums up for `subject`, rule by rule in
    /// the order of their lines.
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
        if name == "stop" || name == "intercept" { return .holds }
        let rule = rules[key.rule]
        if subject.isConnect, !Rule.tunnelKeys.contains(name) {
            guard name == "respond", rule.answersConnect else {
                return .idle("does not act on a CONNECT")
            }
        }
        if plan.respond != nil, Rule.answered.contains(name) {
            return .idle("lupin answers itself")
        }
        if name == "request" || name == "response" { return .adds }
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
    /// Whether a later key takes the place of `earlier`: the same one, or one that is a whole where
    /// the other is a leaf, as `log: off` is.
    fileprivate func replaces(_ earlier: EffectiveKey) -> Bool {
        key == earlier.key || key.hasPrefix("\(earlier.key).")
            || earlier.key.hasPrefix("\(key).")
    }
}
