// Evaluates the rules that apply to a request, and combines them.

import LupinCore

/// The rules of one file, ready for matching.
///
/// All matching rules apply, top to bottom: steps accumulate, for every other key the later rule
/// wins, and `stop: true` ends matching.
package struct RuleSet: Sendable {
    package let rules: [Rule]
    /// The tokens that this run keeps from its command, since they have a stand-in or the command
    /// is confined.
    ///
    /// Responses to requests with their credentials are scrubbed, unless a rule says otherwise.
    package var keptTokens: Set<String> = []
    /// Whether some rule tests the client's program, which costs a look-up per connection.
    package let needsProgram: Bool
    /// Whether a rule tests the path or the method, and one decides about what must not go to the
    /// wrong place.
    package let judgesTargets: Bool
    /// Whether some rule's retry policy has a budget or a circuit: then the attempts of all
    /// requests are counted.
    package let countsAttempts: Bool
    /// The rules that affect whether a CONNECT is intercepted.
    let interceptionIndex: InterceptionIndex
    private let index: RuleIndex
    /// The rules that name no host, when there are many.
    private let pathIndex: PathIndex?
    /// For each rule, its steps in a plan.
    let steps: [[PlannedStep]]
    /// The same for steps of the response.
    let responseSteps: [[PlannedStep]]

    package init(_ rules: [Rule]) {
        self.rules = rules
        needsProgram = rules.contains { $0.matches.contains(where: \.testsProgram) }
        judgesTargets = rules.contains(where: \.testsTarget) && rules.contains(where: \.judges)
        countsAttempts = rules.contains { $0.retry?.countsAttempts == true }
        index = RuleIndex(rules, at: rules.indices)
        pathIndex = PathIndex(rules, at: index.anyHost)
        interceptionIndex = InterceptionIndex(rules)
        steps = rules.enumerated().map { index, rule in
            rule.steps.map { PlannedStep(rule: index, step: $0) }
        }
        responseSteps = rules.enumerated().map { index, rule in
            rule.responseSteps.map { PlannedStep(rule: index, step: $0, isOfResponse: true) }
        }
    }

    package var isEmpty: Bool { rules.isEmpty }

    /// Whether the command must not see the credential of one of `tokens`.
    func keepsOne(of tokens: [String]) -> Bool { tokens.contains(where: keptTokens.contains) }

    /// The rules that match `subject`, in file order.
    package func matching(_ subject: MatchSubject) -> [Int] {
        if rules.isEmpty { return [] }
        let candidates = index.candidates(for: subject.host)
        return matching(subject, among: candidates.lazy.map { ($0, false) })
    }

    /// Returns the matching ones of `candidates`; certain ones are not evaluated.
    func matching(
        _ subject: MatchSubject,
        among candidates: some Collection<(rule: Int, isCertain: Bool)>
    ) -> [Int] {
        var facts = SubjectFacts()
        return matching(subject, among: candidates, &facts)
    }

    func matching(
        _ subject: MatchSubject,
        among candidates: some Collection<(rule: Int, isCertain: Bool)>,
        _ facts: inout SubjectFacts
    ) -> [Int] {
        var matched: [Int] = []
        matched.reserveCapacity(candidates.count)
        add(candidates, matching: subject, &facts, to: &matched)
        return matched
    }

    /// Adds the matching ones of `candidates`.
    func add(
        _ candidates: some Collection<(rule: Int, isCertain: Bool)>,
        matching subject: MatchSubject,
        _ facts: inout SubjectFacts,
        to matched: inout [Int]
    ) {
        for (rule, isCertain) in candidates
        where isCertain || matches(rule, subject, &facts) {
            matched.append(rule)
            if rules[rule].stop, mayStop(rule, isConnect: subject.isConnect) { break }
        }
    }

    /// The rules that may match requests for `origin`, in file order, and whether they match all;
    /// with many rules, those that depend on a path or a method are in an index.
    func candidates(
        for origin: Origin
    ) -> (rules: [(rule: Int, isCertain: Bool)], indices: [PathIndex]) {
        let named = index.naming(origin.host)
        let namedIndex = PathIndex(rules, at: named)
        let candidates = (namedIndex?.others ?? named) + (pathIndex?.others ?? index.anyHost)
        let entries: [(rule: Int, isCertain: Bool)] = RuleIndex.merged(candidates)
            .compactMap { rule in
                let matches = rules[rule].matches.filter { $0.mayMeet(origin) }
                if matches.isEmpty { return nil }
                return (rule, matches.contains(where: \.asksOnlyForTarget))
            }
        return (entries, [namedIndex, pathIndex].compactMap { $0 })
    }

    /// Combines all rules that match `subject`.
    package func plan(for subject: MatchSubject) -> Plan {
        Plan(matching(subject), of: self, isConnect: subject.isConnect)
    }

    func matches(
        _ rule: Int,
        _ subject: MatchSubject,
        _ facts: inout SubjectFacts
    ) -> Bool {
        let matches = rules[rule].matches
        // By index: a loop over the elements would copy each.
        for i in matches.indices where matches[i].holds(for: subject, &facts) { return true }
        return false
    }

    /// A rule that tests more than a CONNECT has, such as `not: {path: …}`, is not decided by the
    /// CONNECT: it must not keep a later rule from refusing the tunnel.
    func mayStop(_ rule: Int, isConnect: Bool) -> Bool {
        !isConnect || !rules[rule].testsClearText
    }
}

extension LogOverrides {
    /// Merges every leaf that `later` sets.
    mutating func merge(_ later: LogOverrides) {
        off = later.off ?? off
        level = later.level ?? level
        headers = later.headers ?? headers
    }
}
