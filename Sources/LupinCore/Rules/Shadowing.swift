// Which rules can never match because an earlier one with `stop: true` takes all they could.

extension RuleSet {
    /// How many pairs of rules are compared at most; beyond that the warning is given up.
    ///
    /// Rules with hosts are compared only where their hosts may meet, and never come near.
    private static let comparisonsMax = 1_000_000

    /// Rules that can never match, and the earlier rule that hides each (E-SHADOW).
    ///
    /// Only what is seen key by key counts: that a rule is missing here proves nothing.
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
        // Undecided by a CONNECT it does not stop there, where the other may still act.
        if testsClearText, other.matches.contains(where: \.mayHoldForConnect) { return false }
        return !other.matches.isEmpty
            && other.matches.allSatisfy { match in
                matches.contains { $0.provablyContains(match) }
            }
    }
}

extension Match {
    fileprivate var mayHoldForConnect: Bool {
        !testsInsideTunnel && methods.map { $0.contains(.connect) } ?? true
    }

    /// Whether everything that `other` matches is matched by this one too, key by key.
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

    /// Whether each alternative of `inner` lies in one of `outer`; nil is everything.
    private static func covers<Element>(
        _ outer: [Element]?,
        _ inner: [Element]?,
        by contains: (Element, Element) -> Bool
    ) -> Bool {
        guard let outer else { return true }
        guard let inner else { return false }
        return inner.allSatisfy { element in outer.contains { contains($0, element) } }
    }

    /// Whether whatever has all of `inner` has all of `outer`.
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
