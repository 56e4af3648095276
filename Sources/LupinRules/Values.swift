// Single values: a scalar read as the type that the schema asks for, never as what it looks like.

import LupinCore

extension DecodingContext {
    /// The text of a scalar with its `${env:…}` filled in; nil when a problem was told.
    ///
    /// `expected` completes "expected …, found"; `example` is a value that would do.
    func text(
        _ node: YAMLNode,
        expected: String,
        example: String,
        mayBeEmpty: Bool = false
    ) -> String? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            error(
                .type,
                "expected \(expected), found \(node.kindText)",
                at: node,
                hint: "write \(example)"
            )
            return nil
        }
        guard let value = resolved(raw, role: .setting, at: node) else { return nil }
        guard mayBeEmpty || !value.isEmpty else {
            error(.type, "expected \(expected), found \"\"", at: node, hint: "write \(example)")
            return nil
        }
        return value
    }

    /// The items of a list; one value alone is a list of one, nothing is an empty list.
    func items(_ node: YAMLNode) -> [YAMLNode] {
        if node.isEmpty { return [] }
        if case .list(let items) = node.content { return items }
        return [node]
    }

    /// The entries of a map; nothing is an empty map.
    func entries(_ node: YAMLNode, of what: String, example: String) -> [YAMLNode.Entry]? {
        if node.isEmpty { return [] }
        if case .map(let entries) = node.content { return entries }
        error(
            .type,
            "expected \(what), found \(node.kindText)",
            at: node,
            hint: "write \(example)"
        )
        return nil
    }

    func boolean(_ node: YAMLNode) -> Bool? {
        guard let text = text(node, expected: "true or false", example: "true") else { return nil }
        switch text {
        case "true": return true
        case "false": return false
        case "yes", "on", "Yes", "On", "True", "TRUE", "YES", "ON", "y":
            error(.type, "\"\(text)\" is not a boolean", at: node, hint: "write true")
        case "no", "off", "No", "Off", "False", "FALSE", "NO", "OFF", "n":
            error(.type, "\"\(text)\" is not a boolean", at: node, hint: "write false")
        default:
            error(.type, "\"\(text)\" is not a boolean", at: node, hint: "write true or false")
        }
        return nil
    }

    /// A whole number of a range; `range` stands in the hint.
    func number(_ node: YAMLNode, in range: ClosedRange<Int>, what: String) -> Int? {
        guard let text = text(node, expected: "a number", example: "\(range.lowerBound)") else {
            return nil
        }
        return number(text, at: node, in: range, what: what)
    }

    func number(_ text: String, at node: YAMLNode, in range: ClosedRange<Int>, what: String) -> Int?
    {
        let allowed = "\(range.lowerBound) to \(range.upperBound)"
        guard let value = Units.wholeNumber(text[...]) else {
            if text.hasPrefix("-"), Units.wholeNumber(text.dropFirst()) != nil {
                error(
                    .range,
                    "\(what) \(text) is out of range",
                    at: node,
                    hint: "allowed: \(allowed)"
                )
            } else {
                error(
                    .type,
                    "\"\(text)\" is not a number",
                    at: node,
                    hint: "write a number from \(allowed)"
                )
            }
            return nil
        }
        guard range.contains(Int(value)) else {
            error(.range, "\(what) \(text) is out of range", at: node, hint: "allowed: \(allowed)")
            return nil
        }
        return Int(value)
    }

    /// A port of 1 to 65535.
    func port(_ node: YAMLNode) -> UInt16? {
        number(node, in: 1...65535, what: "port").map { UInt16(truncatingIfNeeded: $0) }
    }

    /// A list of ports and ranges.
    func ports(_ node: YAMLNode) -> PortSet? {
        var ranges: [ClosedRange<UInt16>] = []
        var isComplete = true
        for item in items(node) {
            if let range = portRange(item) { ranges.append(range) } else { isComplete = false }
        }
        return isComplete ? PortSet(ranges) : nil
    }

    private func portRange(_ node: YAMLNode) -> ClosedRange<UInt16>? {
        guard let text = text(node, expected: "a port or a range", example: "443 or 8000-8999")
        else { return nil }
        var bounds: [UInt16] = []
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        for part in parts {
            guard let bound = number(String(part), at: node, in: 1...65535, what: "port") else {
                return nil
            }
            bounds.append(UInt16(truncatingIfNeeded: bound))
        }
        guard let low = bounds.first, let high = bounds.last, low <= high else {
            error(
                .range,
                "the range \(text) is empty",
                at: node,
                hint: "write \(bounds.reversed().map(String.init).joined(separator: "-"))"
            )
            return nil
        }
        return low...high
    }

    /// A list of addresses and networks.
    func networks(_ node: YAMLNode) -> [CIDR]? {
        var networks: [CIDR] = []
        var isComplete = true
        for item in items(node) {
            let example = "127.0.0.0/8 or \"::1\""
            guard let text = text(item, expected: "an address or a network", example: example)
            else {
                isComplete = false
                continue
            }
            if let network = CIDR(text) {
                networks.append(network)
            } else {
                isComplete = false
                error(
                    .type,
                    "\"\(text)\" is not an address or a network",
                    at: item,
                    hint: "write \(example)"
                )
            }
        }
        return isComplete ? networks : nil
    }

    /// A list of texts.
    func texts(_ node: YAMLNode, expected: String, example: String) -> [String]? {
        var result: [String] = []
        var isComplete = true
        for item in items(node) {
            if let text = text(item, expected: expected, example: example) {
                result.append(text)
            } else {
                isComplete = false
            }
        }
        return isComplete ? result : nil
    }
}

