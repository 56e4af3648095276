// Puts a rule at the end of a rules file's text, and leaves everything else as it stands.

/// A rules file with a rule added, as text.
///
/// It works on lines, so comments and layout of the file stay. Whether the result means what it
/// should is for the caller to check, by decoding it.
package struct RuleInsertion: Equatable, Sendable {
    /// The whole file.
    package let text: String
    /// The lines of `text` that are new, from 0.
    package let added: Range<Int>

    /// Why a rule can't be added.
    package enum Problem: Error, Equatable, Sendable {
        /// The snippet has no line.
        case empty
        /// It is no item of a list: it does not begin with `- `.
        case notAnItem
        /// The file has its rules in one line, such as `rules: []` with something in it.
        case inOneLine(Int)

        package var sentence: String {
            switch self {
            case .empty: "the rule is empty"
            case .notAnItem: "a rule begins with \"- \", such as \"- match: api.example\""
            case .inOneLine(let line):
                "line \(line) has the rules in one line; put the rule in with an editor"
            }
        }
    }

    /// Adds a rule behind the last one.
    ///
    /// - Parameters:
    ///   - snippet: One or more items of a YAML list, at any indentation.
    ///   - text: The file; empty for a new one.
    /// - Throws: Why it can't be added.
    package init(_ snippet: String, into text: String) throws(Problem) {
        let item = try Self.item(snippet)
        var lines = Self.lines(of: text)
        if lines.allSatisfy({ $0.isEmpty || $0.hasPrefix("#") }), !lines.contains("---") {
            lines.append("lupin: 1")
        }
        let (insertionPoint, indentation) = try Self.insertionPoint(in: &lines)
        let new = item.map { $0.isEmpty ? "" : String(repeating: " ", count: indentation) + $0 }
        lines.insert(contentsOf: new, at: insertionPoint)
        let ending = text.contains("\r\n") ? "\r\n" : "\n"
        self.text = lines.joined(separator: ending) + ending
        added = insertionPoint..<insertionPoint + new.count
    }

    /// The snippet's lines, its common indentation taken off.
    private static func item(_ snippet: String) throws(Problem) -> [String] {
        var lines = lines(of: snippet)
        while lines.last?.isBlank == true { lines.removeLast() }
        while lines.first?.isBlank == true { lines.removeFirst() }
        guard let first = lines.first else { throw .empty }
        let depth = first.indentation
        let body = first.dropFirst(depth)
        guard body == "-" || body.hasPrefix("- ") else { throw .notAnItem }
        return lines.map { line in
            line.isBlank ? "" : String(line.dropFirst(min(depth, line.indentation)))
        }
    }

    /// Where the next rule goes: the index of its first line, and how far it is indented.
    private static func insertionPoint(in lines: inout [String]) throws(Problem) -> (Int, Int) {
        guard let key = lines.firstIndex(where: { $0.hasPrefix("rules:") }) else {
            while lines.last?.isBlank == true { lines.removeLast() }
            let end = lines.lastIndex(of: "...") ?? lines.count
            lines.insert("rules:", at: end)
            return (end + 1, 2)
        }
        let value = lines[key].dropFirst("rules:".count).prefix { $0 != "#" }
            .filter { !$0.isWhitespace }
        if value == "[]" {
            let comment = lines[key].drop { $0 != "#" }
            lines[key] = comment.isEmpty ? "rules:" : "rules: \(comment)"
        } else if !value.isEmpty {
            throw .inOneLine(key + 1)
        }
        // Items may stand at the indentation of their key; a comment at the margin ends nothing.
        let end =
            lines[(key + 1)...].firstIndex { line in
                !line.isBlank && line.indentation == 0 && !line.hasPrefix("#")
                    && line != "-" && !line.hasPrefix("- ")
            } ?? lines.count
        let block = lines[(key + 1)..<end]
        let indentation = block.first { $0.drop { $0 == " " }.hasPrefix("-") }?.indentation ?? 2
        // Comments and blank lines behind the last rule belong to what follows.
        let last = block.lastIndex { line in
            !line.isBlank && !(line.indentation == 0 && line.hasPrefix("#"))
        }
        return ((last ?? key) + 1, indentation)
    }

    private static func lines(of text: String) -> [String] {
        var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
            .map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

extension String {
    fileprivate var isBlank: Bool { allSatisfy { $0 == " " || $0 == "\t" } }

    fileprivate var indentation: Int { prefix { $0 == " " }.count }
}
