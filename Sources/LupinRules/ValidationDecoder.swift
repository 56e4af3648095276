// What `validate:` of a rule says: which statuses, types, fields, sizes and JSON values are good.

import LupinCore

extension DecodingContext {
    /// `validate:` of a rule; nil when a problem was told.
    ///
    /// An empty map demands nothing: so a later rule takes back what an earlier one demands.
    func validation(_ node: YAMLNode) -> ValidationPolicy? {
        ValidationDecoder(context: self).policy(node)
    }

    /// A status or a range of them.
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
            error(.type, "\"\(text)\" is not a number", at: node, hint: hint)
            return nil
        }
        var bounds: [UInt16] = []
        for part in text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false) {
            guard let status = number(String(part), at: node, in: allowed, what: "status") else {
                return nil
            }
            bounds.append(UInt16(truncatingIfNeeded: status))
        }
        guard let low = bounds.first, let high = bounds.last, low <= high else {
            let hint = "write \(bounds.reversed().map(String.init).joined(separator: "-"))"
            error(.range, "the range \(text) is empty", at: node, hint: hint)
            return nil
        }
        return low...high
    }
}

private struct ValidationDecoder {
    private static let keys = ["status", "content_type", "header", "size", "json", "then"]
    /// Each of them is looked for in every body.
    private static let jsonDemandsMax = 32
    private static let statuses = 100...599

    let context: DecodingContext

    func policy(_ node: YAMLNode) -> ValidationPolicy? {
        guard case .map(let entries) = node.content else {
            wrongType(node, "a map", "{status: 200-399}")
            return nil
        }
        var policy = ValidationPolicy()
        var isComplete = true
        for entry in entries where !decode(entry, into: &policy) { isComplete = false }
        guard isComplete else { return nil }
        if policy.isEmpty, let entry = entries.first {
            context.error(
                .range,
                "\"validate\" demands nothing",
                atKey: entry,
                hint: "write {status: 200-399}, or {} for nothing"
            )
            return nil
        }
        return policy
    }

    /// Whether the key was understood; else a problem was told.
    private func decode(_ entry: YAMLNode.Entry, into policy: inout ValidationPolicy) -> Bool {
        let node = entry.value
        switch entry.key {
        case "status": return set(&policy.status, statuses(node))
        case "content_type": return set(&policy.contentType, contentType(node))
        case "size": return set(&policy.size, size(node))
        case "header":
            guard let headers = headers(node) else { return false }
            policy.headers = headers
        case "json":
            guard let json = json(node) else { return false }
            policy.json = json
        case "then":
            guard let action = action(node) else { return false }
            policy.action = action
        default:
            context.unknownKey(entry, in: "validate", known: Self.keys)
            return false
        }
        return true
    }

    private func set<Value>(_ target: inout Value?, _ value: Value?) -> Bool {
        guard let value else { return false }
        target = value
        return true
    }

    /// The items of a list that is not empty; one value alone is a list of one.
    private func items(_ node: YAMLNode, _ expected: String, _ example: String) -> [YAMLNode]? {
        let items = context.items(node)
        if items.isEmpty { wrongType(node, expected, example) }
        return items.isEmpty ? nil : items
    }

    private func wrongType(_ node: YAMLNode, _ expected: String, _ example: String) {
        let isEmptyList = if case .list(let items) = node.content { items.isEmpty } else { false }
        let found = isEmptyList ? "an empty list" : node.kindText
        let message = "expected \(expected), found \(found)"
        context.error(.type, message, at: node, hint: "write \(example)")
    }

    private func action(_ node: YAMLNode) -> ValidationPolicy.Action? {
        let words = ValidationPolicy.Action.allCases.map(\.rawValue)
        let expected = words.joined(separator: ", ")
        guard let text = context.text(node, expected: expected, example: "fail") else { return nil }
        if let action = ValidationPolicy.Action(rawValue: text) { return action }
        context.unknownWord(node, text, for: "value", known: words)
        return nil
    }

    // MARK: status

    private func statuses(_ node: YAMLNode) -> StatusSet? {
        guard let items = items(node, "a status or a range", "200-399") else { return nil }
        let ranges = items.map {
            context.statusRange($0, in: Self.statuses, example: "200-399")
        }
        return ranges.contains(nil) ? nil : StatusSet(ranges.compactMap { $0 })
    }

    // MARK: content_type

    private func contentType(_ node: YAMLNode) -> ValidationPolicy.ContentType? {
        let expected = "accept or media types"
        guard let items = items(node, expected, "application/json") else { return nil }
        if items.count == 1, items[0].scalarText == "accept" { return .accept }
        let ranges = items.map(mediaRange)
        return ranges.contains(nil) ? nil : .listed(ranges.compactMap { $0 })
    }

