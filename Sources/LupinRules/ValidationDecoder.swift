// Decodes `validate:` of a rule: the valid statuses, types, fields, sizes and JSON values.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// Decodes `validate:` of a rule; returns nil after reporting a problem.
    ///
    /// `off` demands nothing: so a later rule can cancel the demands of an earlier one.
    func validation(_ node: YAMLNode) -> ValidationPolicy? {
        ValidationDecoder(context: self).policy(node)
    }

    /// Decodes a map of conditions on a response; returns nil after reporting a problem.
    func responseCondition(_ node: YAMLNode) -> ValidationPolicy? {
        ValidationDecoder(context: self, key: "on", keys: ["status", "header", "json"]).policy(node)
    }

    /// Decodes a status or a range of them.
    func statusRange(
        _ node: YAMLNode,
        in allowed: ClosedRange<Int>,
        example: String
    ) -> ClosedRange<UInt16>? {
        guard let text = text(node, expected: "a status or a range", example: example) else {
            return nil
        }
        let lower = text.lowercased()
        if lower.utf8.count == 3, lower.hasSuffix("xx"), let first = lower.first, first.isNumber {
            let hint = "write \(first)00-\(first)99"
            return refuse(.type, "\"\(text)\" is not a number", at: node, hint: hint)
        }
        return range(text, at: node, in: allowed, what: "status")
    }
}

private struct ValidationDecoder {
    /// Each of them is searched in every body.
    private static let jsonDemandsMax = 32
    private static let statuses = 100...599

    let context: DecodingContext
    var key = "validate"
    var keys = ["status", "content_type", "header", "size", "json", "then"]

    func policy(_ node: YAMLNode) -> ValidationPolicy? {
        guard case .map(let entries) = node.content else { return named(node) }
        guard !entries.isEmpty else {
            let message = "\"\(key)\" demands nothing"
            return context.refuse(.range, message, at: node, hint: Self.hint)
        }
        var policy = ValidationPolicy()
        var isComplete = true
        for entry in entries where !decode(entry, into: &policy) { isComplete = false }
        guard isComplete else { return nil }
        if policy.isEmpty, let entry = entries.first {
            let message = "\"\(key)\" demands nothing"
            return context.refuse(.range, message, at: entry, hint: Self.hint)
        }
        return policy
    }

    private static let hint = "write standard, {status: 200-399}, or off for nothing"

    /// Decodes a policy that is a word.
    private func named(_ node: YAMLNode) -> ValidationPolicy? {
        switch node.scalarText {
        case "standard": ValidationPolicy.standard
        case "off": ValidationPolicy()
        case "json":
            wrongType(node, "standard, off or a map", "{content_type: application/json}")
        default: wrongType(node, "standard, off or a map", "standard or {status: 200-399}")
        }
    }

    /// Decodes a key; returns false after reporting a problem.
    private func decode(_ entry: YAMLNode.Entry, into policy: inout ValidationPolicy) -> Bool {
        let node = entry.value
        guard keys.contains(entry.key) else {
            context.unknownKey(entry, in: key, known: keys)
            return false
        }
        switch entry.key {
        case "status": return set(&policy.status, statuses(node))
        case "content_type": return set(&policy.contentType, contentType(node))
        case "size": return set(&policy.size, size(node))
        case "header": return set(&policy.headers, headers(node))
        case "json": return set(&policy.json, json(node))
        default: return set(&policy.action, action(node))
        }
    }

    /// Returns the items of a non-empty list; a single value is a list of one.
    private func items(_ node: YAMLNode, _ expected: String, _ example: String) -> [YAMLNode]? {
        let items = context.items(node)
        return items.isEmpty ? wrongType(node, expected, example) : items
    }

    private func wrongType<Value>(
        _ node: YAMLNode,
        _ expected: String,
        _ example: String
    ) -> Value? {
        let isEmptyList = if case .list(let items) = node.content { items.isEmpty } else { false }
        let found = isEmptyList ? "an empty list" : node.kindText
        let message = "expected \(expected), found \(found)"
        return context.refuse(.type, message, at: node, hint: "write \(example)")
    }

    private func action(_ node: YAMLNode) -> ValidationAction? {
        let words = ValidationAction.allCases.map(\.rawValue)
        return context.word(node, words, separator: ", ", example: "fail")
            .flatMap { ValidationAction(rawValue: $0) }
    }

    // MARK: status

    private func statuses(_ node: YAMLNode) -> StatusSet? {
        guard let items = items(node, "a status or a range", "200-399") else { return nil }
        let ranges = context.all(items) {
            context.statusRange($0, in: Self.statuses, example: "200-399")
        }
        return ranges.map { StatusSet($0) }
    }

    // MARK: content_type

    private func contentType(_ node: YAMLNode) -> ValidationPolicy.ContentType? {
        let expected = "accept or media types"
        guard let items = items(node, expected, "application/json") else { return nil }
        if items.count == 1, items[0].scalarText == "accept" { return .accept }
        return context.all(items, mediaRange).map { .listed($0) }
    }

