// Turns a screen of lines into the bytes that change a terminal from the screen before.
import LupinCore

/// The lines of a screen, and where the cursor shows.
package struct Screen: Sendable, Equatable {
    package var lines: [ScreenLine]
    /// Counted from 0; nil hides the cursor.
    package var cursor: Cursor?

    package struct Cursor: Sendable, Equatable {
        package var row: Int
        package var column: Int
    }
}

/// What a terminal shows, and the sequences that change it (ECMA-48, and xterm's private modes).
package struct ScreenPainter: Sendable {
    private var shown: Screen?
    private let isColoured: Bool

    /// Opens the alternate screen, hides the cursor, leaves lines unwrapped, marks pastes.
    package static let opening = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h\u{1B}[2J"
    /// Undoes all that, in the opposite order.
    package static let closing = "\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    package init(isColoured: Bool) { self.isColoured = isColoured }

    /// The terminal shows something else: the next screen is drawn whole.
    package mutating func forget() { shown = nil }

    /// The bytes for the lines that differ; none when nothing does.
    package mutating func bytes(for screen: Screen, columns: Int) -> [UInt8] {
        guard screen != shown else { return [] }
        var output: [UInt8] = []
        if shown == nil { output += "\u{1B}[0m\u{1B}[2J".utf8 }
        let before = shown?.lines ?? []
        for (i, line) in screen.lines.enumerated() where i >= before.count || before[i] != line {
            let line = line.fitted(to: columns)
            output += "\u{1B}[\(i + 1);1H".utf8
            output += line.bytes(isColoured: isColoured)
            // In the last column, some terminals would erase what was just written.
            if line.width < columns { output += "\u{1B}[K".utf8 }
        }
        if let cursor = screen.cursor {
            output += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h".utf8
        } else if shown == nil || shown?.cursor != nil {
            output += "\u{1B}[?25l".utf8
        }
        shown = screen
        return output
    }

    /// Copies `text` into the clipboard of the terminal's user, where the terminal may (OSC 52).
    package static func clipboard(_ text: String) -> [UInt8] {
        Array("\u{1B}]52;c;\(Base64Text.encode(Array(text.utf8)))\u{1B}\\".utf8)
    }
}
