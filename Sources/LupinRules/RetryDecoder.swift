// What `retry:` says: named policies, those written in place, and which of them a rule takes.

import LupinCore

/// The policies under `retry:` at the top of the file.
struct RetryDefinitions {
    struct Definition {
        /// nil where a problem was told: the name is known all the same.
        var policy: RetryPolicy?
        var entry: YAMLNode.Entry
    }

    /// In the order of the file.
    fileprivate(set) var all: [Definition] = []

    /// Every name that a rule may use.
    var names: [String] { RetryPolicy.builtIn.map(\.name) + all.map(\.entry.key) }

    /// The policy called `name`; `.some(nil)` where it is defined and broken.
    func policy(_ name: String) -> RetryPolicy?? {
        if let policy = RetryPolicy.builtIn.first(where: { $0.name == name }) { return policy }
        return all.first { $0.entry.key == name }.map(\.policy)
    }
}

struct RetryDecoder {
    let context: DecodingContext

    // MARK: Names

    func definitions(_ node: YAMLNode) -> RetryDefinitions {
        var definitions = RetryDefinitions()
        let example = "{patient: {limit: 5}}"
        let entries = context.entries(node, of: "names and policies", example: example) ?? []
        for entry in entries {
            if let builtIn = RetryPolicy.builtIn.first(where: { $0.name == entry.key }) {
                check(entry, saysWhat: builtIn)
                continue
            }
            definitions.all.append(.init(policy: definition(entry), entry: entry))
        }
        return definitions
    }

    /// A built-in policy may be written out, as the documentation does, and not changed.
    private func check(_ entry: YAMLNode.Entry, saysWhat builtIn: RetryPolicy) {
        let example = "{limit: \(builtIn.limit)}"
        guard
            let entries = context.entries(entry.value, of: "a retry policy", example: example),
            let written = RetryPolicyDecoder(context: context)
                .policy(entries, startingFrom: builtIn),
            written != builtIn
        else { return }
        context.error(
            .name,
            "the retry policy \"\(entry.key)\" is built in, and says something else",
            atKey: entry,
            hint: "choose another name"
        )
    }

    private func definition(_ entry: YAMLNode.Entry) -> RetryPolicy? {
        let example = "{limit: 5}"
        let entries = context.entries(entry.value, of: "a retry policy", example: example)
        guard let entries else { return nil }
        let rest = entries.filter { $0.key != "use" }
        let policy = RetryPolicyDecoder(context: context)
            .policy(rest, startingFrom: RetryPolicy(name: entry.key))
        guard let use = entries.first(where: { $0.key == "use" }) else { return policy }
        context.error(
            .key,
            "unknown key \"use\" in \"\(entry.key)\"",
            atKey: use,
            hint: "what a policy leaves out is as in standard; only rules say use"
        )
        return nil
    }

    /// Tells definitions that no rule uses.
    func warnOfUnused(_ definitions: RetryDefinitions, by rules: [Rule]) {
        for definition in definitions.all {
            let name = definition.entry.key
            let isUsed = rules.contains { rule in
                let line = rule.keyLines["retry"] ?? 0
                return rule.retry?.name == name || rule.retry?.name == "\(name)@\(line)"
            }
            if isUsed { continue }
            context.warning(
                .name,
                "no rule uses the retry policy \"\(name)\"",
                atKey: definition.entry,
                hint: "write retry: \(name) in a rule, or take it out"
            )
        }
    }

    /// `retry:` of a rule: a name, `{use: NAME, …}`, or a policy in place; nil when a problem was
    /// told.
    func retry(_ entry: YAMLNode.Entry, _ definitions: RetryDefinitions) -> RetryPolicy? {
        guard case .map(let entries) = entry.value.content else {
            return used(entry.value, definitions)
        }
        var policy = RetryPolicy.standard
        let line = entry.keyPlace.line
        let rest = entries.filter { $0.key != "use" }
        if let use = entries.first(where: { $0.key == "use" }) {
            let base = used(use.value, definitions)
            // What is wrong with the rest is told all the same.
            let other = rest.isEmpty ? base : changed(base ?? policy, rest, usesName: true)
            guard let base, var other else { return nil }
            if !rest.isEmpty { other.name = "\(base.name)@\(line)" }
            return other
        }
        policy.name = "retry@\(line)"
        return changed(policy, rest, usesName: false)
    }

    private func changed(
        _ policy: RetryPolicy,
        _ entries: [YAMLNode.Entry],
        usesName: Bool
    ) -> RetryPolicy? {
        RetryPolicyDecoder(context: context, isOfRule: true, usesName: usesName)
            .policy(entries, startingFrom: policy)
    }

    private func used(_ node: YAMLNode, _ definitions: RetryDefinitions) -> RetryPolicy? {
        guard let name = context.text(node, expected: "a retry policy", example: "standard") else {
            return nil
        }
        if let policy = definitions.policy(name) { return policy }
        context.undefinedName(node, name, of: "retry policy", defined: definitions.names)
        return nil
    }
}