    private func mediaRange(_ node: YAMLNode) -> MediaRange? {
        let expected = "accept or media types"
        guard let text = context.text(node, expected: expected, example: "application/json") else {
            return nil
        }
        if text == "accept" {
            let message = "\"accept\" is a word for itself and not one of several types"
            return context.refuse(.type, message, at: node, hint: "write content_type: accept")
        }
        guard let range = MediaRange(text), text.contains("/") else {
            let near = nearest(to: text, among: ["accept"]).map { "did you mean \"\($0)\"? " } ?? ""
            let hint = near + "write application/json, text/* or accept"
            return context.refuse(.type, "\"\(text)\" is not a media type", at: node, hint: hint)
        }
        guard !text.contains(";") else {
            let message = "parameters of a media type are not compared"
            return context.refuse(.type, message, at: node, hint: "write \(range.text)")
        }
        return range
    }

    // MARK: header

    private func headers(_ node: YAMLNode) -> [ValidationPolicy.FieldDemand]? {
        let example = "{X-Request-Id: \"*\"}"
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            return wrongType(node, "names and values", example)
        }
        var demands: [ValidationPolicy.FieldDemand] = []
        for entry in entries {
            guard context.isFieldName(entry.key) else {
                context.error(.header, "\"\(entry.key)\" is not a field name", at: entry)
                continue
            }
            guard let items = items(entry.value, "a value", "\"*\" for any value") else { continue }
            let patterns = items.compactMap(context.valuePattern)
            guard patterns.count == items.count else { continue }
            demands.append(.init(name: entry.key, values: patterns))
        }
        return demands.count == entries.count ? demands : nil
    }

    // MARK: size

    private func size(_ node: YAMLNode) -> ValidationPolicy.Size? {
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            return wrongType(node, "min and max", "{min: 1B, max: 10MiB}")
        }
        var size = ValidationPolicy.Size()
        let isComplete = context.every(entries, in: "size", known: ["min", "max"]) { entry in
            let bytes = bytes(entry.value)
            return entry.key == "min" ? set(&size.min, bytes) : set(&size.max, bytes)
        }
        guard isComplete else { return nil }
        if let max = size.max, max < size.min {
            let message = "max is less than min: no body is good"
            return context.refuse(.range, message, at: node, hint: "write the smaller one as min")
        }
        return size
    }

    /// Decodes a size; `1` needs no unit here, since one byte is the limit that excludes empty
    /// bodies.
    private func bytes(_ node: YAMLNode) -> UInt64? {
        guard let text = context.text(node, expected: "a size", example: "10MiB") else {
            return nil
        }
        if text == "1" { return 1 }
        return context.units(node) { () throws(Units.Problem) in UInt64(try Units.size(text)) }
    }

    // MARK: json

    private func json(_ node: YAMLNode) -> [ValidationPolicy.JSONDemand]? {
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            return wrongType(node, "pointers and values", "{/success: true}")
        }
        guard entries.count <= Self.jsonDemandsMax else {
            let message = "\(entries.count) values are too many"
            let hint = "at most \(Self.jsonDemandsMax)"
            return context.refuse(.range, message, at: entries[Self.jsonDemandsMax], hint: hint)
        }
        var demands: [ValidationPolicy.JSONDemand] = []
        for entry in entries {
            let values = values(entry.value)
            guard let pointer = JSONPointer(entry.key) else {
                tellPointer(entry)
                continue
            }
            if let values { demands.append(.init(pointer: pointer, values: values)) }
        }
        return demands.count == entries.count ? demands : nil
    }

    private func tellPointer(_ entry: YAMLNode.Entry) {
        let isRooted = entry.key.hasPrefix("/")
        let path = entry.key.hasPrefix("$.") ? entry.key.dropFirst(2) : entry.key[...]
        let steps = path.split(separator: ".").joined(separator: "/")
        let hint = isRooted ? "~ is written ~0, and / in a name ~1" : "write /\(steps)"
        context.error(.type, "\"\(entry.key)\" is not a JSON pointer", at: entry, hint: hint)
    }

    /// Decodes a value, or several of which any is right: a list, or `{any: […]}`.
    private func values(_ node: YAMLNode) -> [JSONScalar]? {
        if case .map(let entries) = node.content, entries.count == 1, entries[0].key == "any" {
            return values(listed: entries[0].value)
        }
        if case .list = node.content { return values(listed: node) }
        return scalar(node).map { [$0] }
    }

    private func values(listed node: YAMLNode) -> [JSONScalar]? {
        guard let items = items(node, "values", "{any: [true, \"true\"]}") else { return nil }
        return context.all(items, scalar)
    }

    /// Decodes a plain `true`, `false`, `null` or number as JSON does; any other text, and every
    /// quoted or interpolated one, is a string.
    private func scalar(_ node: YAMLNode) -> JSONScalar? {
        let expected = "a string, a number, true, false or null"
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            let hint = node.isEmpty ? "write null, or \"\" for an empty string" : "write /a/b: 1"
            let message = "expected \(expected), found \(node.kindText)"
            return context.refuse(.type, message, at: node, hint: hint)
        }
        if isPlain {
            switch raw {
            case "true": return .bool(true)
            case "false": return .bool(false)
            case "null": return .null
            case "True", "TRUE", "False", "FALSE", "Null", "NULL", "~":
                let word = raw == "~" ? "null" : raw.lowercased()
                let hint = "write \(word), or \"\(raw)\" for the string"
                return context.refuse(.type, "\"\(raw)\" is no value of JSON", at: node, hint: hint)
            default: if let number = JSONNumber(raw) { return .number(number) }
            }
        }
        return context.resolved(raw, role: .setting, at: node).map { .string($0) }
    }
}
