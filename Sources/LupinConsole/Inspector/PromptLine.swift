// A line of text that the user edits: the filter.

/// An editable line with a cursor.
package struct PromptLine: Sendable, Equatable {
    private var scalars: [Unicode.Scalar]
    private var cursor: Int

    private static let countMax = 2000

    /// What a key did.
    enum Result: Equatable { case edited, accepted, cancelled }

    package init(_ text: String) {
        scalars = Array(text.unicodeScalars.prefix(Self.countMax))
        cursor = scalars.count
    }

    package var text: String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    mutating func take(_ key: Key) -> Result {
        switch key {
        case .enter: return .accepted
        case .escape: return .cancelled
        case .text(let scalar): insert([scalar])
        case .paste(let text):
            insert(Array(text.unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
        case .backspace where scalars.isEmpty: return .cancelled
        case .backspace where cursor > 0:
            cursor -= 1
            scalars.remove(at: cursor)
        case .delete where cursor < scalars.count, .control("d") where cursor < scalars.count:
            scalars.remove(at: cursor)
        case .left, .control("b"): cursor = max(0, cursor - 1)
        case .right, .control("f"): cursor = min(scalars.count, cursor + 1)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = scalars.count
        case .control("u"):
            scalars.removeFirst(cursor)
            cursor = 0
        case .control("k"): scalars.removeLast(scalars.count - cursor)
        case .control("w"): removeWord()
        default: break
        }
        return .edited
    }

    private mutating func insert(_ new: [Unicode.Scalar]) {
        // A control character can't be typed, but pasted.
        let new = new.filter { $0.properties.generalCategory != .control }
            .prefix(Self.countMax - scalars.count)
        scalars.insert(contentsOf: new, at: cursor)
        cursor += new.count
    }

    private mutating func removeWord() {
        var start = cursor
        while start > 0, scalars[start - 1] == " " { start -= 1 }
        while start > 0, scalars[start - 1] != " " { start -= 1 }
        scalars.removeSubrange(start..<cursor)
        cursor = start
    }

    /// The part around the cursor that fits, and the column of the cursor in it.
    func shown(columns: Int) -> (text: String, cursor: Int) {
        let columns = max(2, columns)
        let before = scalars[..<cursor].map { ScreenText.clean(String($0)) }
        var start = before.count
        var width = 0
        while start > 0 {
            let own = ScreenText.width(of: before[start - 1])
            if width + own >= columns { break }
            width += own
            start -= 1
        }
        let behind = scalars[cursor...].map { ScreenText.clean(String($0)) }.joined()
        let text = before[start...].joined() + behind
        return (ScreenText.prefix(text, columns: columns), width)
    }
}
