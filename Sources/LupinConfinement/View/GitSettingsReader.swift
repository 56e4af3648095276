// Reads git's settings as git does: sections, keys, quoted and continued values, comments.

import LupinCore

/// The entries of a file of git's settings, one after another.
struct GitSettingsReader {
    private let text: [Unicode.Scalar]
    private var i = 0
    private var line = 1
    private var section: String?
    private var subsection: String?
    private var isBroken = false

    init(_ text: String) {
        // Two characters end a line on Windows.
        var scalars = Array(text.replacing("\r\n", with: "\n").unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        self.text = scalars
    }

    /// The next entry or comment; nil at the end.
    mutating func next() -> SettingsItem? {
        while !isBroken, let character = peek {
            switch character {
            case "\n", " ", "\t", "\u{0B}", "\u{0C}": advance()
            case "#", ";": return comment()
            case "[": if !readSection() { return broken() }
            default: return entry()
            }
        }
        return nil
    }

    private var peek: Unicode.Scalar? { i < text.count ? text[i] : nil }

    private mutating func advance() {
        if peek == "\n" { line += 1 }
        i += 1
    }

    private mutating func broken() -> SettingsItem {
        isBroken = true
        return .unreadable(line: line)
    }

    private mutating func comment() -> SettingsItem {
        let start = i
        while let character = peek, character != "\n" { advance() }
        return .comment(line: line, Self.string(text[start..<i]))
    }

    /// `[name]`, `[name.sub]` or `[name "sub"]`.
    private mutating func readSection() -> Bool {
        advance()
        let start = i
        while let character = peek, SettingsText.isKey(character) || character == "." { advance() }
        let name = Self.string(text[start..<i]).lowercased()
        let dot = name.firstIndex(of: ".") ?? name.endIndex
        section = String(name[..<dot])
        subsection = dot == name.endIndex ? nil : String(name[dot...].dropFirst())
        while peek == " " || peek == "\t" { advance() }
        if peek == "\"" {
            advance()
            var quoted = String.UnicodeScalarView()
            while let character = peek, character != "\"" {
                if character == "\\" { advance() }
                guard let character = peek, character != "\n" else { return false }
                quoted.append(character)
                advance()
            }
            advance()
            subsection = String(quoted)
        }
        guard peek == "]" else { return false }
        advance()
        return true
    }

    private mutating func entry() -> SettingsItem {
        guard let section else { return broken() }
        let start = i
        let first = line
        while let character = peek, SettingsText.isKey(character) { advance() }
        let key = Self.string(text[start..<i])
        guard !key.isEmpty else { return broken() }
        while peek == " " || peek == "\t" { advance() }
        var value = "true"
        if peek == "=" {
            advance()
            guard let read = readValue() else { return broken() }
            value = read
        } else if let character = peek, character != "\n" {
            return broken()
        }
        return .entry(
            SettingsEntry(line: first, path: [section, key], subsection: subsection, value: value)
        )
    }

    /// Up to the end of the line or a comment, without quotes.
    private mutating func readValue() -> String? {
        var value = String.UnicodeScalarView()
        var isQuoted = false
        while let character = peek, character != "\n" || isQuoted {
            if character == "\n" { return nil }
            if !isQuoted, character == "#" || character == ";" { break }
            advance()
            switch character {
            case "\"": isQuoted.toggle()
            case "\\":
                guard let escaped = peek else { return nil }
                advance()
                switch escaped {
                case "\n": break
                case "n": value.append("\n")
                case "t": value.append("\t")
                case "b": value.append("\u{8}")
                case "\\", "\"": value.append(escaped)
                default: return nil
                }
            default: value.append(character)
            }
        }
        if isQuoted { return nil }
        let blanks: Set<Unicode.Scalar> = [" ", "\t"]
        var rest = value.drop(while: blanks.contains)
        while let last = rest.last, blanks.contains(last) { rest.removeLast() }
        return String(String.UnicodeScalarView(rest))
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }
}
