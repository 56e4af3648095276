// Finds rules that can never match because of an earlier one with `stop: true`.

import LupinCore

extension RuleSet {
    /// The maximum number of pairs of rules to compare; beyond it, no more warnings are found.
    ///
    /// Rules with hosts are only compared when their hosts may overlap, and stay far below it.
    private static let comparisonsMax = 1_000_000

    /// Rules that can never match, and the earlier rule that hides each (E-SHADOW).
    ///
    /// Only key-by-key proofs count, so the absence of a rule proves nothing.
    package func explainShadowing() -> [(rule: Int, hiddenBy: Int)] {
        let stopping = RuleIndex(rules, at: rules.indices.filter { rules[$0].stop })
        var hidden: [(rule: Int, hiddenBy: Int)] = []
        var comparisons = 0
        for (index, rule) in rules.enumerated() {
            for candidate in stopping.candidates(hiding: rule) {
                guard candidate < index else { break }
                comparisons += 1
                if rules[candidate].provablyTakesAll(of: rule) {
                    hidden.append((rule: index, hiddenBy: candidate))
                    break
                }
            }
            if comparisons > Self.comparisonsMax { break }
        }
        return hidden
    }
}

extension RuleIndex {
    /// The rules that may match every host that `rule` does.
    fileprivate func candidates(hiding rule: Rule) -> [Int] {
        guard case .suffix(let suffix)? = rule.matches.first?.hosts?.first?.key else {
            return anyHost
        }
        return candidates(endingIn: suffix.span)
    }
}

extension Rule {
    fileprivate func provablyTakesAll(of other: Rule) -> Bool {
        // A rule that a CONNECT does not decide does not stop there, so the other may still apply.
        if testsClearText, other.matches.contains(where: \.mayHoldForConnect) { return false }
        return provablyContains(other)
    }

    /// Whether the rule provably matches whatever `other` does.
    func provablyContains(_ other: Rule) -> Bool {
        !other.matches.isEmpty && other.matches.allSatisfy(provablyContains)
    }

    func provablyContains(_ match: Match) -> Bool {
        matches.contains { $0.provablyContains(match) }
    }
}

extension Match {
    fileprivate var mayHoldForConnect: Bool {
        !testsInsideTunnel && methods.map { $0.contains(.connect) } ?? true
    }

    /// Whether this match provably holds whenever `other` does, key by key.
    fileprivate func provablyContains(_ other: Match) -> Bool {
        Self.covers(hosts, other.hosts) { $0.provablyContains($1) }
            && Self.covers(schemes, other.schemes, by: ==)
            && Self.covers(ports?.ranges, other.ports?.ranges) {
                $0.lowerBound <= $1.lowerBound && $1.upperBound <= $0.upperBound
            }
            && Self.covers(paths, other.paths) { $0.provablyContains($1) }
            && Self.covers(methods, other.methods, by: ==)
            && Self.covers(clients, other.clients) { $0.contains($1) }
            && Self.covers(programs, other.programs) { $0.provablyContains($1) }
            && Self.covers(users, other.users) { $0.provablyContains($1) }
            && Self.covers(headers, other.headers)
            && Self.covers(query, other.query)
            && not.allSatisfy { excluded in
                other.not.contains { $0.provablyContains(excluded) }
            }
    }

    /// Whether each alternative of `inner` is within one of `outer`; nil means everything.
    private static func covers<Element>(
        _ outer: [Element]?,
        _ inner: [Element]?,
        by contains: (Element, Element) -> Bool
    ) -> Bool {
        guard let outer else { return true }
        guard let inner else { return false }
        return inner.allSatisfy { element in outer.contains { contains($0, element) } }
    }

    /// Whether all that satisfies `inner` satisfies `outer`.
    private static func covers(
        _ outer: [(name: String, values: [ValuePattern])],
        _ inner: [(name: String, values: [ValuePattern])]
    ) -> Bool {
        outer.allSatisfy { wanted in
            inner.contains { given in
                given.name == wanted.name
                    && (wanted.values.isEmpty
                        || (!given.values.isEmpty
                            && covers(wanted.values, given.values) { $0.provablyContains($1) }))
            }
        }
    }
}

extension CIDR {
    fileprivate func contains(_ other: CIDR) -> Bool {
        prefix <= other.prefix && contains(other.address)
    }
}
