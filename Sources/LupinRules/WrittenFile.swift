// The rules file in its author's words: the text of each key and its line.

package import LupinCore
package import LupinPolicy

/// The text of a checked rules file, without literal secrets.
package struct WrittenFile: Sendable {
    /// A value as the file writes it, on one line.
    package struct Value: Sendable, Equatable {
        /// 1-based.
        package var line: Int
        package var text: String

        package init(line: Int, text: String) {
            self.line = line
            self.text = text
        }
    }

    /// A rule as the file writes it.
    package struct WrittenRule: Sendable {
        /// Its keys, with dotted leaves for keys that merge, in the order of the file.
        package var keys: [(key: String, value: Value)] = []
        /// The placeholders for the secrets of its `request:` steps, in their order.
        package var labels: [String] = []

        /// Returns the value of a key or leaf.
        package func value(of key: String) -> Value? { keys.first { $0.key == key }?.value }
    }

    /// In the order of the file, like the rules of its configuration.
    package private(set) var rules: [WrittenRule] = []
    /// The settings that the file has, by dotted name.
    package private(set) var settings: [String: Value] = [:]
    let root: [YAMLNode.Entry]

    /// Parses a text; one that is not YAML gives an empty file.
    package init(text: String, redaction: RedactionSettings) {
        var reader = DocumentReader(source: SourceFile(name: "", text: text))
        guard let node = reader.read(),
            case .map(let entries) = WrittenSecrets(redaction).concealed(node).content
        else {
            root = []
            return
        }
        root = entries
        for entry in entries where entry.key != "rules" { note(entry, "") }
        guard case .list(let items)? = entries.first(where: { $0.key == "rules" })?.value.content
        else { return }
        rules = items.map(WrittenFile.rule)
    }

    /// Parses the text of `configuration`; without a file it is empty.
    package init(of configuration: Configuration) {
        self.init(
            text: configuration.text ?? "",
            redaction: configuration.settings.log.redact
        )
    }

    /// The settings of these names, each once, as the file writes them or else by default.
    ///
    /// A name that ends with a dot stands for what the file says there or below, and `tokens.NAME`
    /// for a token of the file. What rules have is none, such as `retry`, under which the file only
    /// defines policies.
    package func settings(named names: [String]) -> [(name: String, text: String, line: Int?)] {
        var found: [(name: String, text: String, line: Int?)] = []
        func add(_ name: String, _ value: Value?, default text: String = "") {
            guard !found.contains(where: { $0.name == name }) else { return }
            found.append((name: name, text: value?.text ?? text, line: value?.line))
        }
        for name in names where RuleKey(rawValue: name) == nil {
            if name.hasSuffix(".") {
                let known = SettingsTable.settings.map(\.name)
                for setting in known where "\(setting).".hasPrefix(name) {
                    if let value = settings[setting] { add(setting, value) }
                }
            } else if name.hasPrefix("tokens.") {
                if let value = token(String(name.dropFirst("tokens.".count))) { add(name, value) }
            } else if let setting = SettingsTable.setting(name) {
                add(name, settings[name], default: setting.defaultText)
            } else if let value = settings[name] {
                add(name, value)
            }
        }
        return found
    }

    private func token(_ name: String) -> Value? {
        guard case .map(let all)? = root.first(where: { $0.key == "tokens" })?.value.content,
            let entry = all.first(where: { $0.key == name })
        else { return nil }
        return WrittenFile.value(of: entry, below: nil).value
    }

    private mutating func note(_ entry: YAMLNode.Entry, _ section: String) {
        let name = section.isEmpty ? entry.key : "\(section).\(entry.key)"
        settings[name] = Value(line: entry.keyLocation.line, text: WrittenText.flow(entry.value))
        guard SettingsTable.setting(name) == nil, case .map(let inside) = entry.value.content else {
            return
        }
        for inner in inside { note(inner, name) }
    }

    private static func rule(_ node: YAMLNode) -> WrittenRule {
        var rule = WrittenRule()
        guard case .map(let entries) = node.content else { return rule }
        for entry in entries {
            if RuleKey(rawValue: entry.key)?.row.together == .merges,
                case .map(let leaves) = entry.value.content,
                !leaves.isEmpty
            {
                for leaf in leaves { rule.keys.append(value(of: leaf, below: entry.key)) }
            } else {
                rule.keys.append(value(of: entry, below: nil))
            }
            if entry.key == "request" { addLabels(ofSteps: entry.value, to: &rule.labels) }
        }
        return rule
    }

    private static func value(
        of entry: YAMLNode.Entry,
        below section: String?
    ) -> (key: String, value: Value) {
        let key = section.map { "\($0).\(entry.key)" } ?? entry.key
        let text = WrittenText.flow(entry.value)
        return (key: key, value: Value(line: entry.keyLocation.line, text: text))
    }

    /// Adds the secrets that steps name, in the order in which the decoder resolves them.
    private static func addLabels(ofSteps node: YAMLNode, to labels: inout [String]) {
        guard case .list(let items) = node.content else { return }
        for item in items {
            guard case .map(let entries) = item.content, let step = entries.first else { continue }
            switch step.key {
            case "set", "add", "default":
                for field in fields(of: step.value) { addLabels(field.value, to: &labels) }
            case "query":
                for part in fields(of: step.value) where part.key == "set" {
                    for parameter in fields(of: part.value) {
                        addLabels(parameter.value, to: &labels)
                    }
                }
            case "url":
                // A path that is a map is a pattern, which has no references.
                for part in fields(of: step.value) where part.key == "path" {
                    addLabels(part.value, to: &labels)
                }
            default: break
            }
        }
    }

    private static func fields(of node: YAMLNode) -> [YAMLNode.Entry] {
        if case .map(let entries) = node.content { entries } else { [] }
    }

    private static func addLabels(_ value: YAMLNode, to labels: inout [String]) {
        guard let text = value.scalarText else { return }
        for piece in ValuePiece.pieces(of: text) {
            guard case .reference(let kind, let argument?, _, _) = piece,
                kind == "secret" || kind == "file"
            else { continue }
            // A default could be a secret.
            let name = argument.firstRange(of: ":-").map { argument[..<$0.lowerBound] }
            labels.append("<\(kind) \(name ?? argument[...])>")
        }
    }
}

extension WrittenFile {
    /// The written form of the defaults, without any file.
    package static var defaults: WrittenFile {
        WrittenFile(text: "", redaction: RedactionSettings())
    }
}
