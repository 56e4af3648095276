// Formats a Markdown page for a terminal: headings, wrapped paragraphs and lists, aligned tables.
import LupinCore

/// A page as plain text.
///
/// Supports the Markdown that the manual uses. Code is indented by four columns and not wrapped;
/// comments are left out.
package struct PageText {
    package private(set) var lines: [String] = []
    private let columns: Int
    /// The lines of the paragraph or list item that has not ended yet.
    private var open: [Substring] = []
    /// The text before the first line of `open`, such as `- `.
    private var marker = ""

    package var text: String { lines.joined(separator: "\n") }

    package init(_ markdown: String, columns: Int) {
        self.columns = columns
        var rest = markdown.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = rest.popFirst() {
            if line.hasPrefix("```") {
                close()
                let code = rest.prefix { !$0.hasPrefix("```") }
                lines += code.map { $0.isEmpty ? "" : "    \($0)" }
                rest = rest.dropFirst(code.count + 1)
            } else if line.hasPrefix("|") {
                close()
                let rows = [line] + rest.prefix { $0.hasPrefix("|") }
                lines += TableText(rows.map { $0[...] }, columns: columns).lines
                rest = rest.dropFirst(rows.count - 1)
            } else if line.hasPrefix("<!--") {
                close()
                if !line.contains("-->") {
                    rest = rest.drop { !$0.contains("-->") }.dropFirst()
                }
            } else {
                take(line)
            }
        }
        close()
        while lines.last == "" { lines.removeLast() }
    }

    private mutating func take(_ line: Substring) {
        let content = line.drop { $0 == " " }
        if content.isEmpty {
            close()
            if let last = lines.last, last != "" { lines.append("") }
        } else if line.hasPrefix("#") {
            close()
            let title = PageText.inline(line.drop { $0 == "#" }.drop { $0 == " " })
            lines.append(title)
            switch line.prefix(while: { $0 == "#" }).count {
            case 1: lines.append(String(repeating: "=", count: title.count))
            case 2: lines.append(String(repeating: "-", count: title.count))
            default: lines.append(String(repeating: "~", count: title.count))
            }
        } else if let item = PageText.itemMarker(content) {
            close()
            marker = String(repeating: " ", count: line.count - content.count) + item
            open = [content.dropFirst(item.count)]
        } else {
            open.append(content)
        }
    }

    /// Ends the paragraph or the list item.
    private mutating func close() {
        guard !open.isEmpty else { return }
        let text = PageText.inline(open.joined(separator: " ")[...])
        let indent = String(repeating: " ", count: marker.count)
        let wrapped = PageText.wrap(text, columns: columns - marker.count)
        for (i, line) in wrapped.enumerated() {
            lines.append((i == 0 ? marker : indent) + line)
        }
        open = []
        marker = ""
    }

    /// The paragraph below the title of a page, as one line, with its markup.
    package static func abstract(of page: String) -> String {
        let paragraph = page.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0.isEmpty || $0.hasPrefix("#") || $0.hasPrefix("<!--") }
            .prefix { !$0.isEmpty }
        return paragraph.joined(separator: " ")
    }

    /// Returns the marker `- ` or `12. ` when the line begins an item of a list.
    package static func itemMarker(_ line: Substring) -> String? {
        if line.hasPrefix("- ") { return "- " }
        let digits = line.prefix { $0.isNumber }
        guard !digits.isEmpty, line.dropFirst(digits.count).hasPrefix(". ") else { return nil }
        return "\(digits). "
    }

    /// Wraps lines at `columns` characters; a longer word has a line of its own.
    package static func wrap(_ text: String, columns: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }

    /// Removes the markup of a line; code keeps its backticks.
    package static func inline(_ markdown: Substring) -> String {
        var result = ""
        var rest = markdown
        while let first = rest.first {
            if first == "`" {
                let end = rest.dropFirst().firstIndex(of: "`") ?? rest.index(before: rest.endIndex)
                result += rest[...end]
                rest = rest[rest.index(after: end)...]
            } else if rest.hasPrefix("**") {
                rest = rest.dropFirst(2)
            } else if first == "\\", let escaped = rest.dropFirst().first, escaped.isPunctuation {
                result.append(escaped)
                rest = rest.dropFirst(2)
            } else if first == "[", let (link, after) = link(rest) {
                result += link
                rest = after
            } else if rest.hasPrefix("<http"), let end = rest.firstIndex(of: ">") {
                result += rest[..<end].dropFirst()
                rest = rest[rest.index(after: end)...]
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    /// Parses `[text](target)`; returns the text, and what follows the link.
    private static func link(_ markdown: Substring) -> (text: String, rest: Substring)? {
        guard let middle = markdown.firstRange(of: "]("),
            let end = markdown[middle.upperBound...].firstIndex(of: ")")
        else { return nil }
        let text = inline(markdown[..<middle.lowerBound].dropFirst())
        let rest = markdown[markdown.index(after: end)...]
        var target = markdown[middle.upperBound..<end]
        if target.hasPrefix("#") { return (text, rest) }
        if !target.contains("/"), let dot = target.firstRange(of: ".md") {
            return ("\(text) (lupin help \(target[..<dot.lowerBound]))", rest)
        }
        // A path from the pages' folder to the root of the repository.
        if target.hasPrefix("../../../") {
            target = target.dropFirst(9)
        } else if target.hasPrefix("../../") {
            target = "Sources/" + target.dropFirst(6)
        }
        return (text == target ? text : "\(text) (\(target))", rest)
    }
}

/// A table with aligned columns, whose cells are wrapped when the terminal is too narrow.
private struct TableText {
    private(set) var lines: [String] = []
    private var widths: [Int]

    private static let gap = 2

    init(_ markdown: [Substring], columns: Int) {
        let cells = markdown.map(Self.cells)
        let rows = cells.filter { row in !row.allSatisfy { $0.allSatisfy { "-: ".contains($0) } } }
        let count = rows.map(\.count).max() ?? 0
        widths = (0..<count).map { i in rows.map { i < $0.count ? $0[i].count : 0 }.max() ?? 0 }
        let least = (0..<count).map { i in
            let words = rows.flatMap { i < $0.count ? $0[i].split(separator: " ") : [] }
            return max(8, words.map(\.count).max() ?? 0)
        }
        narrow(to: columns, least: least)
        for (i, row) in rows.enumerated() {
            append(row)
            if i == 0 { append(widths.map { String(repeating: "-", count: $0) }) }
        }
    }

    /// Narrows the widest column, down to its minimum, until the table fits.
    private mutating func narrow(to columns: Int, least: [Int]) {
        while widths.reduce(0, +) + Self.gap * (widths.count - 1) > columns {
            let givers = widths.indices.filter { widths[$0] > least[$0] }
            guard let widest = givers.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
        }
    }

    private mutating func append(_ row: [String]) {
        let cells = row.enumerated().map { PageText.wrap($1, columns: widths[$0]) }
        for i in 0..<(cells.map(\.count).max() ?? 0) {
            var line = ""
            for (column, cell) in cells.enumerated() {
                let text = i < cell.count ? cell[i] : ""
                let padding = max(0, widths[column] - text.count)
                line += text + String(repeating: " ", count: padding + Self.gap)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            lines.append(line)
        }
    }

    /// Splits a row into cells; `\|` is a literal character of a cell.
    private static func cells(_ row: Substring) -> [String] {
        var cells: [String] = []
        var cell = ""
        var rest = row.dropFirst()
        while let character = rest.popFirst() {
            if character == "\\", rest.first == "|" {
                cell.append("|")
                rest = rest.dropFirst()
            } else if character == "|" {
                cells.append(cell)
                cell = ""
            } else {
                cell.append(character)
            }
        }
        return cells.map { cell in
            let spaces = cell.drop { $0 == " " }
            return PageText.inline(
                spaces[
                    ..<(spaces.lastIndex { $0 != " " }.map(spaces.index(after:))
                        ?? spaces.startIndex)
                ]
            )
        }
    }
}
