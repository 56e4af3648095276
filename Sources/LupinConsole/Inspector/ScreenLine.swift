// A line of the screen: pieces of clean text, each in a style.

/// How a piece of text looks; colours are left out where the terminal or the user has none.
package enum ScreenStyle: Sendable, Equatable {
    case plain, bold, dim, reversed
    case red, green, yellow, cyan

    /// The parameters of SGR (ECMA-48 §8.3.117).
    fileprivate func parameters(isColoured: Bool) -> String {
        switch self {
        case .plain: ""
        case .bold: "1"
        case .reversed: "7"
        case .dim: "2"
        case .red: isColoured ? "31" : ""
        case .green: isColoured ? "32" : ""
        case .yellow: isColoured ? "33" : ""
        case .cyan: isColoured ? "36" : ""
        }
    }
}

/// A line of the screen.
///
/// Text is cleaned as it is appended, so nothing else can reach a terminal.
package struct ScreenLine: Sendable, Equatable {
    private struct Piece: Sendable, Equatable {
        var text: String
        var style: ScreenStyle
    }

    private var pieces: [Piece] = []
    /// The columns that the text takes.
    package private(set) var width = 0
    /// Whether the whole line stands out, as the selected one does.
    package var isSelected = false

    package init() {}

    package init(_ text: String, _ style: ScreenStyle = .plain) { append(text, style) }

    /// The text alone.
    package var text: String { pieces.map(\.text).joined() }

    /// Appends `text`, cleaned.
    package mutating func append(_ text: String, _ style: ScreenStyle = .plain) {
        let text = ScreenText.clean(text)
        guard !text.isEmpty else { return }
        pieces.append(Piece(text: text, style: style))
        width += ScreenText.width(of: text)
    }

    /// Appends another line.
    package mutating func append(_ line: ScreenLine) {
        pieces += line.pieces
        width += line.width
    }

    /// Appends `text` in exactly `columns` columns.
    package mutating func append(
        _ text: String,
        columns: Int,
        isRight: Bool = false,
        _ style: ScreenStyle = .plain
    ) {
        let text = ScreenText.cut(text, columns: columns)
        let space = String(repeating: " ", count: max(0, columns - ScreenText.width(of: text)))
        append(isRight ? space + text : text + space, style)
    }

    /// Appends spaces up to `columns`.
    package mutating func pad(to columns: Int, _ style: ScreenStyle = .plain) {
        append(String(repeating: " ", count: max(0, columns - width)), style)
    }

    /// The line without what doesn't fit into `columns`.
    package func fitted(to columns: Int) -> ScreenLine {
        guard width > columns else { return self }
        var line = ScreenLine()
        line.isSelected = isSelected
        for piece in pieces {
            let room = columns - line.width
            guard room > 0 else { break }
            let shown = ScreenText.prefix(piece.text, columns: room)
            line.append(shown, piece.style)
            // A wide character may leave a column free, which is not for the next piece.
            if shown.utf8.count < piece.text.utf8.count { break }
        }
        return line
    }

    /// The bytes that draw it from the current column on.
    package func bytes(isColoured: Bool) -> [UInt8] {
        var output: [UInt8] = []
        for piece in pieces {
            let own = piece.style.parameters(isColoured: isColoured)
            // On a selected line only the reversal shows, which is readable everywhere.
            let style = isSelected ? "7" : own
            if style.isEmpty {
                output += piece.text.utf8
            } else {
                output += "\u{1B}[\(style)m\(piece.text)\u{1B}[0m".utf8
            }
        }
        return output
    }
}
