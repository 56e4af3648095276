// Writes the source of a man page, in the language of mdoc(7).
import LupinConsole
import LupinCore

/// The source of one page.
struct ManSource {
    private(set) var lines: [String] = []

    /// mandoc -Tlint wants no longer lines.
    private static let columns = 78

    /// Begins the page: `name` in `section`, with one line about it.
    init(_ name: String, section: Int, date: String, about: String) {
        macro("Dd", date)
        macro("Dt", Self.escaped(name.uppercased()), "\(section)")
        macro("Os")
        header("NAME")
        macro("Nm", Self.escaped(name))
        macro("Nd", Self.escaped(about.hasSuffix(".") ? String(about.dropLast()) : about))
    }

    /// The page of the manual that is called `name`.
    init(manual name: String, _ page: String, date: String) {
        let about = PageText.inline(PageText.abstract(of: page)[...])
        self.init(name, section: 7, date: date, about: about)
        header("DESCRIPTION")
        markdown(page)
        header("SEE ALSO")
        macro("Xr", "lupin", "1")
    }

    /// `November 25, 2026`, as mdoc(7) wants it.
    static func date(_ seconds: Int64) -> String {
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ]
        // `Wed, 25 Nov 2026 14:43:21 GMT`
        let words = HTTPDate.text(seconds).split(separator: " ")
        guard words.count > 3, let day = NumberReader.unsigned(words[1]),
            let month = months.first(where: { $0.hasPrefix(words[2]) })
        else { return "January 1, 2026" }
        return "\(month) \(day), \(words[3])"
    }

    var text: String { lines.joined(separator: "\n") + "\n" }

    /// Appends a line of a macro, whose arguments are escaped already.
    mutating func macro(_ name: String, _ arguments: String...) {
        lines.append(([".\(name)"] + arguments.filter { !$0.isEmpty }).joined(separator: " "))
    }

    mutating func header(_ title: String) { macro("Sh", Self.escaped(title.uppercased())) }

    /// Appends running text, one sentence a line, as mdoc wants it.
    mutating func prose(_ text: String) {
        var sentence: [Substring] = []
        for word in text.split(whereSeparator: \.isWhitespace) {
            sentence.append(word)
            guard ".!?:".contains(word.last ?? " "), word.count > 1 else { continue }
            append(sentence)
            sentence = []
        }
        append(sentence)
    }

    private mutating func append(_ words: [Substring]) {
        guard !words.isEmpty else { return }
        let text = Self.escaped(words.joined(separator: " "))
        for line in PageText.wrap(text, columns: Self.columns) { lines.append(Self.plain(line)) }
    }

    /// Appends lines as they are.
    mutating func literal(_ code: [String]) {
        let blank = { (line: String) in line.allSatisfy { $0 == " " } }
        guard let first = code.firstIndex(where: { !blank($0) }),
            let last = code.lastIndex(where: { !blank($0) })
        else { return }
        macro("Bd", "-literal", "-offset", "indent")
        for line in code[first...last] {
            lines.append(blank(line) ? "" : Self.plain(Self.escaped(line)))
        }
        macro("Ed")
    }

    /// Appends a help text: paragraphs, and code that is indented by two columns.
    mutating func discussion(_ text: String) {
        var isFirst = true
        for block in text.pieces(between: "\n\n") {
            let block = block.split(separator: "\n", omittingEmptySubsequences: false).map {
                String($0)
            }
            if block.allSatisfy({ $0.hasPrefix("  ") }) {
                literal(block.map { String($0.dropFirst(2)) })
            } else {
                if !isFirst { macro("Pp") }
                let code = block.firstIndex { $0.hasPrefix("  ") } ?? block.endIndex
                prose(block[..<code].joined(separator: " "))
                literal(block[code...].map { String($0.dropFirst(2)) })
            }
            isFirst = false
        }
    }

    /// Keeps a line of text from being a macro.
    private static func plain(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("'") ? "\\&\(line)" : line
    }

    /// Escapes what has a meaning, and what is not ASCII.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "\"": result += "\\(dq"
            case "\t": result += "    "
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            }
        }
        return result
    }

    /// An argument of a macro: one that is itself the name of a macro, or punctuation, stays text.
    static func argument(_ text: String) -> String {
        let escaped = escaped(text)
        return text.count <= 3 ? "\\&\(escaped)" : escaped
    }
}

extension ManSource {
    /// Appends a page of the manual, which is Markdown, without its title.
    mutating func markdown(_ text: String) {
        var rest = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        var open: [Substring] = []
        var isInList = false
        var isAtStart = true
        func ends(_ line: Substring) -> Bool {
            line.isEmpty || line.hasPrefix("#") || line.hasPrefix("```") || line.hasPrefix("|")
                || line.hasPrefix("<!--") || PageText.itemMarker(line.drop { $0 == " " }) != nil
        }
        while let line = rest.popFirst() {
            let content = line.drop { $0 == " " }
            if let marker = PageText.itemMarker(content) {
                open = [content.dropFirst(marker.count)]
                if !isInList { macro("Bl", "-bullet", "-compact") }
                isInList = true
                macro("It")
            } else if line.isEmpty || line.hasPrefix("# ") {
                continue
            } else {
                if isInList, !line.hasPrefix(" ") {
                    macro("El")
                    isInList = false
                }
                if line.hasPrefix("```") {
                    let code = rest.prefix { !$0.hasPrefix("```") }
                    literal(code.map(String.init))
                    rest = rest.dropFirst(code.count + 1)
                    isAtStart = false
                    continue
                } else if line.hasPrefix("|") {
                    let rows = [line] + rest.prefix { $0.hasPrefix("|") }
                    rest = rest.dropFirst(rows.count - 1)
                    literal(PageText(rows.joined(separator: "\n"), columns: 72).lines)
                    isAtStart = false
                    continue
                } else if line.hasPrefix("<!--") {
                    if !line.contains("-->") {
                        rest = rest.drop { !$0.contains("-->") }.dropFirst()
                    }
                    continue
                } else if line.hasPrefix("#") {
                    let title = PageText.inline(line.drop { $0 == "#" }.drop { $0 == " " })
                    macro(line.hasPrefix("## ") ? "Sh" : "Ss", Self.escaped(title))
                    isAtStart = true
                    continue
                }
                if !isAtStart, !isInList { macro("Pp") }
                open = [content]
            }
            let more = rest.prefix { !ends($0) }
            open += more
            rest = rest.dropFirst(more.count)
            prose(PageText.inline(open.joined(separator: " ")[...]))
            isAtStart = false
        }
        if isInList { macro("El") }
    }
}
