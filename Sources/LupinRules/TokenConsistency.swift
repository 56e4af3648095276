// Checks that rules don't send tokens to wrong places, and warns about tokens that no rule names.

import LupinCore
import LupinPolicy

struct TokenConsistency {
    let context: DecodingContext
    let settings: Settings

    private let rules: [(rule: Rule, entries: [YAMLNode.Entry])]
    /// Whether a request in clear to a host may stay on this machine.
    private let mayProtect: (Host) -> Bool

    private var tokens: [TokenDefinition] { settings.tokens }

    /// `rules` come with their entries in the file.
    init(
        context: DecodingContext,
        settings: Settings,
        rules: [(rule: Rule, entries: [YAMLNode.Entry])]
    ) {
        self.context = context
        self.settings = settings
        self.rules = rules
        let overrides = rules.compactMap(\.rule.proxy)
        mayProtect = { settings.upstream.mayProtect($0, overrides: overrides) }
    }

    /// Reports problems.
    func check() {
        let known = Dictionary(tokens.map { ($0.name, $0) }) { first, _ in first }
        for (rule, entries) in rules {
            let named = rule.tokenNames.compactMap { known[$0] }
            let standIns = Set(rule.standIns)
            for token in named {
                let key = standIns.contains(token.name) ? RuleKey.standIns : .request
                guard let entry = entries.first(where: { $0.key == key.rawValue }) else {
                    continue
                }
                checkPlainText(token, rule, entry)
            }
            if rule.standInLocations != .fields, named.isEmpty,
                let entry = entries.first(where: { $0.key == RuleKey.standIns.rawValue }),
                !entries.contains(where: { Self.namesToken($0.value) })
            {
                let message = "\"stand_ins\" says where, and the rule names no token"
                context.error(.key, message, at: entry, hint: "write tokens: [github] beside in")
            }
        }
        checkMoves()
        checkScrub()
        warnOfUnused(rules.map(\.rule))
    }

    /// Whether the text of a rule names a token, be it one with an error of its own.
    private static func namesToken(_ node: YAMLNode) -> Bool {
        switch node.content {
        case .scalar(let text, _): return text.contains("${token:")
        case .list(let items): return items.contains(where: namesToken)
        case .map(let entries):
            return entries.contains { entry in
                if ["auth", "tokens"].contains(entry.key) {
                    if case .list(let names) = entry.value.content { return !names.isEmpty }
                    return !entry.value.isEmpty
                }
                return namesToken(entry.value)
            }
        }
    }

    /// E-AUTH: a token that would certainly be sent to another machine without TLS.
    ///
    /// A rule without a scheme mostly means https; its http requests are refused one by one.
    private func checkPlainText(_ token: TokenDefinition, _ rule: Rule, _ entry: YAMLNode.Entry) {
        guard !token.plainHTTP, rule.isPlain, !rule.goes(where: mayProtect) else { return }
        let isByParent = rule.goes(where: \.isLoopback)
        let way = isByParent ? ", by a parent proxy on another machine" : ""
        let message = "the rule \"\(rule.name)\" sends the token \"\(token.name)\" in clear\(way)"
        let remedy = isByParent ? "its hosts into upstream.no_proxy" : "scheme: https in its match"
        let hint = "write \(remedy), or plain_http: true under the token"
        context.error(.auth, message, at: entry, hint: hint)
    }

    /// E-AUTH: steps that send requests where their token does not go: each would be 502.
    private func checkMoves() {
        for move in rules.map(\.rule).explainTokenMoves(of: tokens, mayProtect) {
            let (rule, mover) = (rules[move.rule].rule, rules[move.mover])
            // An error says so already.
            if move.reason == .clearText, rule.isPlain, !rule.goes(where: mayProtect) { continue }
            guard let entry = mover.entries.first(where: { $0.key == RuleKey.request.rawValue })
            else { continue }
            let what = move.isAll ? "requests" : "some requests"
            let who = move.mover == move.rule ? "it" : "the rule \"\(mover.rule.name)\""
            let (way, remedy) =
                switch move.reason {
                case .host:
                    (
                        "to \(move.target), which does not get the token \"\(move.token)\"",
                        "hosts: [\(move.host)]"
                    )
                case .clearText:
                    (
                        "in clear to \(move.target), where the token \"\(move.token)\" does not go",
                        "plain_http: true"
                    )
                }
            context.warning(
                .auth,
                "\(what) of the rule \"\(rule.name)\" get 502: \(who) sends them \(way)",
                at: entry,
                hint: "write \(remedy) under the token, if it may go there"
            )
        }
    }

    /// E-AUTH: responses that show the command what its stand-in became.
    private func checkScrub() {
        let unscrubbed = rules.filter { $0.rule.flags[.scrub] == false }
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
                at: FileLocation(line: token.line, column: token.column),
                hint: "write request: [{auth: \(token.name)}] in a rule"
            )
        }
    }
}
