// What the steps `body:` and `json:` say: a pattern with its replacement, or values by pointers.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// The edit of a step; nil when a problem was told.
    func bodyEdit(_ entry: YAMLNode.Entry) -> BodyEdit? {
        entry.key == "body" ? replacement(entry.value) : jsonEdit(entry.value)
    }

    // MARK: body

    private func replacement(_ node: YAMLNode) -> BodyEdit? {
        let example = "{replace: {from: /staging/, to: dev}}"
        guard let entries = entries(node, of: "a change", example: example) else { return nil }
        var edit: BodyEdit?
        for entry in entries {
            guard entry.key == "replace" else {
                unknownKey(entry, in: "body", known: ["replace"])
                continue
            }
            edit = replace(entry.value)
        }
        if edit == nil, entries.isEmpty {
            return refuse(.key, "\"body\" changes nothing", at: node, hint: "write \(example)")
        }
        return edit
    }

    private func replace(_ node: YAMLNode) -> BodyEdit? {
        let example = "{from: /staging/, to: dev}"
        guard let entries = entries(node, of: "from and to", example: example) else { return nil }
        var from: BodyPattern?
        var to: (text: String, node: YAMLNode)?
        for entry in entries {
            switch entry.key {
            case "from":
                from = pattern(entry.value, expected: "a text") { text throws(PatternProblem) in
                    try BodyPattern(text)
                }
                if from == nil { return nil }
            case "to":
                guard case .scalar(let raw, let isPlain) = entry.value.content,
                    !(raw.isEmpty && isPlain)
                else { return wrongType(entry.value, "a replacement", write: "\"\" for nothing") }
                guard let text = resolvedPattern(raw, at: entry.value) else { return nil }
                to = (text, entry.value)
            default: unknownKey(entry, in: "replace", known: ["from", "to"])
            }
        }
        guard let from, let to else {
            let missing = from == nil ? "from" : "to"
            let message = "\"replace\" has no \"\(missing)\""
            return refuse(.key, message, at: node, hint: "write \(example)")
        }
        if let problem = Replacement.problem(in: to.text, groupCount: from.groupCount) {
            return refuse(.regex, problem.message, at: to.node)
        }
        return .replace(from, with: to.text)
    }

    // MARK: json

    /// Every value costs a pass over the body.
    private static let pointersMax = 32

    private func jsonEdit(_ node: YAMLNode) -> BodyEdit? {
        let example = "{set: {/flags/new: true}}"
        guard let entries = entries(node, of: "set and remove", example: example) else {
            return nil
        }
        var edit = JSONEdit(set: [], remove: [])
        var isComplete = true
        for entry in entries {
            switch entry.key {
            case "set":
                let pairs = self.entries(
                    entry.value,
                    of: "pointers and values",
                    example: "{/flags/new: true}"
                )
                for pair in pairs ?? [] {
                    guard let pointer = jsonPointer(pair.key, at: pair.keyLocation),
                        let value = jsonText(pair.value, isCredential: pointer.namesSecret)
                    else {
                        isComplete = false
                        continue
                    }
                    edit.set.append(.init(pointer: pointer, value: value))
                }
            case "remove":
                for item in items(entry.value) {
                    guard let text = text(item, expected: "a pointer", example: "/debug"),
                        let pointer = jsonPointer(text, at: item.location), !text.isEmpty
                    else {
                        isComplete = false
                        continue
                    }
                    edit.remove.append(pointer)
                }
            default: unknownKey(entry, in: "json", known: ["set", "remove"])
            }
        }
        guard isComplete else { return nil }
        guard 1...Self.pointersMax ~= edit.set.count + edit.remove.count else {
            let message =
                edit.set.isEmpty && edit.remove.isEmpty
                ? "\"json\" changes nothing" : "these are more than \(Self.pointersMax) pointers"
            return refuse(.range, message, at: node, hint: "write \(example)")
        }
        return .json(edit)
    }

    private func jsonPointer(_ text: String, at location: FileLocation) -> JSONPointer? {
        if let pointer = JSONPointer(text) { return pointer }
        let message = "\"\(text)\" is not a JSON pointer"
        let hint = "write /items/0/name; ~1 stands for / and ~0 for ~"
        error(.type, message, at: location, hint: hint)
        return nil
    }

    /// A value of the rules file as JSON: words, numbers, texts, lists and maps.
    ///
    /// `isCredential` is true below the name of one.
    private func jsonText(_ node: YAMLNode, isCredential: Bool) -> [UInt8]? {
        switch node.content {
        case .scalar(let raw, let isPlain):
            if isPlain {
                if ["true", "false", "null"].contains(raw) { return Array(raw.utf8) }
                if raw.isEmpty { return Array("null".utf8) }
                if JSONNumber(raw) != nil { return Array(raw.utf8) }
            }
            let text = resolved(raw, role: .setting, at: node, isCredential: isCredential)
            return text.map(Self.quoted)
        case .list(let items):
            let parts = items.compactMap { jsonText($0, isCredential: isCredential) }
            guard parts.count == items.count else { return nil }
            return [0x5B] + Array(parts.joined(separator: [0x2C])) + [0x5D]
        case .map(let entries):
            let parts = entries.compactMap { entry in
                let isSecret = isCredential || SecretNames.members.contains(entry.key.utf8Span.span)
                return jsonText(entry.value, isCredential: isSecret)
                    .map { Self.quoted(entry.key) + [0x3A] + $0 }
            }
            guard parts.count == entries.count else { return nil }
            return [0x7B] + Array(parts.joined(separator: [0x2C])) + [0x7D]
        }
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = [0x22]
        LogText.append(text, as: .json, to: &bytes)
        return bytes + [0x22]
    }
}
