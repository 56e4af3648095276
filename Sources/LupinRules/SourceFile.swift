// The text of a rules file as its author sees it: lines, columns, and the length of the value at a
// place, for carets below it.

import LupinCore

/// A place in the file as libyaml counts it: lines from 1, columns from 1 in Unicode scalars.
package struct FileLocation: Sendable, Equatable, Hashable {
    package var line: Int
    package var column: Int

    static let wholeFile = FileLocation(line: 0, column: 0)

    func shifted(by columns: Int) -> FileLocation {
        FileLocation(line: line, column: column &+ columns)
    }
}

/// The lines of one file.
struct SourceFile: Sendable {
    /// As the user gave it.
    let name: String
    let text: String
    private let lines: [Line]

    private struct Line {
        var scalars: Substring.UnicodeScalarView
        /// The index of every `landmarkScalars`th scalar: a list of 100,000 hosts on one line has
        /// as many places, and a scan from its start for each of them would be quadratic.
        var landmarks: [String.Index] = []
    }

    private static let landmarkScalars = 64

    init(name: String, text: String) {
        self.name = name
        self.text = text
        lines = SourceFile.split(text)
    }

    var lineCount: Int { lines.count }

    /// Returns the scalars of a line without its line break; nil when there is no such line.
    func line(_ number: Int) -> Substring.UnicodeScalarView? {
        number >= 1 && number <= lines.count ? lines[number - 1].scalars : nil
    }

    /// The place of the first matching scalar; the start of the file when there is none.
    func location(where isWanted: (Unicode.Scalar) -> Bool) -> FileLocation {
        for (index, line) in lines.enumerated() {
            let scalars = line.scalars
            guard let found = scalars.firstIndex(where: isWanted) else { continue }
            let column = scalars.distance(from: scalars.startIndex, to: found) + 1
            return FileLocation(line: index + 1, column: column)
        }
        return FileLocation(line: 1, column: 1)
    }

    /// The rest of the line from `location` on.
    func rest(at location: FileLocation) -> Substring.UnicodeScalarView {
        guard location.line >= 1, location.line <= lines.count, location.column >= 1 else {
            return Substring().unicodeScalars
        }
        let line = lines[location.line - 1]
        let offset = location.column - 1
        let passed = min(offset / Self.landmarkScalars, line.landmarks.count)
        let start = passed == 0 ? line.scalars.startIndex : line.landmarks[passed - 1]
        return line.scalars[start...].dropFirst(offset - passed * Self.landmarkScalars)
    }

    /// libyaml breaks lines at CR, LF, CRLF, NEL, LS and PS; lupin must do the same for its marks.
    private static func split(_ text: String) -> [Line] {
        let scalars = text.unicodeScalars
        var result: [Line] = []
        var landmarks: [String.Index] = []
        var count = 0
        var start = scalars.startIndex
        var index = start
        while index < scalars.endIndex {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            guard isBreak(scalar) else {
                index = next
                count += 1
                if count % landmarkScalars == 0 { landmarks.append(index) }
                continue
            }
            result.append(Line(scalars: scalars[start..<index], landmarks: landmarks))
            (landmarks, count) = ([], 0)
            index = next
            if scalar == "\r", index < scalars.endIndex, scalars[index] == "\n" {
                index = scalars.index(after: index)
            }
            start = index
        }
        result.append(Line(scalars: scalars[start...], landmarks: landmarks))
        return result
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\r", "\n", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }
}

// MARK: Diagnostics

extension SourceFile {
    /// Creates a diagnostic at `location`, with carets below `count` scalars; nil measures the
    /// value.
    ///
    /// Without `showsLine` it costs next to nothing.
    func diagnostic(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: FileLocation,
        count: Int? = nil,
        value: String? = nil,
        hint: String? = nil,
        showsLine: Bool = true
    ) -> Diagnostic {
        guard let line = line(location.line), showsLine else {
            return Diagnostic(
                code: code,
                message: SourceFile.printable(message),
                hint: hint.map(SourceFile.printable),
                file: SourceFile.printable(name),
                line: location.line > 0 ? location.line : 0,
                column: location.line > 0 ? max(1, location.column) : 0,
                excerpt: "",
                caretOffset: 0,
                caretCount: 0
            )
        }
        let window = window(of: line, at: location)
        // The column for users counts characters; libyaml counts scalars.
        let column =
            location.column > SourceFile.windowScalars
            ? location.column : characters(line.prefix(max(0, location.column - 1))) + 1
        let length = count ?? extent(at: location, value: value)
        let marked = characters(window.shown.dropFirst(window.before).prefix(length))
        let lead = window.isCut ? "…" : ""
        // Tabs become single spaces in the excerpt, to keep the carets aligned.
        var excerpt =
            lead + String(String.UnicodeScalarView(window.shown.map(SourceFile.printable)))
        if window.hasMore { excerpt += "…" }
        while excerpt.last == " " { excerpt.removeLast() }
        return Diagnostic(
            code: code,
            message: SourceFile.printable(message),
            hint: hint.map(SourceFile.printable),
            file: SourceFile.printable(name),
            line: location.line,
            column: column,
            excerpt: excerpt,
            caretOffset: lead.count + characters(window.shown.prefix(window.before)),
            caretCount: max(1, marked),
            isCut: window.isCut || window.hasMore
        )
    }

