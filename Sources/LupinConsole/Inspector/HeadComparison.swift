// Compares the fields of a message before and after the rules.

/// Two lists of fields as one, with a mark for each change.
struct HeadComparison: Sendable {
    enum Mark: String, Sendable {
        case same = " "
        case added = "+"
        case removed = "−"
        case changed = "~"
        /// Belongs to one connection, so it isn't forwarded whatever the rules say.
        case hop = "·"
    }

    struct Line: Sendable, Equatable {
        var mark: Mark
        var name: String
        var value: String
        /// The value before a change.
        var former: String?
    }

    private(set) var lines: [Line] = []

    /// Whether the rules, or lupin, changed something.
    var hasChanges: Bool { lines.contains { $0.mark != .same && $0.mark != .hop } }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "proxy-authorization", "proxy-authenticate", "http2-settings",
    ]

    /// Fields in the order of `before`, added ones last; with nil for `after`, none is marked.
    init(before: [[String]], after: [[String]]?) {
        guard let after else {
            lines = before.map { Line(mark: .same, name: $0[0], value: $0[1]) }
            return
        }
        let named = before.filter { $0[0].lowercased() == "connection" }
            .flatMap { $0[1].split(separator: ",") }
            .map { $0.filter { $0 != " " }.lowercased() }
        let hops = Self.hopByHop.union(named)
        var seen: Set<String> = []
        for field in before where seen.insert(field[0].lowercased()).inserted {
            let key = field[0].lowercased()
            let old = before.filter { $0[0].lowercased() == key }
            let new = after.filter { $0[0].lowercased() == key }
            if new.isEmpty, hops.contains(key) {
                lines += old.map { Line(mark: .hop, name: $0[0], value: $0[1]) }
            } else {
                compare(old, new)
            }
        }
        lines += after.filter { !seen.contains($0[0].lowercased()) }
            .map { Line(mark: .added, name: $0[0], value: $0[1]) }
    }

    /// Compares the lines of one name.
    private mutating func compare(_ old: [[String]], _ new: [[String]]) {
        if old.count == new.count {
            for (before, after) in zip(old, new) {
                let isSame = before[1] == after[1]
                lines.append(
                    Line(
                        mark: isSame ? .same : .changed,
                        name: after[0],
                        value: after[1],
                        former: isSame ? nil : before[1]
                    )
                )
            }
            return
        }
        var rest = new.map { $0[1] }
        for field in old {
            if let i = rest.firstIndex(of: field[1]) {
                rest.remove(at: i)
                lines.append(Line(mark: .same, name: field[0], value: field[1]))
            } else {
                lines.append(Line(mark: .removed, name: field[0], value: field[1]))
            }
        }
        let name = new.first?[0] ?? ""
        lines += rest.map { Line(mark: .added, name: name, value: $0) }
    }

    /// The lines for a screen: a value that doesn't fit goes on below.
    func screenLines(columns: Int) -> [ScreenLine] {
        lines.flatMap { line -> [ScreenLine] in
            let style: ScreenStyle =
                switch line.mark {
                case .same: .plain
                case .added: .green
                case .removed: .red
                case .changed: .yellow
                case .hop: .dim
                }
            var drawn = Self.lines(line, value: line.value, style, columns: columns)
            if let former = line.former {
                drawn += ScreenText.wrapped("was: \(former)", columns: columns - 6)
                    .map { ScreenLine("      \($0)", .dim) }
            }
            return drawn
        }
    }

    private static func lines(
        _ line: Line,
        value: String,
        _ style: ScreenStyle,
        columns: Int
    ) -> [ScreenLine] {
        // An empty value keeps its name; the mark stands apart from both.
        let name = ScreenText.cut("\(line.name):", columns: max(2, columns - 2))
        let pieces = ScreenText.wrapped("\(name) \(value)", columns: columns - 4)
        return pieces.enumerated().map { i, piece in
            var drawn = ScreenLine(i == 0 ? "\(line.mark.rawValue) " : "    ", style)
            if i == 0, style == .plain, piece.hasPrefix(name) {
                drawn.append(name, .cyan)
                drawn.append(String(piece.dropFirst(name.count)))
            } else {
                drawn.append(piece, style)
            }
            return drawn
        }
    }
}
