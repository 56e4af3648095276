// Decodes single values: a scalar is read as the type that the schema expects, whatever it looks
// like.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// Returns the text of a scalar with its `${env:…}` filled in; nil after reporting a problem.
    ///
    /// `expected` completes "expected …, found"; `example` is a valid value.
    func text(
        _ node: YAMLNode,
        expected: String,
        example: String,
        mayBeEmpty: Bool = false
    ) -> String? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(node, expected, write: example)
        }
        guard let value = resolved(raw, role: .setting, at: node) else { return nil }
        guard mayBeEmpty || !value.isEmpty else {
            error(.type, "expected \(expected), found \"\"", at: node, hint: "write \(example)")
            return nil
        }
        return value
    }

    /// Reports a name that would act on a terminal, or reorder or hide the text around it.
    func demandHarmless(_ name: String, at location: some DiagnosticLocation) {
        if LogText.isHarmless(name) { return }
        let message = "a name holds a control character, or one that reorders or hides text"
        error(.name, message, at: location, hint: "lupin would show it as \(LogText.plain(name))")
    }

    /// Returns the items of a list; a single value is a list of one, no value is an empty list.
    func items(_ node: YAMLNode) -> [YAMLNode] {
        if node.isEmpty { return [] }
        if case .list(let items) = node.content { return items }
        return [node]
    }

    /// Returns the entries of a map; no value is an empty map.
    func entries(_ node: YAMLNode, of what: String, example: String) -> [YAMLNode.Entry]? {
        if node.isEmpty { return [] }
        if case .map(let entries) = node.content { return entries }
        return wrongType(node, what, write: example)
    }

    func boolean(_ node: YAMLNode) -> Bool? {
        guard let text = text(node, expected: "true or false", example: "true") else { return nil }
        guard text == "true" || text == "false" else {
            let hint = "write \(Self.meaning(of: text).map { "\($0)" } ?? "true or false")"
            return refuse(.type, "\"\(text)\" is not a boolean", at: node, hint: hint)
        }
        if case .scalar(text, isPlain: false) = node.content {
            let message = "\"\(text)\" in quotes is a text, and is taken for a boolean here"
            warning(.type, message, at: node, hint: "write \(text)")
        }
        return text == "true"
    }

    /// What a word of other programs says, yes or no.
    static func meaning(of word: String) -> Bool? {
        switch word.lowercased() {
        case "true", "yes", "y", "on", "enabled": true
        case "false", "no", "n", "off", "none", "never", "disabled": false
        default: nil
        }
    }

    /// Decodes a whole number within a range; the hint shows `range`.
    ///
    /// For another value the hint is the number that it holds, as `retry: {limit: 2}` does, or
    /// `usual`.
    func number(
        _ node: YAMLNode,
        in range: ClosedRange<Int>,
        what: String,
        usual: Int? = nil
    ) -> Int? {
        let meant = Self.numberHeld(by: node, in: range) ?? usual ?? range.lowerBound
        guard let text = text(node, expected: "a number", example: "\(meant)") else { return nil }
        return number(text, at: node, in: range, what: what)
    }

    /// The number of a map or list that can only mean that one.
    private static func numberHeld(by node: YAMLNode, in range: ClosedRange<Int>) -> Int? {
        let values: [YAMLNode] =
            switch node.content {
            case .scalar: []
            case .list(let items): items
            case .map(let entries):
                entries.filter { entries.count == 1 || $0.key == "limit" }.map(\.value)
            }
        guard values.count == 1, case .scalar(let text, _)? = values.first?.content,
            let number = Units.wholeNumber(text[...]), range.contains(Int(number))
        else { return nil }
        return Int(number)
    }

    func number(_ text: String, at node: YAMLNode, in range: ClosedRange<Int>, what: String) -> Int?
    {
        let allowed = "\(range.lowerBound) to \(range.upperBound)"
        let isNegative = text.hasPrefix("-") && Units.wholeNumber(text.dropFirst()) != nil
        guard let value = isNegative ? -1 : Units.wholeNumber(text[...]) else {
            let hint = "write a number from \(allowed)"
            return refuse(.type, "\"\(text)\" is not a number", at: node, hint: hint)
        }
        guard range.contains(Int(value)) else {
            let message = "\(what) \(text) is out of range"
            return refuse(.range, message, at: node, hint: "allowed: \(allowed)")
        }
        return Int(value)
    }

    /// Decodes a port of 1 to 65535.
    func port(_ node: YAMLNode) -> UInt16? {
        number(node, in: 1...65535, what: "port").map { UInt16(truncatingIfNeeded: $0) }
    }

    /// Decodes a list of ports and ranges.
    func ports(_ node: YAMLNode) -> PortSet? {
        all(node) { item in
            let text = text(item, expected: "a port or a range", example: "443 or 8000-8999")
            return text.flatMap { range($0, at: item, in: 1...65535, what: "port") }
        }
        .map { PortSet($0) }
    }

    /// Decodes `A` or `A-B`, both within `allowed`.
    func range(
        _ text: String,
        at node: YAMLNode,
        in allowed: ClosedRange<Int>,
        what: String
    ) -> ClosedRange<UInt16>? {
        var bounds: [UInt16] = []
        for part in text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false) {
            guard let bound = number(String(part), at: node, in: allowed, what: what) else {
                return nil
            }
            bounds.append(UInt16(truncatingIfNeeded: bound))
        }
        guard let low = bounds.first, let high = bounds.last, low <= high else {
            let hint = "write \(bounds.reversed().map(String.init).joined(separator: "-"))"
            return refuse(.range, "the range \(text) is empty", at: node, hint: hint)
        }
        return low...high
    }

    /// Decodes a list of addresses and networks.
    func networks(_ node: YAMLNode) -> [CIDR]? {
        let example = "127.0.0.0/8 or \"::1\""
        return all(node) { item in
            guard let text = text(item, expected: "an address or a network", example: example)
            else { return nil }
            if let network = network(text, at: item) { return network }
            let message = "\"\(text)\" is not an address or a network"
            return refuse(.type, message, at: item, hint: "write \(example)")
        }
    }

    /// Reads a network; warns where it is more than the address before the slash seems to say.
    func network(_ text: String, at node: YAMLNode) -> CIDR? {
        guard let network = CIDR(text) else { return nil }
        let address = String(text.prefix { $0 != "/" })
        if CIDR(address)?.address != network.address {
            let hint = "write \(network.text), or \(address) for this address alone"
            warning(.type, "\(text) is all of \(network.text)", at: node, hint: hint)
        }
        return network
    }

    /// Decodes a list of texts.
    func texts(_ node: YAMLNode, expected: String, example: String) -> [String]? {
        all(node) { text($0, expected: expected, example: example) }
    }

    /// Decodes every item with `read`; returns nil after reporting a problem with any of them.
    func all<Value>(_ node: YAMLNode, _ read: (YAMLNode) -> Value?) -> [Value]? {
        all(items(node), read)
    }

    func all<Value>(_ items: [YAMLNode], _ read: (YAMLNode) -> Value?) -> [Value]? {
        let values = items.map(read)
        return values.contains { $0 == nil } ? nil : values.compactMap { $0 }
    }

    /// Returns the items of a list; a single value is a list of one, and only `[]` is empty.
    func list(_ node: YAMLNode, _ setting: Setting) -> [YAMLNode]? {
        guard case .list = node.content else {
            if case .scalar = node.content, !node.isEmpty { return [node] }
            return wrongType(node, "a list", write: setting.defaultText)
        }
        return items(node)
    }

    /// Decodes a share of 0 to 1, written as a percentage.
    func share(_ text: String, at node: YAMLNode, what: String, example: String) -> Double? {
        if text.hasSuffix("%"), let value = Units.wholeNumber(text.dropLast()), value > 100 {
            let message = "\(what) \(text) is out of range"
            return refuse(.range, message, at: node, hint: "allowed: 0% to 100%")
        }
        do {
            return Double(try Units.percent(text)) / 100
        } catch {
            let hint = error.hint == "write 20%" ? "write \(example)" : error.hint
            return refuse(.type, error.message, at: node, hint: hint)
        }
    }

    /// Decodes every entry with `read`; returns false after reporting a problem with any of them.
    func every(
        _ entries: [YAMLNode.Entry],
        in section: String,
        known: [String],
        _ read: (YAMLNode.Entry) -> Bool
    ) -> Bool {
        var isComplete = true
        for entry in entries {
            if !known.contains(entry.key) {
                unknownKey(entry, in: section, known: known)
                isComplete = false
            } else if !read(entry) {
                isComplete = false
            }
        }
        return isComplete
    }

    /// Decodes `http` or `https`.
    func scheme(_ node: YAMLNode) -> Scheme? {
        word(node, ["http", "https"], what: "scheme").map { $0 == "https" ? .https : .http }
    }

    /// Decodes one of the words; returns nil after reporting a problem.
    func word(
        _ node: YAMLNode,
        _ words: [String],
        what: String = "value",
        separator: String = " or ",
        example: String? = nil
    ) -> String? {
        let expected = words.joined(separator: separator)
        guard let text = text(node, expected: expected, example: example ?? words[0]) else {
            return nil
        }
        return words.contains(text) ? text : unknownWord(node, text, for: what, known: words)
    }
}

