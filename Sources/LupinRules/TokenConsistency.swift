// Checks that rules don't send tokens to wrong places, and warns about tokens that no rule names.

import LupinCore

struct TokenConsistency {
    let context: DecodingContext
    let tokens: [TokenDefinition]

    /// Reports problems; `rules` come with their entries in the file.
    func check(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        let known = Dictionary(tokens.map { ($0.name, $0) }) { first, _ in first }
        for (rule, entries) in rules {
            for token in rule.tokenNames.compactMap({ known[$0] }) {
                let key = rule.standIns.contains(token.name) ? RuleKey.standIns : .request
                guard let entry = entries.first(where: { $0.key == key.rawValue }) else {
                    continue
                }
                checkPlainText(token, rule, entry)
                checkTokenServer(token, rule, entry)
            }
        }
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

    /// E-OAUTH: the request for the token would itself need the token.
    private func checkTokenServer(_ token: TokenDefinition, _ rule: Rule, _ entry: YAMLNode.Entry) {
        guard case .oauth2(let source) = token.source, rule.certainlyMatches(source.url) else {
            return
        }
        context.error(
            .oauth,
            "the rule \"\(rule.name)\" attaches the token \"\(token.name)\" to requests for itself",
            at: entry,
            hint: "exclude it: not: {host: \(source.url.origin.host.text)}"
        )
    }

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
