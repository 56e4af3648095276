// Reads TOML 1.0: tables, dotted and quoted keys, strings of all kinds, arrays, inline tables.

import LupinCore

/// The values of a TOML file, one after another: each string of an array alone.
struct TOMLReader {
    private let text: [Unicode.Scalar]
    private var i = 0
    private var line = 1
    private var table: [String] = []
    private var found: [SettingsItem] = []
    private var given = 0
    private var isBroken = false

    /// Deeper values are not understood.
    private static let depthMax = 16

    init(_ text: String) {
        var scalars = Array(text.replacing("\r\n", with: "\n").unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        self.text = scalars
    }

    /// The next value or comment; nil at the end.
    mutating func next() -> SettingsItem? {
        while given == found.count, !isBroken, i < text.count {
            found.removeAll(keepingCapacity: true)
            given = 0
            if !readExpression() {
                isBroken = true
                found.append(.unreadable(line: line))
            }
        }
        guard given < found.count else { return nil }
        given += 1
        return found[given - 1]
    }

    private var peek: Unicode.Scalar? { i < text.count ? text[i] : nil }

    private mutating func advance() {
        if peek == "\n" { line += 1 }
        i += 1
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == character else { return false }
        advance()
        return true
    }

    private mutating func skipBlanks() {
        while peek == " " || peek == "\t" { advance() }
    }

    /// Also over ends of lines and comments, as in arrays.
    private mutating func skipAll() {
        while let character = peek {
            switch character {
            case " ", "\t", "\n": advance()
            case "#": readComment()
            default: return
            }
        }
    }

    private mutating func readComment() {
        let start = i
        while let character = peek, character != "\n" { advance() }
        found.append(.comment(line: line, Self.string(text[start..<i])))
    }

    /// One line with a table or a key, or what stands before one.
    private mutating func readExpression() -> Bool {
        skipAll()
        guard peek != nil else { return true }
        if take("[") {
            let isElement = take("[")
            guard let keys = readKeys(), take("]"), !isElement || take("]") else { return false }
            table = keys
        } else {
            guard let keys = readKeys(), take("=") else { return false }
            let path = [table, keys].flatMap(\.self)
            guard readValue(path, depth: 0) else { return false }
        }
        skipBlanks()
        if peek == "#" { readComment() }
        return peek == nil || take("\n")
    }

    private mutating func readKeys() -> [String]? {
        var keys: [String] = []
        repeat {
            skipBlanks()
            if peek == "\"" || peek == "'" {
                guard let key = readString() else { return nil }
                keys.append(key)
            } else {
                let start = i
                while let character = peek, SettingsText.isKey(character) { advance() }
                if start == i { return nil }
                keys.append(Self.string(text[start..<i]))
            }
            skipBlanks()
        } while take(".")
        return keys
    }

    private mutating func readValue(_ path: [String], depth: Int) -> Bool {
        guard depth < Self.depthMax else { return false }
        skipBlanks()
        let first = line
        switch peek {
        case "\"", "'":
            guard let value = readString() else { return false }
            found.append(.entry(SettingsEntry(line: first, path: path, value: value)))
            return true
        case "[":
            advance()
            while true {
                skipAll()
                if take("]") { return true }
                guard readValue(path, depth: depth + 1) else { return false }
                skipAll()
                if !take(","), peek != "]" { return false }
            }
        case "{":
            advance()
            while true {
                skipAll()
                if take("}") { return true }
                guard let keys = readKeys(), take("=") else { return false }
                let inner = [path, keys].flatMap(\.self)
                guard readValue(inner, depth: depth + 1) else { return false }
                skipAll()
                if !take(","), peek != "}" { return false }
            }
        default:
            let ends: Set<Unicode.Scalar> = [",", "]", "}", "#", "\n", " ", "\t", "\"", "'"]
            let start = i
            while let character = peek, !ends.contains(character) { advance() }
            let value = Self.string(text[start..<i])
            found.append(.entry(SettingsEntry(line: first, path: path, value: value)))
            return start < i
        }
    }

    /// One of the four kinds; nil if it doesn't end, or has an escape that there is not.
    private mutating func readString() -> String? {
        guard let quote = peek else { return nil }
        advance()
        var isLong = false
        if peek == quote {
            advance()
            guard take(quote) else { return "" }
            isLong = true
        }
        var value = String.UnicodeScalarView()
        while let character = peek {
            if character == quote, !isLong || isEnd(quote) {
                for _ in 0..<(isLong ? 3 : 1) { advance() }
                // Up to two quotes stand before the end.
                while isLong, take(quote) { value.append(quote) }
                return String(value)
            }
            if character == "\n", !isLong { return nil }
            advance()
            if character == "\\", quote == "\"" {
                guard readEscape(&value, isLong: isLong) else { return nil }
            } else {
                value.append(character)
            }
        }
        return nil
    }

    private func isEnd(_ quote: Unicode.Scalar) -> Bool {
        text.count - i >= 3 && text[i + 1] == quote && text[i + 2] == quote
    }

    private mutating func readEscape(
        _ value: inout String.UnicodeScalarView,
        isLong: Bool
    ) -> Bool {
        guard let character = peek else { return false }
        advance()
        switch character {
        case "\"", "\\": value.append(character)
        case "b": value.append("\u{8}")
        case "t": value.append("\t")
        case "n": value.append("\n")
        case "f": value.append("\u{C}")
        case "r": value.append("\r")
        case "e": value.append("\u{1B}")
        case "x", "u", "U":
            let count = character == "x" ? 2 : character == "u" ? 4 : 8
            guard text.count - i >= count else { return false }
            let digits = Self.string(text[i..<i + count])
            guard let code = NumberReader.hexadecimal(digits, max: 0x10FFFF),
                let scalar = Unicode.Scalar(UInt32(truncatingIfNeeded: code))
            else { return false }
            for _ in 0..<count { advance() }
            value.append(scalar)
        case " ", "\t", "\n":
            // The rest of the line is blank, and the value goes on behind all blanks.
            guard isLong else { return false }
            while let blank = peek, blank == " " || blank == "\t" || blank == "\n" { advance() }
        default: return false
        }
        return true
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }
}
