// The effects of a rule's steps besides their changes: credentials, secrets, waits.

package import LupinCore

/// The credentials, secrets, waits and compression of steps.
struct StepTraits: Sendable {
    /// Whether there are no steps.
    let isEmpty: Bool
    var auth: [String] = []
    var namedTokens: [String] = []
    /// Whether a value contains a secret other than a token's credential.
    var holdsPlainSecret = false
    var delay: Duration?
    var compress: CompressStep?
    /// A step changes the body.
    var editsBody = false

    init(_ steps: [RequestStep]) {
        isEmpty = steps.isEmpty
        for step in steps {
            switch step {
            case .auth(let token):
                auth.append(token)
            case .compress(let step): compress = step
            case .delay(let time): delay = (delay ?? .zero) + time
            case .set(_, let value), .add(_, let value), .default(_, let value): note(value)
            case .query(let set, _): for parameter in set { note(parameter.value) }
            case .url(let url):
                if case .literal(let path)? = url.path { note(path) }
            case .edit: editsBody = true
            case .remove, .rewrite: break
            }
        }
    }

    private mutating func note(_ value: Template) {
        for part in value.parts {
            switch part {
            case .secret: holdsPlainSecret = true
            case .token(let name):
                if !namedTokens.contains(name) { namedTokens.append(name) }
            case .text, .header, .query, .id: break
            }
        }
    }
}

extension RuleSet {
    /// Whether a rule that names the token may match requests to `origin`.
    package func names(token: String, for origin: Origin) -> Bool {
        rules.contains { rule in
            rule.names(token) && rule.matches.contains { $0.mayMeet(origin) }
        }
    }
}

extension StepTraits {
    func names(_ token: String) -> Bool { auth.contains(token) || namedTokens.contains(token) }
}

extension Rule {
    fileprivate var traits: StepTraits { StepTraits(steps) }

    /// Whether a step or `stand_ins` names the token.
    package func names(_ token: String) -> Bool {
        traits.names(token) || standIns.contains(token)
    }

    /// The tokens that steps and `stand_ins` name, each once.
    package var tokenNames: [String] {
        let traits = traits
        var known: Set<String> = []
        return (traits.auth + traits.namedTokens + standIns).filter { known.insert($0).inserted }
    }

    /// Whether a step sends its requests elsewhere.
    package var changesTarget: Bool {
        steps.contains { if case .url = $0 { true } else { false } }
    }

    /// Whether its requests certainly use http.
    package var isPlain: Bool {
        for step in steps.reversed() {
            guard case .url(let url) = step, let scheme = url.scheme else { continue }
            return scheme == .http
        }
        return !matches.isEmpty && matches.allSatisfy { $0.schemes == [.http] }
    }

    /// Whether all hosts that get its requests are known, and `holds` is true of each.
    package func goes(where holds: (Host) -> Bool) -> Bool {
        for step in steps.reversed() {
            guard case .url(let url) = step, let host = url.host else { continue }
            return holds(host)
        }
        return !matches.isEmpty
            && matches.allSatisfy { match in
                match.hosts?.allSatisfy { $0.representative.map(holds) ?? false } ?? false
            }
    }
}

extension Match {
    /// Whether its scheme, host and port may match `origin`.
    func mayMeet(_ origin: Origin) -> Bool {
        if let schemes, !schemes.contains(origin.scheme) { return false }
        if let ports, !ports.contains(origin.port) { return false }
        if let hosts, !hosts.contains(where: { $0.matches(origin.host) }) { return false }
        return true
    }
}
