// Checks that rules don't send tokens to wrong places, and warns about tokens that no rule names.

import LupinCore

struct TokenConsistency {
    let context: DecodingContext
    let settings: Settings

    private var tokens: [TokenDefinition] { settings.tokens }

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
            checkScrub(rule, entries, among: rules.map(\.rule))
            if rule.standInPlaces != .fields, !tokens.contains(where: { rule.names($0.name) }),
                let entry = entries.first(where: { $0.key == RuleKey.standIns.rawValue })
            {
                let message = "\"stand_ins\" says where, and the rule names no token"
                context.error(.key, message, at: entry, hint: "write tokens: [github] beside in")
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

    /// E-AUTH: responses that show the command what its stand-in became.
    private func checkScrub(_ rule: Rule, _ entries: [YAMLNode.Entry], among rules: [Rule]) {
        let variables = settings.exec.variables
        let mayExchange = rules.contains { other in
            (!other.standIns.isEmpty || variables.contains { other.names($0.token) })
                && rule.mayMeet(other)
        }
        guard rule.scrub == false, mayExchange,
            let entry = entries.first(where: { $0.key == RuleKey.scrub.rawValue })
        else { return }
        context.warning(
            .auth,
            "the rule \"\(rule.name)\" lets responses show the credential to who has its stand-in",
            at: entry,
            hint: "leave scrub out"
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