/// Sets `target` to a value; returns false when there is none, since a problem was reported.
@discardableResult
func set<Value>(_ target: inout Value, _ value: Value?) -> Bool {
    guard let value else { return false }
    target = value
    return true
}

@discardableResult
func set<Value>(_ target: inout Value?, _ value: Value?) -> Bool {
    guard let value else { return false }
    target = value
    return true
}

/// For settings that have no word, where `.some(nil)` does not occur.
@discardableResult
func set<Value>(_ target: inout Value, _ value: Value??) -> Bool { set(&target, value ?? nil) }

// MARK: Values by the settings table

extension DecodingContext {
    /// Decodes a duration; `.some(nil)` is `none`.
    func duration(_ node: YAMLNode, _ setting: Setting) -> Duration?? {
        guard case .duration(let range, let orNone) = setting.kind,
            let text = text(node, expected: "a duration", example: setting.example)
        else { return nil }
        if orNone, text == "none" { return .some(nil) }
        if isMoreYears(text, than: range.upperBound) { return outOfRange(text, setting, at: node) }
        guard let value = units(node, { () throws(Units.Problem) in try Units.duration(text) })
        else { return nil }
        guard range.contains(value) else { return outOfRange(text, setting, at: node) }
        return .milliseconds(value)
    }

    /// Decodes a number of bytes; `.some(nil)` is the setting's word, such as `none`.
    func size(_ node: YAMLNode, _ setting: Setting) -> Int?? {
        guard case .size(let range, let word) = setting.kind,
            let text = text(node, expected: "a size", example: setting.example)
        else { return nil }
        if let word, text == word { return .some(nil) }
        guard let value = units(node, { () throws(Units.Problem) in try Units.size(text) }) else {
            return nil
        }
        return range.contains(value) ? .some(value) : outOfRange(text, setting, at: node)
    }

