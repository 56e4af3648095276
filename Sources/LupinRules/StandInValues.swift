// Decodes what the file says of stand-ins: their form, the variables that get one, and the rules
// that exchange them.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// Decodes `stand_in:` of a token; returns nil after reporting a problem.
    func standIn(_ node: YAMLNode) -> StandInTemplate? {
        let example = "\"ghp_{36}\""
        guard let text = text(node, expected: "a template", example: example) else { return nil }
        do throws(StandInTemplate.Problem) {
            return try StandInTemplate(parsing: text)
        } catch {
            return refuse(.type, error.sentence, at: node, hint: "write such as \(example)")
        }
    }

    /// Decodes `exec.env`, once all tokens are known; entries with a problem are left out.
    func execVariables(
        _ node: YAMLNode,
        _ tokens: [TokenDefinition]
    ) -> [ExecSettings.Variable] {
        let example = "env: {GITHUB_TOKEN: github}"
        let entries = entries(node, of: "names of variables and tokens", example: example) ?? []
        return entries.compactMap { entry in
            guard isVariable(entry) else { return nil }
            return standInToken(entry.value, tokens).map {
                ExecSettings.Variable(name: entry.key, token: $0)
            }
        }
    }

    /// Decodes `stand_ins:` of a rule: names of tokens, or a map; what has a problem is left out.
    func standIns(_ entry: YAMLNode.Entry, _ tokens: [TokenDefinition], into rule: inout Rule) {
        guard case .map(let entries) = entry.value.content else {
            rule.standIns = standInTokens(entry.value, tokens)
            return
        }
        for entry in entries {
            switch entry.key {
            case "tokens": rule.standIns = standInTokens(entry.value, tokens)
            case "in":
                rule.standInLocations = items(entry.value).compactMap(standInLocation).reduce(
                    into: []) {
                        $0.formUnion($1)
                    }
            default: unknownKey(entry, in: "stand_ins", known: ["tokens", "in"])
            }
        }
    }

    private func standInLocation(_ node: YAMLNode) -> StandInLocations? {
        let words = StandInLocations.words.map(\.word)
        let example = words.joined(separator: ", ")
        guard let text = text(node, expected: "fields, query or path", example: example) else {
            return nil
        }
        if let location = StandInLocations.words.first(where: { $0.word == text })?.location {
            return location
        }
        if text == "body" {
            let message = "a stand-in in a body is not exchanged"
            return refuse(.unavailable, message, at: node, hint: "write \(example)")
        }
        return refuse(
            .type,
            "\"\(text)\" is no place of a stand-in",
            at: node,
            hint: "write \(example)"
        )
    }

    /// Decodes names of tokens; those with a problem are left out.
    private func standInTokens(_ node: YAMLNode, _ tokens: [TokenDefinition]) -> [String] {
        var known: Set<String> = []
        return items(node).compactMap { standInToken($0, tokens) }
            .filter { known.insert($0).inserted }
    }

    private func standInToken(_ node: YAMLNode, _ tokens: [TokenDefinition]) -> String? {
        guard let name = text(node, expected: "the name of a token", example: "github") else {
            return nil
        }
        guard knownTokens.contains(name) else {
            return undefinedName(node, name, of: "token", defined: tokenNames)
        }
        if digestTokens(tokens).contains(name) {
            let message = "\"\(name)\" has no stand-in: a password for Digest is never sent"
            return refuse(.type, message, at: node, hint: "write auth: \(name) in a rule")
        }
        return name
    }

    private func isVariable(_ entry: YAMLNode.Entry) -> Bool {
        guard demandVariableName(entry) else { return false }
        if ChildVariables.all.contains(entry.key) {
            let message = "lupin exec sets \(entry.key) itself"
            error(.key, message, at: entry, hint: "choose another name")
            return false
        }
        return true
    }

    /// Reports a key that is no name of a variable.
    func demandVariableName(_ entry: YAMLNode.Entry) -> Bool {
        let name = entry.key
        let isName =
            name.utf8.first.map { !$0.isASCIIDigit } ?? false
            && name.utf8.allSatisfy { $0 == 0x5F || $0.isASCIIDigit || $0.isASCIILetter }
        if !isName {
            let hint = "letters, digits and _, and no digit first"
            error(.key, "\"\(name)\" is no name of a variable", at: entry, hint: hint)
        }
        return isName
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }
}
