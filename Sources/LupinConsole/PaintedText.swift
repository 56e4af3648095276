// Colours of an explanation on a terminal: its titles, marks and changes.
import LupinCore

/// Lines for a terminal, painted by how they begin.
package enum PaintedText {
    /// The same lines, made harmless, with colours.
    package static func explanation(_ text: String) -> String {
        LogText.lines(text).split(separator: "\n", omittingEmptySubsequences: false)
            .map { painted(String($0)) }
            .joined(separator: "\n")
    }

    private static func painted(_ line: String) -> String {
        let rest = line.drop { $0 == " " }
        guard let first = rest.first else { return line }
        // Titles alone are not indented.
        if line.first != " " { return painted(line, "1") }
        let mark: (text: String, colour: String)? =
            switch first {
            case "✓": ("✓", "32")
            case "✗": ("✗", "31")
            case "?": ("?", "33")
            case "+" where rest.hasPrefix("+ "): (String(rest), "32")
            case "-" where rest.hasPrefix("- "): (String(rest), "31")
            default: nil
            }
        guard let mark, rest.hasPrefix(mark.text) else { return line }
        let indentation = line.prefix(line.count - rest.count)
        return indentation + painted(mark.text, mark.colour) + rest.dropFirst(mark.text.count)
    }

    private static func painted(_ text: String, _ colour: String) -> String {
        "\u{1B}[\(colour)m\(text)\u{1B}[0m"
    }
}
