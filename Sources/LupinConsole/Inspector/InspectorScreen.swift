// Draws the inspector: the list, an open exchange or a page of text, as the lines of a screen.
import LupinCore
import LupinRecords

extension ExchangeInspector {
    private var isTooSmall: Bool { size.rows < 6 || size.columns < 20 }

    /// Rows for exchanges: all but the title, the columns' names, the notes and the keys.
    var listHeight: Int { max(1, size.rows - 3 - bottomLines.count) }
    var detailHeight: Int { listHeight }

    /// The whole screen, exactly as many lines as it has rows.
    package func screen() -> Screen {
        guard !isTooSmall else {
            let line = ScreenLine("The window is too small.").fitted(to: size.columns)
            let rest = Array(repeating: ScreenLine(), count: max(0, size.rows - 1))
            return Screen(lines: [line] + rest, cursor: nil)
        }
        var lines: [ScreenLine] = []
        let middle: [ScreenLine]
        if let page {
            lines = [bar(" \(page.title)"), ScreenLine()]
            middle = Array(pageLines.dropFirst(page.top).prefix(detailHeight))
        } else if let detail {
            lines = [title(of: detail), tabs(of: detail)]
            let end = min(detail.document.count, detail.top + detailHeight)
            middle = (detail.top..<max(detail.top, end)).map { detail.document[$0] }
        } else {
            let columns = RowColumns(columns: size.columns)
            lines = [listTitle, columns.title]
            middle = rows(columns)
        }
        lines += middle
        lines += Array(repeating: ScreenLine(), count: max(0, listHeight - middle.count))
        lines += bottomLines
        var cursor: Screen.Cursor?
        if let prompt {
            let column = prompt.shown(columns: size.columns - 2).cursor + 1
            cursor = Screen.Cursor(row: lines.count - 1, column: column)
        }
        lines.append(hints)
        return Screen(lines: lines.map { $0.fitted(to: size.columns) }, cursor: cursor)
    }

    // MARK: The list

    private func rows(_ columns: RowColumns) -> [ScreenLine] {
        guard list.count > 0 else {
            let text =
                !isLoaded
                ? "…"
                : filter.isEmpty
                    ? "No exchanges yet. Send a request through lupin, and it appears here."
                    : "No exchange fits the filter. Press / for another one."
            let lines = ScreenText.wrapped(text, columns: size.columns)
            return lines.prefix(listHeight).map { ScreenLine($0, .dim) }
        }
        var timestamp = TimestampText(utcOffsetSeconds: utcOffsetSeconds)
        return list.visible.map { i in
            var line = columns.line(list[i], time: &timestamp)
            line.isSelected = i == list.selectedIndex
            return line
        }
    }

    private var listTitle: ScreenLine {
        var parts = [" lupin"]
        if list.isPaused {
            parts.append("paused, \(list.waiting.count) new")
        } else if list.follows {
            parts.append("following")
        }
        parts.append("\(list.ended.count) exchange\(list.ended.count == 1 ? "" : "s")")
        if !list.live.isEmpty { parts.append("\(list.live.count) under way") }
        if !filter.isEmpty { parts.append("filter \(filter)") }
        return bar(parts.joined(separator: "  "))
    }

    /// A line that stands out over the whole width.
    private func bar(_ text: String) -> ScreenLine {
        var line = ScreenLine()
        line.append(text, columns: size.columns, .reversed)
        return line
    }

    // MARK: An open exchange

    private func title(of detail: DetailView) -> ScreenLine {
        guard let row = detail.detail?.row else { return bar(" \(Self.short(detail.id))") }
        let status = row.isLive ? "…" : row.status > 0 ? "\(row.status)" : "---"
        var tail = row.durationMicroseconds.map { "  " + SummaryText.duration($0) } ?? ""
        if let size = row.sizeBytes { tail += "  " + SummaryText.size(size) }
        tail += "  \(Self.short(row.id)) "
        let head = " \(row.method) \(status) "
        let room = size.columns - ScreenText.width(of: head) - ScreenText.width(of: tail)
        guard room > 10 else { return bar(head + row.target) }
        var line = ScreenLine()
        line.append(head, .reversed)
        line.append(ScreenText.shortened(row.target, columns: room), columns: room, .reversed)
        line.append(tail, .reversed)
        return line
    }

