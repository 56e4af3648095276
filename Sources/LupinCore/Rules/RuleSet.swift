// Which rules apply to a request, and what they say together.

/// The rules of one file, ready to be asked.
///
/// All matching rules apply, top to bottom: steps add up, for everything else the later rule wins,
/// and `stop: true` ends matching.
package struct RuleSet: Sendable {
    package let rules: [Rule]
    /// Whether some rule tests the client's program, which costs a look-up per connection.
    package let needsProgram: Bool
    /// What decides whether a CONNECT is intercepted.
    let interceptionIndex: InterceptionIndex
    private let index: RuleIndex
    /// What there is to know about the steps of each rule besides what they do to a request.
    private let traits: [StepTraits]
    /// For each rule the steps it gives to a plan.
    private let steps: [[(rule: Int, step: RequestStep)]]

    package init(_ rules: [Rule]) {
        self.rules = rules
        needsProgram = rules.contains { $0.matches.contains(where: \.testsProgram) }
        index = RuleIndex(rules, at: rules.indices)
        interceptionIndex = InterceptionIndex(rules)
        traits = rules.map { StepTraits($0.steps) }
        steps = rules.enumerated().map { index, rule in
            rule.steps.map { (rule: index, step: $0) }
        }
    }

    package var isEmpty: Bool { rules.isEmpty }

    /// What all rules that match `subject` say together.
    package func plan(for subject: MatchSubject) -> Plan {
        if rules.isEmpty { return .none }
        let candidates = index.candidates(for: subject.host.text.utf8.span)
        if candidates.isEmpty { return .none }
        var plan = Plan.none
        var facts = SubjectFacts()
        for candidate in candidates where matches(candidate, subject, &facts) {
            if plan.matched.isEmpty { plan.rules = rules }
            apply(candidate, to: &plan, isConnect: subject.isConnect)
            if rules[candidate].stop, mayStop(candidate, isConnect: subject.isConnect) { break }
        }
        return plan
    }

    private func matches(
        _ rule: Int,
        _ subject: MatchSubject,
        _ facts: inout SubjectFacts
    ) -> Bool {
        for match in rules[rule].matches where match.holds(for: subject, &facts) { return true }
        return false
    }

    /// On a CONNECT only `log timeouts throttle proxy` act, and a `respond` whose rule tests
    /// nothing in clear and does not answer inside.
    private func apply(_ rule: Int, to plan: inout Plan, isConnect: Bool) {
        plan.matched.append(rule)
        plan.timeouts.merge(rules[rule].timeouts)
        plan.log.merge(rules[rule].log)
        if let proxy = rules[rule].proxy { plan.proxy = proxy }
        if let respond = rules[rule].respond, !isConnect || rules[rule].answersConnect {
            plan.respond = respond
        }
        if !rules[rule].throttle.isEmpty {
            plan.throttle.merge(rules[rule].throttle)
            plan.throttleRule = rule
        }
        if isConnect { return }
        if let validation = rules[rule].validation {
            plan.validation = validation.isEmpty ? nil : validation
        }
        if let trust = rules[rule].trust?.policy, trust.mayFollow(plan.trust) { plan.trust = trust }
        if let files = rules[rule].clientCertificate { plan.clientCertificate = .some(files) }
        if let jar = rules[rule].cookieJar { plan.cookieJar = jar }
        if !rules[rule].tls.isEmpty { plan.tls = rules[rule].tls }
        if !rules[rule].responseSteps.isEmpty { plan.responseSteps += rules[rule].responseSteps }
        if let redirect = rules[rule].redirect { plan.redirect = redirect }
        if steps[rule].isEmpty { return }
        plan.take(traits[rule])
        if plan.steps.isEmpty { plan.steps = steps[rule] } else { plan.steps += steps[rule] }
    }

    /// A rule that asks more than a CONNECT shows, `not: {path: …}` for one, is not decided by it:
    /// it must not keep a later rule from refusing the tunnel.
    private func mayStop(_ rule: Int, isConnect: Bool) -> Bool {
        !isConnect || !rules[rule].testsClearText
    }
}

extension TimeoutOverrides {
    /// Takes every leaf that `later` sets.
    mutating func merge(_ later: TimeoutOverrides) {
        minRateBytesPerSecond = later.minRateBytesPerSecond ?? minRateBytesPerSecond
        sniff = later.sniff ?? sniff
        expect = later.expect ?? expect
        dns = later.dns ?? dns
        connect = later.connect ?? connect
        tls = later.tls ?? tls
        responseHeader = later.responseHeader ?? responseHeader
        idle = later.idle ?? idle
        tunnelIdle = later.tunnelIdle ?? tunnelIdle
        total = later.total ?? total
    }
}

extension LogOverrides {
    /// Takes every leaf that `later` sets.
    mutating func merge(_ later: LogOverrides) {
        off = later.off ?? off
        headers = later.headers ?? headers
    }
}
