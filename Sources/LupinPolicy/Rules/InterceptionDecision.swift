// Decides whether a CONNECT is intercepted or tunnelled, and because of which rule.

package import LupinCore

/// The decision about a CONNECT.
package enum InterceptionDecision: Sendable, Hashable {
    /// Its bytes are forwarded unseen.
    case tunnel(TunnelReason)
    /// lupin terminates its TLS.
    ///
    /// `rule` is the first one that requires it, nil when only `intercept.mode: all` does.
    /// `isConvenienceOnly` means that no matching rule strictly demands it, so a client that
    /// refuses lupin's certificate may be tunnelled next time. Pins are never only a convenience,
    /// since a peer must not be able to switch them off.
    case intercept(rule: Int?, isConvenienceOnly: Bool)
}

/// The reason for which a CONNECT is tunnelled.
package enum TunnelReason: Sendable, Hashable {
    /// `intercept.mode: none`.
    case mode
    /// The host is in `intercept.except`.
    case exception
    /// No rule needs requests to the host in clear.
    case noRule
}

extension RuleSet {
    /// Decides whether the CONNECT in `subject` is tunnelled or intercepted.
    ///
    /// A rule counts when a request inside may match it: host, port, client, program and user are
    /// those of the CONNECT, the scheme is https, everything else is open.
    package func interception(
        of subject: MatchSubject,
        settings: InterceptSettings
    ) -> InterceptionDecision {
        if settings.mode == .none { return .tunnel(.mode) }
        let index = interceptionIndex.index
        if index == nil, settings.mode == .auto { return .tunnel(.noRule) }
        for pattern in settings.except where pattern.matches(subject.host) {
            return .tunnel(.exception)
        }
        var first: Int?
        var isConvenienceOnly = true
        for candidate in index?.candidates(for: subject.host) ?? [] {
            let prospect = rules[candidate].prospect(inside: subject)
            if prospect == .never { continue }
            let need = rules[candidate].clearTextNeed
            if need != .none { first = first ?? candidate }
            if need == .demand { isConvenienceOnly = false }
            if rules[candidate].stop, prospect == .always { break }
        }
        if first == nil, settings.mode == .auto { return .tunnel(.noRule) }
        if isConvenienceOnly { isConvenienceOnly = !mayRefuse(inside: subject) }
        return .intercept(rule: first, isConvenienceOnly: isConvenienceOnly)
    }

    /// Whether a rule may refuse a request inside the CONNECT in `subject`, although another one
    /// kept it from refusing the CONNECT: `stop: true` with `method: [CONNECT, GET]` does.
    ///
    /// A tunnel would lift that refusal.
    private func mayRefuse(inside subject: MatchSubject) -> Bool {
        var facts = SubjectFacts()
        var isShielded = false
        for candidate in interceptionIndex.refusals?.candidates(for: subject.host) ?? [] {
            let prospect = rules[candidate].prospect(inside: subject)
            if isShielded, prospect != .never, rules[candidate].respond != nil { return true }
            guard rules[candidate].stop else { continue }
            if prospect == .always { return false }
            if !isShielded, mayStop(candidate, isConnect: true) {
                isShielded = matches(candidate, subject, &facts)
            }
        }
        return false
    }

    /// The first rule that may answer a request inside the CONNECT in `subject`.
    func ruleAnswering(inside subject: MatchSubject) -> Int? {
        for candidate in interceptionIndex.index?.candidates(for: subject.host) ?? [] {
            let prospect = rules[candidate].prospect(inside: subject)
            if prospect == .never { continue }
            if rules[candidate].respond != nil { return candidate }
            if rules[candidate].stop, prospect == .always { break }
        }
        return nil
    }
}

/// The rules that affect interception, determined once per file.
struct InterceptionIndex: Sendable {
    /// Rules that need clear text, and those that stop matching before them; nil when no rule needs
    /// clear text.
    let index: RuleIndex?
    /// Rules that answer, and those that stop matching before them; nil when none answers.
    let refusals: RuleIndex?

