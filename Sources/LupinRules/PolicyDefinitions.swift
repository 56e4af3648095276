// Named policies: those that `retry:`, `cache:` or `trust:` defines, and their use in rules.

import LupinPolicy

/// The policies of one section at the top of the file.
struct PolicyDefinitions<Policy> {
    struct Definition {
        /// nil after a problem was reported; the name is known nevertheless.
        var policy: Policy?
        var entry: YAMLNode.Entry
    }

    /// `retry`, `cache` or `trust`.
    let key: String
    /// What to write for a word that only says yes or no.
    let words: (yes: String, no: String)
    /// The built-in policies; nil for one that the file changes with an error.
    var builtIn: [(name: String, policy: Policy?)]
    /// The entry of the file that changes a built-in policy.
    var change: YAMLNode.Entry?
    /// In the order of the file.
    var all: [Definition] = []

    /// Every name that a rule may use.
    var names: [String] { builtIn.map(\.name) + all.map(\.entry.key) }

    /// What to write for a word, a number or a time that says what is meant, and names no policy.
    fileprivate func meaning(of word: String, among known: [String]) -> String? {
        if let isOn = DecodingContext.meaning(of: word) {
            let meant = isOn ? words.yes : words.no
            return known.contains(meant) ? meant : nil
        }
        switch key {
        case "retry": return Units.wholeNumber(word[...]).map { "{limit: \($0)}" }
        case "cache": return (try? Units.duration(word)).map { _ in "{ttl: \(word)}" }
        default: return nil
        }
    }

    /// Returns the policy called `name`; `.some(nil)` when its definition has an error.
    func policy(_ name: String) -> Policy?? {
        if let known = builtIn.first(where: { $0.name == name }) { return .some(known.policy) }
        return all.first { $0.entry.key == name }.map(\.policy)
    }
}

/// A policy that a rule may take as a base and change.
protocol NamedPolicy {
    var name: String { get set }
}

extension RetryPolicy: NamedPolicy {}
extension CachePolicy: NamedPolicy {}

extension DecodingContext {
    /// Returns the policy that `node` names; returns nil after reporting a problem.
    func named<Policy>(
        _ node: YAMLNode,
        _ definitions: PolicyDefinitions<Policy>,
        example: String
    ) -> Policy? {
        let noun = "\(definitions.key) policy"
        guard let name = text(node, expected: "a \(noun)", example: example) else { return nil }
        if let policy = definitions.policy(name) { return policy }
        return unknownPolicy(node, name, definitions)
    }

    /// Reports a name that no policy has; `more` are the words that are allowed beside names.
    func unknownPolicy<Policy, Value>(
        _ node: YAMLNode,
        _ name: String,
        _ definitions: PolicyDefinitions<Policy>,
        or more: [String] = []
    ) -> Value? {
        let noun = "\(definitions.key) policy"
        let known = definitions.names + more
        guard let hint = definitions.meaning(of: name, among: known) else {
            return undefinedName(node, name, of: noun, defined: known)
        }
        return refuse(.name, "unknown \(noun) \"\(name)\"", at: node, hint: "write \(hint)")
    }

    /// Decodes a top-level definition, which can't have a base; `read` decodes its keys.
    func definition<Policy>(
        _ entry: YAMLNode.Entry,
        of key: String,
        example: String,
        _ read: ([YAMLNode.Entry]) -> Policy?
    ) -> Policy? {
        guard let entries = entries(entry.value, of: "a \(key) policy", example: example) else {
            return nil
        }
        let policy = read(entries.filter { $0.key != "use" })
        guard let use = entries.first(where: { $0.key == "use" }) else { return policy }
        let hint = "what a policy leaves out is as in standard; only rules say use"
        return refuse(.key, "unknown key \"use\" in \"\(entry.key)\"", at: use, hint: hint)
    }

    /// Decodes the map of a rule: `{use: NAME, …}`, or a policy in place, based on `standard`.
    func policy<Policy: NamedPolicy>(
        _ entry: YAMLNode.Entry,
        _ entries: [YAMLNode.Entry],
        _ definitions: PolicyDefinitions<Policy>,
        standard: Policy,
        _ read: ([YAMLNode.Entry], Policy) -> Policy?
    ) -> Policy? {
        let line = entry.keyLocation.line
        let rest = entries.filter { $0.key != "use" }
        guard let use = entries.first(where: { $0.key == "use" }) else {
            var policy = standard
            policy.name = "\(entry.key)@\(line)"
            return read(rest, policy)
        }
        let base = named(use.value, definitions, example: "standard")
        // Problems in the other keys are reported as well.
        let other = rest.isEmpty ? base : read(rest, base ?? standard)
        guard let base, var other else { return nil }
        if !rest.isEmpty { other.name = "\(base.name)@\(line)" }
        return other
    }

    /// Warns about definitions that no rule uses; `used` are the names that rules use.
    func warnOfUnused<Policy>(_ definitions: PolicyDefinitions<Policy>, used: Set<String>) {
        for definition in definitions.all where !used.contains(definition.entry.key) {
            warnOfUnused(definition.entry, of: definitions.key)
        }
    }

    func warnOfUnused(_ entry: YAMLNode.Entry, of key: String) {
        let hint = "write \(key): \(entry.key) in a rule, or take it out"
        warning(.name, "no rule uses the \(key) policy \"\(entry.key)\"", at: entry, hint: hint)
    }
}

extension [Rule] {
    /// The names of the policies that rules use, by `policy`, or change on the line of `key`.
    func policyNames(_ key: String, _ policy: (Rule) -> String?) -> Set<String> {
        Set(
            compactMap { rule in
                guard let name = policy(rule), let line = rule.keyLines[key] else { return nil }
                let mark = "@\(line)"
                return name.hasSuffix(mark) ? String(name.dropLast(mark.count)) : name
            }
        )
    }
}
