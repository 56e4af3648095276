// Decides whether a tunnel may carry a name that its client shows inside.

import LupinCore

extension RuleSet {
    /// Whether rules may refuse a name inside a tunnel.
    package var judgesNames: Bool { rules.contains { $0.respond != nil } }

    /// Why the tunnel of the CONNECT in `connect` must not carry TLS that asks for `name`, as a
    /// clause for users; nil when it may.
    ///
    /// Access and rules say of the name what they say of a CONNECT to it, from the same client to
    /// the same port. Rules that do anything but answer keep no name out.
    package func objection(
        to name: String,
        inside connect: MatchSubject,
        access: AccessPolicy,
        settings: Settings
    ) -> String? {
        guard let host = RuleSet.host(ofServerName: name) else { return "that is no host name" }
        // That was asked already.
        if host == connect.host { return nil }
        var subject = connect
        subject.host = host
        let denial = access.denial(ofName: host) ?? access.denial(ofAddressIn: subject)
        return denial.map(\.clause) ?? objection(to: subject, settings: settings)
    }

    private func objection(to subject: MatchSubject, settings: Settings) -> String? {
        let plan = plan(for: subject)
        switch decision(on: subject, respond: plan.respond, settings: settings) {
        case .answer: return "\(plan.respondingRule ?? "a rule") refuses \(subject.host.text)"
        case .tunnel: return nil
        case .intercept:
            return ruleAnswering(inside: subject).map { rule in
                "\(rules[rule].reference) answers requests to \(subject.host.text), and a tunnel "
                    + "would go around it"
            }
        }
    }

    /// The host that a server name stands for: the forms that only URLs have are none (RFC 6066
    /// §3).
    private static func host(ofServerName name: String) -> Host? {
        name.utf8.contains { $0 == 0x25 || $0 == 0x5B } ? nil : Host(name)
    }
}

extension AccessPolicy {
    /// Why an address must not be a server name; it may be none at all (RFC 6066 §3), but servers
    /// may take it for one.
    fileprivate func denial(ofAddressIn subject: MatchSubject) -> LupinError? {
        subject.host.address.flatMap { address in
            denial(
                of: address,
                port: subject.port,
                host: subject.host,
                client: subject.client,
                isHostFromFile: false
            )
        }
    }
}

extension LupinError {
    /// The detail without its full stop, for use inside another sentence.
    fileprivate var clause: String {
        detail.hasSuffix(".") ? String(detail.dropLast()) : detail
    }
}
