// Finds the rules whose requests a step sends where their token does not go.

package import LupinCore

/// Requests that would be refused, since a step sends them to a host that does not get their token.
package struct TokenMove: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        case host, clearText
    }

    package var token: String
    /// The rule that names the token.
    package var rule: Int
    /// The rule with the last step that changes the target; it may be the same.
    package var mover: Int
    /// Whether these are all requests of `rule`.
    package var isAll: Bool
    /// The host, with its port where the host alone is not the reason.
    package var target: String
    package var host: String
    package var reason: Reason
}

extension [Rule] {
    /// Of pairs of rules, by the alternatives in their matches.
    private static var comparisonsMax: Int { 1_000_000 }

    /// The moves that are certain by the rules alone, as `RuleSet.refusal` will judge them.
    ///
    /// Only rules of which one provably matches all requests of the other are seen together, so
    /// the absence of a move proves nothing. `mayProtect` says whether a request in clear to a host
    /// may stay on this machine.
    package func explainTokenMoves(
        of tokens: [TokenDefinition],
        _ mayProtect: (Host) -> Bool
    ) -> [TokenMove] {
        let movers = indices.filter { self[$0].movesRequests }
        if movers.isEmpty { return [] }
        let names = map(\.tokenNames)
        var takers: [String: [Match]] = [:]
        for (rule, names) in zip(self, names) {
            for name in names { takers[name, default: []] += rule.matches }
        }
        let known = Dictionary(tokens.map { ($0.name, $0) }) { first, _ in first }
        let alternatives = movers.reduce(0) { $0 + self[$1].alternatives }
        var moves: [TokenMove] = []
        var comparisonsLeft = Self.comparisonsMax
        for (index, rule) in enumerated() where !names[index].isEmpty {
            comparisonsLeft -= alternatives * rule.alternatives
            guard comparisonsLeft > 0 else { return moves }
            let within = movers.filter { mover in
                mover != index && rule.provablyContains(self[mover])
                    && !self[mover].provablyContains(rule)
            }
            for narrow in [index] + within {
                comparisonsLeft -= alternatives * self[narrow].alternatives
                guard comparisonsLeft > 0 else { return moves }
                guard let (targets, mover) = targets(of: narrow, with: index, movers) else {
                    continue
                }
                for token in names[index].compactMap({ known[$0] }) {
                    let takers = takers[token.name] ?? []
                    comparisonsLeft -= targets.count * takers.count
                    guard comparisonsLeft > 0 else { return moves }
                    let refused = targets.firstRefused(token, takers, mayProtect)
                    guard let refused else { continue }
                    moves.append(
                        TokenMove(
                            token: token.name,
                            rule: index,
                            mover: mover,
                            isAll: narrow == index && !rule.standIns.contains(token.name),
                            target: refused.text,
                            host: refused.host.text,
                            reason: refused.reason
                        )
                    )
                }
            }
        }
        return moves
    }

    /// Where the requests of the rule `narrow` go, which has the token of `rule`, and the last rule
    /// that changes it; nil where none does, or where not both are reached.
    private func targets(
        of narrow: Int,
        with rule: Int,
        _ movers: [Int]
    ) -> (targets: [MovedTarget], mover: Int)? {
        let moving = movers.filter { $0 == narrow || self[$0].provablyContains(self[narrow]) }
        let all = Set(moving + [narrow, rule]).sorted()
        let stop = all.first { self[$0].stop } ?? count
        guard narrow <= stop, rule <= stop, all.allSatisfy({ self[$0].respond == nil }) else {
            return nil
        }
        let reached = moving.filter { $0 <= stop }
        guard let mover = reached.last else { return nil }
        var targets = self[narrow].matches.flatMap(\.targets)
        for step in reached.flatMap({ self[$0].steps }) {
            guard case .url(let url) = step else { continue }
            for index in targets.indices { targets[index].change(by: url) }
        }
        return (targets, mover)
    }
}

/// What is known of an origin from the file.
private struct MovedTarget {
    var scheme: Scheme?
    var host: Host?
    var port: UInt16?

    mutating func change(by step: URLStep) {
        if let scheme = step.scheme {
            if scheme != self.scheme { port = self.scheme == nil ? nil : scheme.defaultPort }
            self.scheme = scheme
        }
        if let host = step.host { self.host = host }
        if let port = step.port { self.port = port }
    }

    /// Whether `match` may hold for it.
    func mayMatch(_ match: Match, _ host: Host) -> Bool {
        if let scheme, let schemes = match.schemes, !schemes.contains(scheme) { return false }
        if let port, let ports = match.ports, !ports.contains(port) { return false }
        return match.hosts?.contains { $0.matches(host) } ?? true
    }
}

private struct RefusedTarget {
    var text: String
    var host: Host
    var reason: TokenMove.Reason
}

extension [MovedTarget] {
    /// The first that does not get the token; `takers` are the matches of all rules that name it.
    fileprivate func firstRefused(
        _ token: TokenDefinition,
        _ takers: [Match],
        _ mayProtect: (Host) -> Bool
    ) -> RefusedTarget? {
        for target in self {
            guard let host = target.host else { continue }
            let isItsHost =
                token.hosts.contains { $0.matches(host) }
                || takers.contains { target.mayMatch($0, host) }
            if !isItsHost {
                let isPortToBlame = takers.contains { MovedTarget().mayMatch($0, host) }
                let port = isPortToBlame ? target.port.map { ":\($0)" } ?? "" : ""
                let scheme = isPortToBlame ? target.scheme.map { "\($0.name)://" } ?? "" : ""
                return RefusedTarget(
                    text: scheme + host.uriText + port,
                    host: host,
                    reason: .host
                )
            }
            if target.scheme == .http, !token.plainHTTP, !mayProtect(host) {
                return RefusedTarget(text: host.text, host: host, reason: .clearText)
            }
        }
        return nil
    }
}

extension Match {
    /// The origins that it names, as far as it does: one without a host stands for all others.
    fileprivate var targets: [MovedTarget] {
        let scheme = schemes?.count == 1 ? schemes?.first : nil
        let ranges = ports?.ranges ?? []
        let single = ranges.count == 1 ? ranges.first : nil
        let port = single?.count == 1 ? single?.lowerBound : nil
        let hosts = hosts?.map(\.exactHost) ?? [nil]
        return hosts.map { MovedTarget(scheme: scheme, host: $0, port: port) }
    }
}

extension Rule {
    fileprivate var movesRequests: Bool {
        steps.contains { step in
            guard case .url(let url) = step else { return false }
            return url.scheme != nil || url.host != nil || url.port != nil
        }
    }

    /// How many hosts its matches list.
    package var alternatives: Int { matches.reduce(1) { $0 + ($1.hosts?.count ?? 1) } }
}
