// Checks `cache:` of a rule against the rest of the rule: overrides for unnamed hosts, and caches
// that never store anything.

import LupinPolicy

struct CacheConsistency {
    let context: DecodingContext

    /// Reports problems in rules, which come with their entries in the file.
    func check(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        for (rule, entries) in rules {
            guard let policy = rule.cache ?? nil,
                let entry = entries.first(where: { $0.key == "cache" })
            else { continue }
            checkOverrides(policy, rule, entry)
            checkMethods(rule, entry)
        }
    }

    /// Warns about a policy that overrides origins in a rule that does not name its hosts.
    private func checkOverrides(_ policy: CachePolicy, _ rule: Rule, _ entry: YAMLNode.Entry) {
        guard !policy.overrides.isEmpty, !rule.namesHosts else { return }
        let overrides = policy.overrides.joined(separator: ", ")
        var location = entry
        if case .map(let inside) = entry.value.content,
            let own = inside.first(where: { $0.key == "ttl" || $0.key == "ignore" })
        {
            location = own
        }
        context.warning(
            .cache,
            "the rule \"\(rule.name)\" overrides what origins say (\(overrides)), and does not "
                + "name its hosts",
            at: location,
            hint: "write host: api.example in its match"
        )
    }

    /// Warns when the rule matches no GET, since only responses to GET are stored.
    private func checkMethods(_ rule: Rule, _ entry: YAMLNode.Entry) {
        guard !rule.matches.isEmpty, !rule.matches.contains(where: \.mayBeGET) else { return }
        let message = "the rule \"\(rule.name)\" has nothing to cache: it matches no GET"
        let hint = "write method: GET in its match, or take cache out"
        context.warning(.cache, message, at: entry, hint: hint)
    }
}

extension Rule {
    /// Whether every alternative has only explicit host patterns.
    var namesHosts: Bool {
        matches.allSatisfy { $0.hosts?.allSatisfy(\.isExplicit) ?? false }
    }
}
