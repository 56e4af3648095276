// Decodes `rules:`: each rule's keys and name, and warns about rules that never apply.

import LupinPolicy

struct RuleDecoder {
    let context: DecodingContext
    let settings: Settings
    let trust: TrustDefinitions
    let retry: RetryDefinitions
    let cache: CacheDefinitions

    private var listeners: [ListenerSettings] { settings.listeners }

    /// Decodes the rules of `rules:`; those with an error are reported.
    func rules(_ node: YAMLNode) -> [Rule] {
        guard case .list(let items) = node.content else {
            if !node.isEmpty {
                let message = "expected a list of rules, found \(node.kindText)"
                context.error(.type, message, at: node, hint: "write - match: api.example")
            }
            return []
        }
        var rules: [(rule: Rule, entries: [YAMLNode.Entry])] = []
        var lines: [String: Int] = [:]
        for item in items {
            guard case .map(let entries) = item.content else {
                let message = "expected a rule, found \(item.kindText)"
                context.error(.type, message, at: item, hint: "write - match: api.example")
                continue
            }
            rules.append((rule(item, entries, lines: &lines), entries))
        }
        RuleConsistency(
            context: context,
            intercept: settings.intercept,
            upstream: settings.upstream
        ).check(rules)
        TokenConsistency(context: context, settings: settings, rules: rules).check()
        RetryConsistency(context: context, settings: settings).check(rules)
        CacheConsistency(context: context).check(rules)
        return rules.map(\.rule)
    }

    /// Warns about rules that an earlier one hides (E-SHADOW).
    func warnOfShadows(in rules: RuleSet) {
        for (hidden, hiding) in rules.explainShadowing() {
            let rule = rules.rules[hidden]
            let earlier = rules.rules[hiding]
            let location = FileLocation(line: rule.line, column: firstColumn(ofLine: rule.line))
            let message = "the rule \"\(rule.name)\" can never match"
            let hint = "hidden by \"\(earlier.name)\" on line \(earlier.line), which has stop: true"
            context.warning(.shadow, message, at: location, hint: hint)
        }
    }

    private func firstColumn(ofLine number: Int) -> Int {
        guard let line = context.source.line(number) else { return 1 }
        let blank = line.prefix(200).prefix { " -\t".unicodeScalars.contains($0) }
        return blank.count + 1
    }

    // MARK: One rule

    private func rule(
        _ node: YAMLNode,
        _ entries: [YAMLNode.Entry],
        lines: inout [String: Int]
    ) -> Rule {
        let line = entries.first?.keyLocation.line ?? node.location.line
        var rule = Rule(name: "rule@\(line)", line: line, matches: [])
        decodeName(entries, into: &rule, lines: &lines)
        var hasMatch = false
        for entry in entries where entry.key != "name" {
            if entry.key == "match" { hasMatch = true }
            rule.note(linesOf: entry)
            decode(entry, into: &rule)
        }
        if !hasMatch {
            let message = "the rule \"\(rule.name)\" has no \"match\""
            context.error(.key, message, at: node.location, hint: "write match: {} for everything")
        }
        return rule
    }

    private func decodeName(
        _ entries: [YAMLNode.Entry],
        into rule: inout Rule,
        lines: inout [String: Int]
    ) {
        if let entry = entries.first(where: { $0.key == "name" }),
            let name = context.text(entry.value, expected: "a name", example: "packages")
        {
            rule.name = name
            context.demandHarmless(name, at: entry.value)
            if let first = lines[name] {
                let message = "two rules are called \"\(name)\""
                context.error(.duplicate, message, at: entry.value, hint: "first on line \(first)")
            }
        }
        lines[rule.name] = lines[rule.name] ?? rule.line
    }

    private func decode(_ entry: YAMLNode.Entry, into rule: inout Rule) {
        guard let key = RuleKey(rawValue: entry.key) else {
            let known = RuleKey.allCases.map(\.rawValue)
            return context.unknownKey(entry, in: "rules", known: known)
        }
        switch key.row.value {
        case .flag: rule.flags[key] = context.boolean(entry.value)
        case .special(let special): decode(entry, special, into: &rule)
        }
    }

