// Says where a key belongs that a rule has, and that is written in another of its places.

import LupinPolicy

/// The places of a rule that have keys of their own.
enum RulePlace: String {
    case rules, match, request, response, respond

    /// What to write instead of `key` here; nil where no place of a rule has such a key.
    func advice(for key: String) -> String? {
        let isStep = self == .request || self == .response
        if self == .rules, Self.has(key, RuleKeyTable.match) {
            return "it belongs under match: match: {\(key): …}"
        }
        if !isStep, Self.has(key, RuleKeyTable.step) {
            let isOfBoth = Self.has(key, RuleKeyTable.responseStep)
            let other = isOfBoth ? ", or response: [{\(key): …}]" : ""
            return "it is a step: request: [{\(key): …}]\(other)"
        }
        if self != .rules, RuleKey(rawValue: key) != nil {
            return "it belongs to the rule itself, beside match"
        }
        guard isStep else { return nil }
        switch key {
        case "header", "headers": return "write set: {NAME: VALUE}"
        case "scheme", "host", "port", "path": return "write url: {\(key): …}"
        default: return nil
        }
    }

    private static func has(_ key: String, _ table: [DocumentedKey]) -> Bool {
        table.contains { $0.key == key }
    }
}