// MARK: Values by the settings table

extension DecodingContext {
    /// A duration; `.some(nil)` is `none`.
    func duration(_ node: YAMLNode, _ setting: Setting) -> Duration?? {
        guard case .duration(let range, let orNone) = setting.kind,
            let text = text(node, expected: "a duration", example: setting.example)
        else { return nil }
        if orNone, text == "none" { return .some(nil) }
        if isMoreYears(text, than: range.upperBound) {
            outOfRange(text, setting, at: node)
            return nil
        }
        guard let value = units(node, { () throws(Units.Problem) in try Units.duration(text) })
        else {
            return nil
        }
        guard range.contains(value) else {
            outOfRange(text, setting, at: node)
            return nil
        }
        return .milliseconds(value)
    }

    /// A number of bytes; `.some(nil)` is the setting's word, such as `none`.
    func size(_ node: YAMLNode, _ setting: Setting) -> Int?? {
        guard case .size(let range, let word) = setting.kind,
            let text = text(node, expected: "a size", example: setting.example)
        else { return nil }
        if let word, text == word { return .some(nil) }
        guard let value = units(node, { () throws(Units.Problem) in try Units.size(text) }) else {
            return nil
        }
        guard range.contains(value) else {
            outOfRange(text, setting, at: node)
            return nil
        }
        return value
    }

    /// Bytes per second; `.some(nil)` is `none`.
    func rate(_ node: YAMLNode) -> Int?? {
        guard let text = text(node, expected: "a rate", example: "64/s") else { return nil }
        if text == "none" { return .some(nil) }
        return units(node) { () throws(Units.Problem) in try Units.rate(text) }
    }

    /// So many in so much time.
    func rateLimit(_ node: YAMLNode, _ setting: Setting) -> RateLimit? {
        guard case .count(let counts, let times) = setting.kind,
            let text = text(node, expected: "a number in a time", example: setting.example),
            let value = units(node, { () throws(Units.Problem) in try Units.countInTime(text) })
        else { return nil }
        guard counts.contains(value.count), times.contains(value.milliseconds) else {
            outOfRange(text, setting, at: node)
            return nil
        }
        return RateLimit(count: value.count, per: .milliseconds(value.milliseconds))
    }

    /// A number; `.some(nil)` is the setting's word, such as `auto`.
    func number(_ node: YAMLNode, _ setting: Setting) -> Int?? {
        guard case .number(let range, let word) = setting.kind,
            let text = text(node, expected: "a number", example: setting.example)
        else { return nil }
        if let word, text == word { return .some(nil) }
        return number(text, at: node, in: range, what: setting.key).map { .some($0) } ?? nil
    }

    /// One of the setting's words.
    func choice(_ node: YAMLNode, _ setting: Setting) -> String? {
        guard case .choice(let words) = setting.kind,
            let text = text(node, expected: words.joined(separator: ", "), example: setting.example)
        else { return nil }
        if words.contains(text) { return text }
        unknownWord(node, text, for: "value", known: words)
        return nil
    }

    private func units<Value>(
        _ node: YAMLNode,
        _ read: () throws(Units.Problem) -> Value
    ) -> Value? {
        do {
            return try read()
        } catch {
            self.error(.type, error.message, at: node, hint: error.hint)
            return nil
        }
    }

    /// Years are no unit, but what they say is clear where all of them are too many.
    private func isMoreYears(_ text: String, than milliseconds: Int64) -> Bool {
        guard text.hasSuffix("y"), let years = Units.wholeNumber(text.dropLast()) else {
            return false
        }
        return years > milliseconds / (365 * 86_400_000)
    }

    private func outOfRange(_ text: String, _ setting: Setting, at node: YAMLNode) {
        let hint = setting.rangeText.map { "allowed: \($0)" }
        error(.range, "\(setting.key) \(text) is out of range", at: node, hint: hint)
    }
}

extension Setting {
    /// A value that would do: the default, or something with a unit where that is a word.
    var example: String {
        guard defaultText == "none" else { return defaultText }
        switch kind {
        case .duration: return "90s"
        case .size: return "10MiB"
        case .rate: return "64/s"
        default: return defaultText
        }
    }
}
