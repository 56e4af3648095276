// Whether a CONNECT is intercepted or tunnelled, and for the sake of which rule.

/// What becomes of a CONNECT.
package enum InterceptionDecision: Sendable, Hashable {
    /// Its bytes pass unseen.
    case tunnel(TunnelReason)
    /// lupin ends its TLS.
    ///
    /// `rule` is the first one that asks for it, nil where only `intercept.mode: all` does.
    /// `isConvenienceOnly` says that all of it is what a client can go without that refuses our
    /// certificate: such a client may be tunnelled next time. A pin that a peer can switch off is
    /// no pin.
    case intercept(rule: Int?, isConvenienceOnly: Bool)
}

/// Why a CONNECT is tunnelled.
package enum TunnelReason: Sendable, Hashable {
    /// `intercept.mode: none`.
    case mode
    /// The host is in `intercept.except`.
    case exception
    /// No rule needs the host in clear.
    case noRule
}

extension RuleSet {
    /// Whether any CONNECT becomes something else than a tunnel.
    package func mayIntercept(_ settings: InterceptSettings) -> Bool {
        settings.mode != .none && (settings.mode != .auto || interceptionIndex.index != nil)
    }

    /// Whether the CONNECT that `subject` is becomes a tunnel.
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
        return .intercept(rule: first, isConvenienceOnly: isConvenienceOnly)
    }
}

/// The rules that decide about interception, found once a file.
struct InterceptionIndex: Sendable {
    /// Rules that need clear text and those that keep later ones from acting; nil where no rule
    /// needs it.
    let index: RuleIndex?

    init(_ rules: [Rule]) {
        let counting = rules.map(\.mayNeedInterception)
        index =
            counting.contains(true)
            ? RuleIndex(rules, at: rules.indices.filter { counting[$0] || rules[$0].stop }) : nil
    }
}

// MARK: What can be known at the CONNECT

/// Whether a match will hold for the requests inside a tunnel, as far as the CONNECT tells.
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

    /// Whether it asks nothing that no request inside TLS has.
    fileprivate var mayHoldInsideTLS: Bool {
        schemes?.contains(.https) != false
            && methods?.contains { $0 != .connect } != false
    }
}

// MARK: What a file says against itself (E-INTERCEPT)

/// Why a rule does not get the clear text that it needs.
package enum ClearTextRefusal: Sendable, Equatable {
    /// `intercept.mode: none`.
    case mode
    /// One of its hosts is in `intercept.except`.
    case exception(HostPattern)
}

extension Rule {
    /// Whether it needs clear text of requests that come by https.
    fileprivate var mayNeedInterception: Bool {
        needsClearText && matches.contains(where: \.mayHoldInsideTLS)
    }

    /// Why the rule can do nothing to some host that it is written for; nil where it can.
    ///
    /// An exception to a pattern is no contradiction, only one that covers all of it.
    package func refusal(by settings: InterceptSettings) -> ClearTextRefusal? {
        // A `respond` that can't answer inside answers the CONNECT.
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

    /// Whether one of its matches names `host` itself, and not by a pattern.
    package func names(_ host: Host) -> Bool {
        matches.contains { $0.hosts?.contains { $0.isExactly(host) } ?? false }
    }

    /// Whether every host is decrypted for its sake, because a match names none.
    package var decryptsEverything: Bool {
        needsClearText && matches.contains { $0.hosts == nil && $0.mayHoldInsideTLS }
    }
}
