// Writes values of a rules file as YAML, on one line or on many.

/// Writes values so that they parse to the same values.
enum WrittenText {
    /// A longer line with flow collections is split into several lines.
    private static let columns = 96

    /// Writes a value on one line.
    static func flow(_ node: YAMLNode) -> String {
        switch node.content {
        case .scalar(let text, let isPlain): return scalar(text, isPlain: isPlain)
        case .list(let items): return "[\(items.map(flow).joined(separator: ", "))]"
        case .map(let entries):
            let texts = entries.map { "\(scalar($0.key, isPlain: true)): \(flow($0.value))" }
            return "{\(texts.joined(separator: ", "))}"
        }
    }

    /// Writes `key: value` with everything below it.
    ///
    /// The first line ends with `remark` when there is one. `isOpen` puts lists on lines of their
    /// own, however short they are.
    static func lines(
        _ entry: YAMLNode.Entry,
        indentation: String,
        remark: String? = nil,
        isOpen: Bool = false
    ) -> [String] {
        let key = indentation + scalar(entry.key, isPlain: true) + ":"
        let inner = indentation + "  "
        switch entry.value.content {
        case .scalar("", isPlain: true):
            return [remarked(key, remark)]
        case .list(let items) where !items.isEmpty && (isOpen || !fits(key, entry.value)):
            return [remarked(key, remark)] + items.flatMap { self.lines(item: $0, inner) }
        case .map(let entries) where !entries.isEmpty && !fits(key, entry.value):
            return [remarked(key, remark)] + entries.flatMap { self.lines($0, indentation: inner) }
        default:
            return [remarked("\(key) \(flow(entry.value))", remark)]
        }
    }

    private static func lines(item node: YAMLNode, _ indentation: String) -> [String] {
        guard case .map(let entries) = node.content, !entries.isEmpty,
            !fits("\(indentation)-", node) || entries.count == 1
        else { return ["\(indentation)- \(flow(node))"] }
        var lines: [String] = []
        for entry in entries { lines += self.lines(entry, indentation: indentation + "  ") }
        if let first = lines.first {
            lines[0] = "\(indentation)- \(first.dropFirst(indentation.count + 2))"
        }
        return lines
    }

    private static func fits(_ key: String, _ node: YAMLNode) -> Bool {
        key.count + 1 + flow(node).count <= columns
    }

    static func remarked(_ line: String, _ remark: String?) -> String {
        guard let remark else { return line }
        return line + String(repeating: " ", count: max(2, 42 - line.count)) + "# \(remark)"
    }

    // MARK: Scalars

    static func scalar(_ text: String, isPlain: Bool) -> String {
        if isPlain, text.isEmpty || mayBePlain(text) { return text }
        return quoted(text)
    }

    /// Whether the text means itself without quotes in any position.
    private static func mayBePlain(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        guard let first = scalars.first, let last = scalars.last, first != " ", last != " ",
            last != ":", text != "<<"
        else { return false }
        if "-?:,[]{}#&*!|>'\"%@`".unicodeScalars.contains(first) {
            let isMinus = first == "-" && scalars.count > 1 && scalars[1] != " "
            guard isMinus, !text.hasPrefix("---") else { return false }
        }
        if text.hasPrefix("...") { return false }
        for (i, scalar) in scalars.enumerated() {
            if ",[]{}\"'\\".unicodeScalars.contains(scalar) || mustBeEscaped(scalar) {
                return false
            }
            if scalar == " ", i + 1 < scalars.count, scalars[i + 1] == "#" { return false }
            if scalar == ":", i + 1 < scalars.count, scalars[i + 1] == " " { return false }
        }
        return true
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where mustBeEscaped(scalar):
                let digits = String(scalar.value, radix: 16, uppercase: true)
                let width = scalar.value > 0xFFFF ? 8 : 4
                let zeros = String(repeating: "0", count: width - digits.utf8.count)
                result += (width == 8 ? "\\U" : "\\u") + zeros + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Whether the scalar would break a line, be invisible, or be invalid in YAML.
    private static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: scalar.value == 0xA0
        }
    }
}

// MARK: Nodes that no file has

extension YAMLNode.Entry {
    static func written(_ key: String, _ value: YAMLNode) -> YAMLNode.Entry {
        YAMLNode.Entry(key: key, keyLocation: .wholeFile, value: value)
    }
}

extension YAMLNode {
    static func word(_ text: String) -> YAMLNode {
        YAMLNode(content: .scalar(text, isPlain: true), location: .wholeFile)
    }

    static func list(_ words: [String]) -> YAMLNode {
        YAMLNode(content: .list(words.map(word)), location: .wholeFile)
    }

    static func map(_ words: [(String, String)]) -> YAMLNode {
        let entries = words.map { Entry.written($0.0, word($0.1)) }
        return YAMLNode(content: .map(entries), location: .wholeFile)
    }
}