    /// Decodes bytes per second; `.some(nil)` is `none`.
    func rate(_ node: YAMLNode) -> Int?? {
        guard let text = text(node, expected: "a rate", example: "64/s") else { return nil }
        if text == "none" { return .some(nil) }
        return units(node) { () throws(Units.Problem) in try Units.rate(text) }
    }

    /// Decodes a count per time.
    func rateLimit(_ node: YAMLNode, _ setting: Setting) -> RateLimit? {
        guard case .count(let counts, let times) = setting.kind,
            let text = text(node, expected: "a number in a time", example: setting.example),
            let value = units(node, { () throws(Units.Problem) in try Units.countInTime(text) })
        else { return nil }
        guard counts.contains(value.count), times.contains(value.milliseconds) else {
            return outOfRange(text, setting, at: node)
        }
        return RateLimit(count: value.count, per: .milliseconds(value.milliseconds))
    }

    /// Decodes a number; `.some(nil)` is the setting's word, such as `auto`.
    func number(_ node: YAMLNode, _ setting: Setting) -> Int?? {
        guard case .number(let range, let word) = setting.kind,
            let text = text(node, expected: "a number", example: setting.example)
        else { return nil }
        if let word, text == word { return .some(nil) }
        return number(text, at: node, in: range, what: setting.key).map { .some($0) } ?? nil
    }

    /// Decodes one of the setting's words.
    func choice(_ node: YAMLNode, _ setting: Setting) -> String? {
        guard case .choice(let words) = setting.kind,
            let text = text(node, expected: words.joined(separator: ", "), example: setting.example)
        else { return nil }
        if words.contains(text) { return text }
        return unknownWord(node, text, for: "value", known: words)
    }

    /// The value of one of the setting's words.
    func word<Word: SettingWord>(_ node: YAMLNode, _ setting: Setting) -> Word? {
        choice(node, setting).flatMap(Word.init(word:))
    }

    /// Returns the result of `read`; returns nil after reporting its problem.
    func units<Value>(
        _ node: YAMLNode,
        _ read: () throws(Units.Problem) -> Value
    ) -> Value? {
        do {
            return try read()
        } catch {
            return refuse(.type, error.message, at: node, hint: error.hint)
        }
    }

    /// Years are not a unit, but a number of them that is clearly out of range is reported as such.
    private func isMoreYears(_ text: String, than milliseconds: Int64) -> Bool {
        guard text.hasSuffix("y"), let years = Units.wholeNumber(text.dropLast()) else {
            return false
        }
        return years > milliseconds / (365 * 86_400_000)
    }

    private func outOfRange<Value>(
        _ text: String,
        _ setting: Setting,
        at node: YAMLNode
    ) -> Value? {
        let hint = setting.rangeText.map { "allowed: \($0)" }
        return refuse(.range, "\(setting.key) \(text) is out of range", at: node, hint: hint)
    }
}

extension Setting {
    /// A valid value: the default, or one with a unit when the default is a word.
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
