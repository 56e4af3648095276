// Makes text from outside harmless for a terminal, and fits it into columns.
import LupinCore

/// Text for a screen: cleaned of everything but visible characters, measured in columns.
package enum ScreenText {
    /// More marks on one character are dropped: they would take memory, but no column.
    private static let marksMax = 4

    /// Returns `text` with control characters, line separators, and characters that reorder or hide
    /// text as `\n` or `\u001b`; marks beyond a few per character are dropped.
    package static func clean(_ text: String) -> String {
        if isPlain(text) { return text }
        var cleaned = ""
        var marks = 0
        for scalar in text.unicodeScalars {
            if LogText.isHarmful(scalar) {
                cleaned += escaped(scalar)
                marks = 0
            } else if CellWidth.of(scalar) == 0 {
                // A mark without a character before it would join the frame.
                guard marks < marksMax, !cleaned.isEmpty else { continue }
                marks += 1
                cleaned.unicodeScalars.append(scalar)
            } else {
                marks = 0
                cleaned.unicodeScalars.append(scalar)
            }
        }
        return cleaned
    }

    /// The columns that clean text takes.
    package static func width(of text: String) -> Int {
        if isPlain(text) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + CellWidth.of($1) }
    }

    /// The beginning of clean text that fits into `columns`, never with half a character.
    package static func prefix(_ text: String, columns: Int) -> String {
        if isPlain(text) { return String(text.prefix(max(0, columns))) }
        var width = 0
        var end = text.unicodeScalars.startIndex
        for i in text.unicodeScalars.indices {
            width += CellWidth.of(text.unicodeScalars[i])
            if width > columns { break }
            end = text.unicodeScalars.index(after: i)
        }
        return String(text.unicodeScalars[..<end])
    }

    /// The end of clean text that fits into `columns`, without marks at its beginning.
    static func suffix(_ text: String, columns: Int) -> String {
        if isPlain(text) { return String(text.suffix(max(0, columns))) }
        var width = 0
        var start = text.unicodeScalars.endIndex
        for i in text.unicodeScalars.indices.reversed() {
            let own = CellWidth.of(text.unicodeScalars[i])
            width += own
            if width > columns { break }
            if own > 0 { start = i }
        }
        return String(text.unicodeScalars[start...])
    }

    /// Cleans `text`; where it doesn't fit, `…` stands for its middle.
    package static func shortened(_ text: String, columns: Int) -> String {
        let text = clean(text)
        guard width(of: text) > columns else { return text }
        guard columns > 1 else { return prefix("…", columns: columns) }
        let end = (columns - 1) / 3
        return prefix(text, columns: columns - 1 - end) + "…" + suffix(text, columns: end)
    }

    /// Cleans `text`; where it doesn't fit, `…` stands for its end.
    package static func cut(_ text: String, columns: Int) -> String {
        let text = clean(text)
        guard width(of: text) > columns else { return text }
        return prefix(prefix(text, columns: columns - 1) + "…", columns: columns)
    }

    /// Cleans a line and breaks it into pieces that fit; tabs become spaces.
    package static func wrapped(_ line: String, columns: Int) -> [String] {
        let columns = max(2, columns)
        let text = clean(expanded(line))
        guard width(of: text) > columns else { return [text] }
        var pieces: [String] = []
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty {
            var width = 0
            var end = rest.startIndex
            while end < rest.endIndex {
                width += CellWidth.of(rest[end])
                if width > columns { break }
                end = rest.index(after: end)
            }
            pieces.append(String(rest[..<end]))
            rest = rest[end...]
        }
        return pieces
    }

    /// Tabs as spaces up to the next multiple of four columns.
    private static func expanded(_ line: String) -> String {
        guard line.utf8.contains(0x09) else { return line }
        var text = ""
        var column = 0
        for scalar in line.unicodeScalars {
            if scalar == "\t" {
                let count = 4 - column % 4
                text += String(repeating: " ", count: count)
                column += count
            } else {
                text.unicodeScalars.append(scalar)
                column += CellWidth.of(scalar)
            }
        }
        return text
    }

    /// Whether a text is visible ASCII, whose width is its length.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { 0x20..<0x7F ~= $0 }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }
}
