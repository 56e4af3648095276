// Checks that rules don't send tokens to wrong places, and warns about tokens that no rule names.

import LupinCore

struct TokenConsistency {
    let context: DecodingContext
    let settings: Settings

    private var tokens: [TokenDefinition] { settings.tokens }

    /// Reports problems; `rules` come with their entries in the file.
    func check(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        let known = Dictionary(tokens.map { ($0.name, $0) }) { first, _ in first }
        var comparisonsLeft = Self.comparisonsMax
        for (rule, entries) in rules {
            let named = rule.tokenNames.compactMap { known[$0] }
            let standIns = Set(rule.standIns)
            for token in named {
                let key = standIns.contains(token.name) ? RuleKey.standIns : .request
                guard let entry = entries.first(where: { $0.key == key.rawValue }) else {
                    continue
                }
                checkPlainText(token, rule, entry)
                checkMove(token, rule, entry, of: rules, &comparisonsLeft)
            }
            if rule.standInPlaces != .fields, named.isEmpty,
                let entry = entries.first(where: { $0.key == RuleKey.standIns.rawValue })
            {
                let message = "\"stand_ins\" says where, and the rule names no token"
                context.error(.key, message, at: entry, hint: "write tokens: [github] beside in")
            }
        }
        checkScrub(rules)
        warnOfUnused(rules.map(\.rule))
    }

    /// E-AUTH: a token that would certainly be sent to another machine without TLS.
    ///
    /// A rule without a scheme mostly means https; its http requests are refused one by one.
    private func checkPlainText(_ token: TokenDefinition, _ rule: Rule, _ entry: YAMLNode.Entry) {
        guard !token.plainHTTP, rule.isPlain, !rule.staysOnThisMachine else { return }
        let message = "the rule \"\(rule.name)\" sends the token \"\(token.name)\" in clear"
        let hint = "write scheme: https in its match, or plain_http: true under the token"
        context.error(.auth, message, at: entry, hint: hint)
    }

    /// E-AUTH: a step sends the requests to a host that doesn't get the token: each would be 502.
    private func checkMove(
        _ token: TokenDefinition,
        _ rule: Rule,
        _ entry: YAMLNode.Entry,
        of rules: [(rule: Rule, entries: [YAMLNode.Entry])],
        _ comparisonsLeft: inout Int
    ) {
        let moves = rule.steps.compactMap { step -> Host? in
            if case .url(let url) = step { url.host } else { nil }
        }
        guard let host = moves.last, !token.hosts.contains(where: { $0.matches(host) }),
            comparisonsLeft > 0
        else { return }
        comparisonsLeft -= rules.count
        let isNamed = rules.contains { other, _ in
            other.mayMatch(host) && other.tokenNames.contains(token.name)
        }
        if isNamed { return }
        context.warning(
            .auth,
            "the rule \"\(rule.name)\" sends its requests to \(host.text), which does not get the "
                + "token \"\(token.name)\"",
            at: entry,
            hint: "write hosts: [\(host.text)] under the token, if it may go there"
        )
    }

    /// E-AUTH: responses that show the command what its stand-in became.
    private func checkScrub(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        let unscrubbed = rules.filter { $0.rule.scrub == false }
        if unscrubbed.isEmpty { return }
        let given = Set(settings.exec.variables.map(\.token))
        let exchanging = rules.map(\.rule).filter {
            !$0.standIns.isEmpty || !given.isDisjoint(with: $0.tokenNames)
        }
        var comparisonsLeft = Self.comparisonsMax
        for (rule, entries) in unscrubbed {
            // What is not compared any more may meet.
            let mayExchange = exchanging.contains { other in
                comparisonsLeft -= rule.alternatives * other.alternatives
                return comparisonsLeft < 0 || rule.mayMeet(other)
            }
            guard mayExchange,
                let entry = entries.first(where: { $0.key == RuleKey.scrub.rawValue })
            else { continue }
            context.warning(
                .auth,
                "the rule \"\(rule.name)\" lets responses show the credential to who has its "
                    + "stand-in",
                at: entry,
                hint: "leave scrub out"
            )
        }
    }

    /// Of hosts, for all rules together.
    private static let comparisonsMax = 200_000

    private func warnOfUnused(_ rules: [Rule]) {
        guard context.errors.isEmpty else { return }
        let used = Set(rules.flatMap(\.tokenNames))
        for token in tokens where !used.contains(token.name) {
            context.warning(
                .name,
                "the token \"\(token.name)\" is used by no rule",
                at: Place(line: token.line, column: firstColumn(ofLine: token.line)),
                hint: "write request: [{auth: \(token.name)}] in a rule"
            )
        }
    }

    private func firstColumn(ofLine number: Int) -> Int {
        guard let line = context.source.line(number) else { return 1 }
        return line.prefix(200).prefix { " \t".unicodeScalars.contains($0) }.count + 1
    }
}

extension Rule {
    fileprivate func mayMatch(_ host: Host) -> Bool {
        matches.contains { $0.hosts?.contains { $0.matches(host) } ?? true }
    }

    /// How many hosts its matches list.
    fileprivate var alternatives: Int { matches.reduce(1) { $0 + ($1.hosts?.count ?? 1) } }
}
