// Policies under names: those that `retry:`, `cache:` or `trust:` defines, and what rules take.

import LupinCore

/// The policies of one section at the top of the file.
struct PolicyDefinitions<Policy> {
    struct Definition {
        /// nil where a problem was told: the name is known all the same.
        var policy: Policy?
        var entry: YAMLNode.Entry
    }

    /// `retry`, `cache` or `trust`.
    let key: String
    /// Those that need no definition; nil where the file changes one and a problem was told.
    var builtIn: [(name: String, policy: Policy?)]
    /// Where the file changes a built-in one.
    var change: YAMLNode.Entry?
    /// In the order of the file.
    var all: [Definition] = []

    /// Every name that a rule may use.
    var names: [String] { builtIn.map(\.name) + all.map(\.entry.key) }

    /// The policy called `name`; `.some(nil)` where it is defined and broken.
    func policy(_ name: String) -> Policy?? {
        if let known = builtIn.first(where: { $0.name == name }) { return .some(known.policy) }
        return all.first { $0.entry.key == name }.map(\.policy)
    }
}

/// A policy that a rule may begin with and change.
protocol NamedPolicy {
    var name: String { get set }
}

extension RetryPolicy: NamedPolicy {}
extension CachePolicy: NamedPolicy {}

extension DecodingContext {
    /// The policy that `node` names; nil when a problem was told.
    func named<Policy>(
        _ node: YAMLNode,
        _ definitions: PolicyDefinitions<Policy>,
        example: String
    ) -> Policy? {
        let noun = "\(definitions.key) policy"
        guard let name = text(node, expected: "a \(noun)", example: example) else { return nil }
        if let policy = definitions.policy(name) { return policy }
        return undefinedName(node, name, of: noun, defined: definitions.names)
    }

    /// A definition at the top of the file, which can't begin with another; `read` reads its keys.
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

    /// The map of a rule: `{use: NAME, …}`, or a policy in place that begins with `standard`.
    func policy<Policy: NamedPolicy>(
        _ entry: YAMLNode.Entry,
        _ entries: [YAMLNode.Entry],
        _ definitions: PolicyDefinitions<Policy>,
        standard: Policy,
        _ read: ([YAMLNode.Entry], Policy) -> Policy?
    ) -> Policy? {
        let line = entry.keyPlace.line
        let rest = entries.filter { $0.key != "use" }
        guard let use = entries.first(where: { $0.key == "use" }) else {
            var policy = standard
            policy.name = "\(entry.key)@\(line)"
            return read(rest, policy)
        }
        let base = named(use.value, definitions, example: "standard")
        // What is wrong with the rest is told all the same.
        let other = rest.isEmpty ? base : read(rest, base ?? standard)
        guard let base, var other else { return nil }
        if !rest.isEmpty { other.name = "\(base.name)@\(line)" }
        return other
    }

    /// Tells definitions that no rule uses; `used` are the names of those that rules take.
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
    /// The names of the policies that rules take, as `policy` says, and change on the line of
    /// `key`.
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