    private func tabs(of detail: DetailView) -> ScreenLine {
        let all = detail.tabs
        func line(_ title: (DetailView.Tab) -> String) -> ScreenLine {
            var line = ScreenLine()
            for tab in all {
                let style: ScreenStyle = tab == detail.tab ? .reversed : .plain
                line.append(" \(tab.rawValue) \(title(tab)) ", style)
            }
            return line
        }
        let whole = line(\.title)
        guard whole.width > size.columns else { return whole }
        // Only the open tab keeps its name.
        return line { $0 == detail.tab ? $0.title : String($0.title.prefix(1)) }
    }

    // MARK: A page

    /// The lines of the page above all else.
    var pageLines: [ScreenLine] {
        (page?.lines ?? []).flatMap { line in
            ScreenText.wrapped(line, columns: size.columns - 2).map { piece in
                let isHeading = !line.hasPrefix(" ") && page?.title == "keys"
                return ScreenLine(" \(piece)", isHeading ? .bold : .plain)
            }
        }
    }

    // MARK: The bottom

    /// Longer notes are cut: the list must stay.
    private static let noteLinesMax = 4

    /// The prompt, or what is to be said; at least one line.
    var bottomLines: [ScreenLine] {
        // Two lines above, one of the list, and one below have their place in any case.
        let most = min(Self.noteLinesMax, max(1, size.rows - 4))
        if let prompt {
            let problem = promptProblem.flatMap {
                ScreenText.wrapped($0, columns: size.columns).map { ScreenLine($0, .red) }
            }
            var line = ScreenLine("/", .bold)
            line.append(prompt.shown(columns: size.columns - 2).text)
            return problem.prefix(most == Self.noteLinesMax ? most : most - 1) + [line]
        }
        if let note {
            let lines = note.text.split(separator: "\n", omittingEmptySubsequences: false)
                .flatMap { ScreenText.wrapped(String($0), columns: size.columns) }
            return lines.prefix(most).map {
                ScreenLine($0, note.isBad ? .red : .bold)
            }
        }
        if let lost {
            return [
                ScreenLine(ScreenText.cut("\(lost); trying again", columns: size.columns), .red)
            ]
        }
        return [position]
    }

    /// Which lines of how many are shown, at the right, where there are more.
    private var position: ScreenLine {
        let (top, count) =
            page.map { ($0.top, pageLines.count) }
            ?? detail.map { ($0.top, $0.document.count) } ?? (0, 0)
        // As high as with one line at the bottom, which is this one.
        let height = max(1, size.rows - 4)
        guard count > height else { return ScreenLine() }
        let text = "\(top + 1)–\(min(count, top + height)) of \(count)"
        var line = ScreenLine()
        line.append(text, columns: size.columns, isRight: true, .dim)
        return line
    }

    /// The keys that fit; the one that shows all of them always does.
    private var hints: ScreenLine {
        let keys: [(String, String)]
        if prompt != nil {
            keys = [("Enter", "filters"), ("Esc", "leaves the filter as it was")]
        } else if page != nil {
            keys = [("↑↓", "scroll"), ("any other key", "closes")]
        } else if detail != nil {
            keys = [
                ("Esc", "list"), ("1…6", "tab"), ("s", "send again"), ("e", "edit"), ("y", "curl"),
                ("c", "capture"), ("[ ]", "others"), ("?", "keys"), ("q", "quit"),
            ]
        } else {
            keys = [
                ("Enter", "open"), ("/", "filter"), ("Space", list.isPaused ? "go on" : "pause"),
                ("f", "follow"), ("s", "send again"), ("e", "edit"), ("y", "curl"),
                ("?", "keys"), ("q", "quit"),
            ]
        }
        let last = keys.filter { $0.0 == "?" || $0.0 == "q" }
        var room = size.columns - 1 - last.reduce(0) { $0 + Self.width(of: $1) }
        var shown: [(String, String)] = []
        for key in keys where !last.contains(where: { $0.0 == key.0 }) {
            guard Self.width(of: key) <= room else { break }
            room -= Self.width(of: key)
            shown.append(key)
        }
        var line = ScreenLine()
        for (key, meaning) in shown + last {
            line.append(" ")
            line.append(key, .bold)
            line.append(" \(meaning) ", .dim)
        }
        return line
    }

    private static func width(of hint: (String, String)) -> Int {
        ScreenText.width(of: hint.0) + ScreenText.width(of: hint.1) + 3
    }
}