    /// The part of a line that a problem shows: a problem costs no more on a long line than on a
    /// short one, however many there are.
    private struct Window {
        var shown: Substring.UnicodeScalarView
        /// The scalars in front of the place.
        var before: Int
        /// Whether something before it, besides blanks, or behind it is left out.
        var isCut: Bool
        var hasMore: Bool
    }

    /// The scalars of a window, and those of it before the place.
    private static let windowScalars = 200
    private static let windowLead = 80
    /// A password that begins this far before a window is masked in it.
    private static let urlScalars = 512

    private func window(of line: Substring.UnicodeScalarView, at location: FileLocation) -> Window {
        let before = max(0, location.column - 1)
        let blank = line.prefix(SourceFile.windowScalars).prefix { $0 == " " || $0 == "\t" }.count
        let isCut = before >= SourceFile.windowScalars
        let start = isCut ? before - SourceFile.windowLead : min(blank, before)
        let from = max(0, start - SourceFile.urlScalars)
        let end = start + SourceFile.windowScalars
        let around = rest(at: FileLocation(line: location.line, column: from + 1))
            .prefix(end - from + SourceFile.urlScalars)
        let masked = SourceFile.masked(Array(around))
        let shown = masked.dropFirst(start - from).prefix(SourceFile.windowScalars)
        return Window(
            shown: Substring(String(String.UnicodeScalarView(shown))).unicodeScalars,
            before: before - start,
            isCut: isCut,
            hasMore: masked.count > end - from
        )
    }

    /// The number of scalars of the value or key at `location`, on its line.
    private func extent(at location: FileLocation, value: String?) -> Int {
        let rest = rest(at: location).prefix(SourceFile.windowScalars)
        guard let first = rest.first else { return 1 }
        switch first {
        case "\"", "'":
            return quotedLength(rest, quote: first)
        case "[", "{":
            return bracketLength(rest)
        case "|", ">":
            return 1
        default:
            if let value, !value.isEmpty, rest.starts(with: value.unicodeScalars) {
                return value.unicodeScalars.count
            }
            return plainLength(rest)
        }
    }

    private func quotedLength(_ rest: Substring.UnicodeScalarView, quote: Unicode.Scalar) -> Int {
        var length = 1
        var isEscaped = false
        for scalar in rest.dropFirst() {
            length += 1
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\", quote == "\"" {
                isEscaped = true
            } else if scalar == quote {
                return length
            }
        }
        return length
    }

    private func bracketLength(_ rest: Substring.UnicodeScalarView) -> Int {
        var depth = 0
        var length = 0
        var quote: Unicode.Scalar?
        for scalar in rest {
            length += 1
            if let open = quote {
                if scalar == open { quote = nil }
                continue
            }
            switch scalar {
            case "\"", "'": quote = scalar
            case "[", "{": depth += 1
            case "]", "}":
                depth -= 1
                if depth == 0 { return length }
            default: break
            }
        }
        return plainLength(rest)
    }

    /// The length up to a comment or the end of the line, without trailing spaces.
    private func plainLength(_ rest: Substring.UnicodeScalarView) -> Int {
        var length = 0
        var end = 0
        var previous: Unicode.Scalar = "x"
        for scalar in rest {
            if scalar == "#", previous == " " { break }
            length += 1
            if scalar != " ", scalar != "\t" { end = length }
            previous = scalar
        }
        return end
    }

    private func characters(_ scalars: Substring.UnicodeScalarView.SubSequence) -> Int {
        String(String.UnicodeScalarView(scalars)).count
    }

    /// Masks the password of a URL: reports go to logs too.
    private static func masked(_ line: [Unicode.Scalar]) -> [Unicode.Scalar] {
        var result = line
        for i in line.indices.dropFirst(2) where Array(line[(i - 2)...i]) == [":", "/", "/"] {
            let rest = line[(i + 1)...]
            let end = rest.firstIndex { " /\"'".unicodeScalars.contains($0) } ?? rest.endIndex
            guard let at = rest[..<end].lastIndex(of: "@"),
                let colon = rest[..<at].firstIndex(of: ":"), line[colon + 1] != "$"
            else { continue }
            for j in (colon + 1)..<at { result[j] = "*" }
        }
        return result
    }

    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map(printable)))
    }

    /// Replaces characters that must not reach a terminal, one by one, to keep carets aligned.
    private static func printable(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar == "\t" ? " " : LogText.isHarmful(scalar) ? "\u{FFFD}" : scalar
    }
}
