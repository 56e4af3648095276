// Checks when a trust policy may replace that of an earlier rule, so that no pin is lost.

package import LupinCore

extension NamedTrustPolicy {
    /// Whether it replaces an earlier rule's policy: `disabled` only replaces one that accepts all.
    package func mayFollow(_ earlier: NamedTrustPolicy?) -> Bool {
        guard let earlier, policy.acceptsAnyone else { return true }
        return earlier.policy.acceptsAnyone
    }
}

/// A rule whose trust policy conflicts with that of an earlier rule.
package struct TrustReplacement: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Pins would be silently replaced (E-TRUST-5).
        case losesPins
        /// `disabled` has no effect, because the earlier policy stays.
        case isIdle
    }

    package var rule: Int
    package var earlier: Int
    package var kind: Kind
}

extension [Rule] {
    /// Finds rules whose trust policy would replace pins of an earlier rule where both can match
    /// one host, and rules whose `disabled` never wins; for each, the first earlier rule.
    package func explainTrustReplacements() -> [TrustReplacement] {
        // Two patterns can only match the same host if the fixed suffix of one is a suffix of the
        // other's. So either the later rule's hosts find the earlier rule, or vice versa.
        let earlier = indices.filter { self[$0].acceptsAnyone == false }
        let later = indices.filter { index in
            self[index].trust.map { !$0.replaces || $0.policy.policy.acceptsAnyone } ?? false
        }
        if earlier.isEmpty || later.isEmpty { return [] }
        var found: [Int: TrustReplacement] = [:]
        func note(_ rule: Int, after other: Int) {
            guard other < rule, let kind = self[rule].replacement(of: self[other]) else { return }
            if let known = found[rule] {
                guard kind == .losesPins, known.kind == .isIdle || other < known.earlier else {
                    return
                }
            }
            found[rule] = TrustReplacement(rule: rule, earlier: other, kind: kind)
        }
        let earlierIndex = RuleIndex(self, at: earlier)
        for rule in later {
            for other in earlierIndex.candidates(for: self[rule]) ?? earlier {
                if other >= rule || found[rule]?.kind == .losesPins { break }
                note(rule, after: other)
            }
        }
        let laterIndex = RuleIndex(self, at: later)
        for other in earlier {
            for rule in laterIndex.candidates(for: self[other]) ?? [] { note(rule, after: other) }
        }
        return found.values.sorted { $0.rule < $1.rule }
    }
}

extension RuleIndex {
    /// The rules whose host suffixes match those of `rule`; nil when it may match any host.
    fileprivate func candidates(for rule: Rule) -> [Int]? {
        var found: Set<Int> = []
        for match in rule.matches {
            guard let hosts = match.hosts else { return nil }
            for host in hosts {
                guard case .suffix(let suffix) = host.key else { return nil }
                found.formUnion(candidates(endingIn: suffix.span))
            }
        }
        return found.sorted()
    }
}

extension Rule {
    /// nil when the rule has no trust policy.
    fileprivate var acceptsAnyone: Bool? { trust?.policy.policy.acceptsAnyone }

    fileprivate func replacement(of earlier: Rule) -> TrustReplacement.Kind? {
        guard let trust, let before = earlier.trust?.policy, trust.policy.policy != before.policy,
            mayMeet(earlier)
        else { return nil }
        if before.policy.hasPins { return .losesPins }
        return trust.policy.policy.acceptsAnyone ? .isIdle : nil
    }
}

extension Rule {
    /// Whether both may match requests to the same origin.
    package func mayMeet(_ other: Rule) -> Bool {
        matches.contains { match in other.matches.contains { match.mayMeet($0) } }
    }
}

extension Match {
    /// Whether both may match requests to the same origin.
    fileprivate func mayMeet(_ other: Match) -> Bool {
        Self.meet(hosts, other.hosts) { $0.mayMeet($1) }
            && Self.meet(ports?.ranges, other.ports?.ranges) { $0.overlaps($1) }
            && Self.meet(schemes, other.schemes, by: ==)
    }

    /// Whether some alternative is in both; nil means everything.
    private static func meet<Element>(
        _ some: [Element]?,
        _ others: [Element]?,
        by meet: (Element, Element) -> Bool
    ) -> Bool {
        guard let some, let others else { return true }
        return some.contains { element in others.contains { meet(element, $0) } }
    }
}