    init(_ rules: [Rule]) {
        refusals =
            rules.contains { $0.respond != nil }
            ? RuleIndex(
                rules,
                at: rules.indices.filter { rules[$0].stop || rules[$0].respond != nil }
            )
            : nil
        let counting = rules.map(\.mayNeedInterception)
        index =
            counting.contains(true)
            ? RuleIndex(rules, at: rules.indices.filter { counting[$0] || rules[$0].stop }) : nil
    }
}

// MARK: Prediction at the CONNECT

/// Whether a match will hold for the requests inside a tunnel, as predicted from the CONNECT.
private enum Prospect: Comparable {
    case never, maybe, always
}

extension Rule {
    fileprivate func prospect(inside subject: MatchSubject) -> Prospect {
        var best = Prospect.never
        for match in matches {
            best = max(best, match.prospect(inside: subject))
            if best == .always { break }
        }
        return best
    }
}

extension Match {
    fileprivate func prospect(inside subject: MatchSubject) -> Prospect {
        guard mayHoldInsideTLS else { return .never }
        if let ports, !ports.contains(subject.port) { return .never }
        if let hosts, !hosts.contains(where: { $0.matches(subject.host) }) { return .never }
        if let clients, !clients.contains(where: { $0.contains(subject.client) }) { return .never }
        if let programs, !Self.matches(programs, subject.program) { return .never }
        if let users, !Self.matches(users, subject.user) { return .never }
        var prospect = testsInsideTunnel || methods != nil ? Prospect.maybe : .always
        for excluded in not {
            switch excluded.prospect(inside: subject) {
            case .always: return .never
            case .maybe: prospect = .maybe
            case .never: continue
            }
        }
        return prospect
    }

    /// Whether it may match requests inside TLS, by scheme and method.
    var mayHoldInsideTLS: Bool {
        schemes?.contains(.https) != false
            && methods?.contains { $0 != .connect } != false
    }
}

// MARK: Contradictions in a file (E-INTERCEPT)

/// The reason for which a rule does not get the clear text that it needs.
package enum ClearTextRefusal: Sendable, Equatable {
    /// `intercept.mode: none`.
    case mode
    /// One of its hosts is in `intercept.except`.
    case exception(HostPattern)
}

extension Rule {
    /// Whether it needs clear text of https requests.
    package var mayNeedInterception: Bool {
        needsClearText && matches.contains(where: \.mayHoldInsideTLS)
    }

    /// Whether its `respond` answers https inside the CONNECT, which needs decryption, rather than
    /// the CONNECT itself; nil when it has none, or none for https.
    package func answersInside(by settings: InterceptSettings) -> Bool? {
        guard let respond, matches.contains(where: \.mayHoldInsideTLS) else { return nil }
        return !(answersConnect && respond.isRefusal) && settings.mode != .none
    }

    /// The reason for which the rule has no effect on one of its hosts; nil when it has.
    ///
    /// An exception only contradicts a pattern when it covers all of it.
    package func refusal(by settings: InterceptSettings) -> ClearTextRefusal? {
        // A `respond` that can't answer requests inside answers the CONNECT.
        guard mayNeedInterception, respond == nil || !answersConnect else { return nil }
        if settings.mode == .none { return .mode }
        for match in matches where match.mayHoldInsideTLS {
            for host in match.hosts ?? [] {
                let excepted = host.first { host in
                    settings.except.contains { $0.provablyContains(host) }
                }
                if let excepted { return .exception(excepted) }
            }
        }
        return nil
    }

    /// Whether one of its matches names `host` itself, rather than by a pattern.
    package func names(_ host: Host) -> Bool {
        matches.contains { $0.hosts?.contains { $0.isExactly(host) } ?? false }
    }

    /// Whether it requires every host to be decrypted, because a match names none.
    package var decryptsEverything: Bool {
        needsClearText && matches.contains { $0.hosts == nil && $0.mayHoldInsideTLS }
    }
}