    private func decode(
        _ entry: YAMLNode.Entry,
        _ key: RuleKey.Special,
        into rule: inout Rule
    ) {
        let node = entry.value
        switch key {
        case .match:
            rule.matches = MatchDecoder(context: context).matches(node) ?? []
        case .request:
            rule.steps = steps(node, .request)
        case .response:
            rule.responseSteps = steps(node, .response)
        case .respond:
            rule.respond = context.respond(node)
        case .stop:
            rule.stop = context.boolean(node) ?? false
        case .timeouts:
            leaves(node, in: "timeouts", example: "{total: 90s}", into: &rule)
        case .log:
            log(node, into: &rule)
        case .proxy:
            rule.proxy = context.proxy(node).map { context.withoutLoop($0, listeners, at: node) }
        case .retry:
            rule.retry = RetryDecoder(context: context).retry(entry, retry)
        case .cache:
            rule.cache = CacheDecoder(context: context).cache(entry, cache)
        case .trust:
            rule.trust = TrustDecoder(context: context).trust(entry, trust)
        case .clientCert:
            rule.clientCertificate = context.certificateFiles(entry, off: "none")
        case .cookies:
            rule.cookieJar = context.cookieJar(entry)
        case .tls:
            rule.tls = context.tlsOverrides(node)
        case .redirect:
            rule.redirect = context.redirect(entry)
        case .validate:
            rule.validation = context.validation(node)
        case .throttle:
            rule.throttle = context.throttle(node) ?? ThrottleOverrides()
        case .capture:
            rule.capture = context.capture(node)
        case .intercept:
            rule.intercept = isIntercepted(node)
        case .standIns:
            context.standIns(entry, settings.tokens, into: &rule)
        case .crossSite:
            rule.crossSite = MatchDecoder(context: context).crossSite(node)
        case .name:
            // Decoded before all other keys, whose problems mention it.
            break
        }
    }

    // MARK: Keys of a rule

    private func steps(_ node: YAMLNode, _ side: StepDecoder.Side) -> [RequestStep] {
        StepDecoder(context: context, listeners: listeners, side: side).steps(node)
    }

    /// `auto` or `true`.
    private func isIntercepted(_ node: YAMLNode) -> Bool {
        guard let text = context.text(node, expected: "auto or true", example: "auto") else {
            return false
        }
        switch text {
        case "auto": return false
        case "true": return true
        default:
            let hint = "write auto; hosts that stay closed are listed in intercept.except"
            context.error(.type, "\"\(text)\" is neither auto nor true", at: node, hint: hint)
            return false
        }
    }

    private func log(_ node: YAMLNode, into rule: inout Rule) {
        if case .scalar("off", _) = node.content {
            rule.log.off = true
            return
        }
        leaves(node, in: "log", example: "off", into: &rule)
        // A later rule that sets log options turns the log back on.
        rule.log.off = false
    }

    /// Decodes a section that rules may have too.
    private func leaves(
        _ node: YAMLNode,
        in section: String,
        example: String,
        into rule: inout Rule
    ) {
        for (entry, setting, leaf) in settings(node, in: section, example: example) {
            switch leaf {
            case .timeout(let keyPath):
                rule.timeouts.take(keyPath) { timeouts in
                    context.take(entry.value, setting, to: keyPath, in: &timeouts)
                }
            case .logHeaders: rule.log.headers = context.loggedHeaders(entry.value)
            case .logLevel: rule.log.level = context.logLevel(entry.value, setting)
            // Not available yet.
            case .logBodies: break
            }
        }
    }

    /// The entries of a section that rules may have too, with their settings.
    private func settings(
        _ node: YAMLNode,
        in section: String,
        example: String
    ) -> [(YAMLNode.Entry, Setting, RuleLeaf)] {
        let entries = context.entries(node, of: "a map", example: "\(section): \(example)") ?? []
        let known = SettingsTable.settings.filter { $0.isPerRule && $0.section == section }
        return entries.compactMap { entry in
            if let setting = known.first(where: { $0.key == entry.key }),
                let leaf = setting.ruleLeaf
            {
                guard case .later(let what) = setting.availability else {
                    return (entry, setting, leaf)
                }
                if !context.isOff(entry.value, setting.offValues) {
                    context.unavailable(entry.key, what, at: entry, hint: setting.substitute)
                }
            } else if SettingsTable.keys(in: section).contains(entry.key) {
                let hint = "it belongs to \"\(section)\" at the top of the file"
                context.error(.key, "a rule cannot set \"\(entry.key)\"", at: entry, hint: hint)
            } else {
                context.unknownKey(entry, in: section, known: known.map(\.key))
            }
            return nil
        }
    }
}

extension Rule {
    /// Records the line of a key, or of each leaf when the key merges leaf by leaf.
    fileprivate mutating func note(linesOf entry: YAMLNode.Entry) {
        guard RuleKey(rawValue: entry.key)?.row.together == .merges,
            case .map(let leaves) = entry.value.content, !leaves.isEmpty
        else {
            keyLines[entry.key] = entry.keyLocation.line
            return
        }
        for leaf in leaves { keyLines["\(entry.key).\(leaf.key)"] = leaf.keyLocation.line }
    }
}
