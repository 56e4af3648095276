// Decodes `retry:`: named policies, policies in place, and the policy of a rule.

import LupinPolicy

typealias RetryDefinitions = PolicyDefinitions<RetryPolicy>

extension RetryDefinitions {
    init() {
        self.init(
            key: "retry",
            words: (yes: "standard", no: "none"),
            builtIn: RetryPolicy.builtIn.map { ($0.name, $0) }
        )
    }
}

struct RetryDecoder {
    let context: DecodingContext

    func definitions(_ node: YAMLNode) -> RetryDefinitions {
        var definitions = RetryDefinitions()
        let example = "{patient: {limit: 5}}"
        let entries = context.entries(node, of: "names and policies", example: example) ?? []
        for entry in entries {
            if let builtIn = RetryPolicy.builtIn.first(where: { $0.name == entry.key }) {
                check(entry, saysWhat: builtIn)
                continue
            }
            let policy = context.definition(entry, of: "retry", example: "{limit: 5}") {
                let decoder = RetryPolicyDecoder(context: context)
                return decoder.policy($0, startingFrom: RetryPolicy(name: entry.key))
            }
            definitions.all.append(.init(policy: policy, entry: entry))
        }
        return definitions
    }

    /// Reports a changed built-in policy; repeating its values, as the documentation does, is
    /// allowed.
    private func check(_ entry: YAMLNode.Entry, saysWhat builtIn: RetryPolicy) {
        let example = "{limit: \(builtIn.limit)}"
        guard
            let entries = context.entries(entry.value, of: "a retry policy", example: example),
            let written = RetryPolicyDecoder(context: context)
                .policy(entries, startingFrom: builtIn),
            written != builtIn
        else { return }
        let message = "the retry policy \"\(entry.key)\" is built in, and says something else"
        context.error(.name, message, at: entry, hint: "choose another name")
    }

    /// Warns about definitions that no rule uses.
    func warnOfUnused(_ definitions: RetryDefinitions, by rules: [Rule]) {
        context.warnOfUnused(definitions, used: rules.policyNames("retry") { $0.retry?.name })
    }

    /// Decodes `retry:` of a rule: a name, `{use: NAME, …}`, or a policy in place; returns nil
    /// after reporting a problem.
    func retry(_ entry: YAMLNode.Entry, _ definitions: RetryDefinitions) -> RetryPolicy? {
        guard case .map(let entries) = entry.value.content else {
            return context.named(entry.value, definitions, example: "standard")
        }
        return context.policy(entry, entries, definitions, standard: .standard) {
            RetryPolicyDecoder(context: context, isOfRule: true).policy($0, startingFrom: $1)
        }
    }
}