    private func mediaRange(_ node: YAMLNode) -> MediaRange? {
        let expected = "accept or media types"
        guard let text = context.text(node, expected: expected, example: "application/json") else {
            return nil
        }
        if text == "accept" {
            let message = "\"accept\" is a word for itself and not one of several types"
            context.error(.type, message, at: node, hint: "write content_type: accept")
            return nil
        }
        guard let range = MediaRange(text), text.contains("/") else {
            let near = nearest(to: text, among: ["accept"]).map { "did you mean \"\($0)\"? " } ?? ""
            let hint = near + "write application/json, text/* or accept"
            context.error(.type, "\"\(text)\" is not a media type", at: node, hint: hint)
            return nil
        }
        guard !text.contains(";") else {
            let message = "parameters of a media type are not compared"
            context.error(.type, message, at: node, hint: "write \(range.text)")
            return nil
        }
        return range
    }

    // MARK: header

    private func headers(_ node: YAMLNode) -> [ValidationPolicy.FieldDemand]? {
        let example = "{X-Request-Id: \"*\"}"
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            wrongType(node, "names and values", example)
            return nil
        }
        var demands: [ValidationPolicy.FieldDemand] = []
        for entry in entries {
            guard context.isFieldName(entry.key) else {
                context.error(.header, "\"\(entry.key)\" is not a field name", atKey: entry)
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
            wrongType(node, "min and max", "{min: 1B, max: 10MiB}")
            return nil
        }
        var size = ValidationPolicy.Size()
        var isComplete = true
        for entry in entries {
            guard entry.key == "min" || entry.key == "max" else {
                context.unknownKey(entry, in: "size", known: ["min", "max"])
                isComplete = false
                continue
            }
            guard let bytes = bytes(entry.value) else {
                isComplete = false
                continue
            }
            if entry.key == "min" { size.min = bytes } else { size.max = bytes }
        }
        guard isComplete else { return nil }
        if let max = size.max, max < size.min {
            context.error(
                .range,
                "max is less than min: no body is good",
                at: node,
                hint: "write the smaller one as min"
            )
            return nil
        }
        return size
    }

    /// A size; as a single byte is what tells an empty body, `1` needs no unit here.
    private func bytes(_ node: YAMLNode) -> UInt64? {
        guard let text = context.text(node, expected: "a size", example: "10MiB") else {
            return nil
        }
        if text == "1" { return 1 }
        do {
            return UInt64(try Units.size(text))
        } catch {
            context.error(.type, error.message, at: node, hint: error.hint)
            return nil
        }
    }

    // MARK: json

    private func json(_ node: YAMLNode) -> [ValidationPolicy.JSONDemand]? {
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            wrongType(node, "pointers and values", "{/success: true}")
            return nil
        }
        guard entries.count <= Self.jsonDemandsMax else {
            let message = "\(entries.count) values are too many"
            let hint = "at most \(Self.jsonDemandsMax)"
            context.error(.range, message, atKey: entries[Self.jsonDemandsMax], hint: hint)
            return nil
        }
        var demands: [ValidationPolicy.JSONDemand] = []
        for entry in entries {
            let scalar = scalar(entry.value)
            guard let pointer = JSONPointer(entry.key) else {
                tellPointer(entry)
                continue
            }
            if let scalar { demands.append(.init(pointer: pointer, value: scalar)) }
        }
        return demands.count == entries.count ? demands : nil
    }

    private func tellPointer(_ entry: YAMLNode.Entry) {
        let isRooted = entry.key.hasPrefix("/")
        let path = entry.key.hasPrefix("$.") ? entry.key.dropFirst(2) : entry.key[...]
        let steps = path.split(separator: ".").joined(separator: "/")
        context.error(
            .type,
            "\"\(entry.key)\" is not a JSON pointer",
            atKey: entry,
            hint: isRooted ? "~ is written ~0, and / in a name ~1" : "write /\(steps)"
        )
    }

    /// A plain `true`, `false`, `null` or number is what JSON takes it for; every other text, and
    /// all that is quoted or filled in, is a string.
    private func scalar(_ node: YAMLNode) -> JSONScalar? {
        let expected = "a string, a number, true, false or null"
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            let hint = node.isEmpty ? "write null, or \"\" for an empty string" : "write /a/b: 1"
            let message = "expected \(expected), found \(node.kindText)"
            context.error(.type, message, at: node, hint: hint)
            return nil
        }
        if isPlain {
            switch raw {
            case "true": return .bool(true)
            case "false": return .bool(false)
            case "null": return .null
            case "True", "TRUE", "False", "FALSE", "Null", "NULL", "~":
                let word = raw == "~" ? "null" : raw.lowercased()
                let hint = "write \(word), or \"\(raw)\" for the string"
                context.error(.type, "\"\(raw)\" is no value of JSON", at: node, hint: hint)
                return nil
            default: if let number = JSONNumber(raw) { return .number(number) }
            }
        }
        return context.resolved(raw, role: .setting, at: node).map { .string($0) }
    }
}
