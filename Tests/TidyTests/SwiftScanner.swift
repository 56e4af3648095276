// Which bytes of a Swift file are code, which are comment and which are text in quotes.

/// Splits Swift source into tokens and comments, well enough for checks by word.
///
/// String literals and raw identifiers vanish, the code inside `\(…)` stays. A regular expression
/// literal that holds a quote confuses it until the end of that line, no longer.
struct SwiftScanner {
    private(set) var tokens: [SourceFile.Token] = []
    private(set) var comments: [SourceFile.Comment] = []

    private let bytes: [UInt8]
    private var i = 0
    private var line = 1

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Reads everything to the end.
    mutating func scan() {
        while i < bytes.count { scanCode() }
    }

    /// Reads code up to the parenthesis that closes an interpolation, or to the end.
    private mutating func scanCode(untilClosed: Bool = false) {
        var depth = 0
        while let byte = peek() {
            switch byte {
            case newline: advance()
            case slash where peek(1) == slash: scanLineComment()
            case slash where peek(1) == star: scanBlockComment()
            case quote: scanString(hashes: 0)
            case hash where quoteBehindHashes() != nil: scanString(hashes: quoteBehindHashes() ?? 0)
            case backtick: scanRawIdentifier()
            case _ where isWord(byte): scanWord()
            default:
                if byte == open { depth += 1 }
                if byte == close { depth -= 1 }
                if untilClosed, depth < 0 { return }
                if byte > 0x20 { add(String(decoding: [byte], as: UTF8.self)) }
                i += 1
            }
        }
    }

    private mutating func scanWord() {
        let start = i
        while let byte = peek(), isWord(byte) { i += 1 }
        let word = String(decoding: bytes[start..<i], as: UTF8.self)
        // `try !a` is harmless, so the mark belongs to the word it touches.
        let isForced = peek() == mark && ["try", "as"].contains(word)
        if isForced { i += 1 }
        add(isForced ? word + "!" : word)
    }

    private mutating func scanLineComment() {
        let isDocumentation = peek(2) == slash && peek(3) != slash
        while peek() == slash { i += 1 }
        let start = i
        while let byte = peek(), byte != newline { i += 1 }
        comment(start..<i, isDocumentation: isDocumentation)
    }

    private mutating func scanBlockComment() {
        var depth = 0
        var start = i
        repeat {
            if peek() == slash, peek(1) == star {
                depth += 1
                i += 2
            } else if peek() == star, peek(1) == slash {
                depth -= 1
                i += 2
            } else if peek() == newline {
                comment(start..<i, isDocumentation: false)
                advance()
                start = i
            } else {
                i += 1
            }
        } while depth > 0 && i < bytes.count
        comment(start..<min(i, bytes.count), isDocumentation: false)
    }

    /// Reads a string literal whose quote stands behind `hashes` number signs.
    private mutating func scanString(hashes: Int) {
        i += hashes
        let quotes = peek(1) == quote && peek(2) == quote ? 3 : 1
        i += quotes
        while let byte = peek() {
            if byte == newline {
                if quotes == 1 { return }
                advance()
            } else if byte == backslash, run(of: hash, from: i + 1, atMost: hashes) == hashes {
                i += 1 + hashes
                if peek() == open {
                    i += 1
                    scanCode(untilClosed: true)
                }
                if peek() != newline { i += 1 }
            } else if byte == quote, run(of: quote, from: i, atMost: quotes) == quotes,
                run(of: hash, from: i + quotes, atMost: hashes) == hashes
            {
                i += quotes + hashes
                return
            } else {
                i += 1
            }
        }
    }

    private mutating func scanRawIdentifier() {
        i += 1
        while let byte = peek(), byte != backtick, byte != newline { i += 1 }
        if peek() == backtick { i += 1 }
    }

    private func quoteBehindHashes() -> Int? {
        let count = run(of: hash, from: i, atMost: bytes.count)
        return peek(count) == quote ? count : nil
    }

    private func run(of byte: UInt8, from start: Int, atMost limit: Int) -> Int {
        var count = 0
        while count < limit, start + count < bytes.count, bytes[start + count] == byte {
            count += 1
        }
        return count
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        i + distance < bytes.count ? bytes[i + distance] : nil
    }

    private mutating func advance() {
        i += 1
        line += 1
    }

    private mutating func add(_ text: String) {
        tokens.append(SourceFile.Token(text: text, line: line))
    }

    private mutating func comment(_ range: Range<Int>, isDocumentation: Bool) {
        let text = String(decoding: bytes[range], as: UTF8.self)
        comments.append(
            SourceFile.Comment(text: text, line: line, isDocumentation: isDocumentation)
        )
    }

    private func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }
}

private let newline = UInt8(ascii: "\n")
private let slash = UInt8(ascii: "/")
private let star = UInt8(ascii: "*")
private let quote = UInt8(ascii: "\"")
private let hash = UInt8(ascii: "#")
private let backtick = UInt8(ascii: "`")
private let backslash = UInt8(ascii: "\\")
private let mark = UInt8(ascii: "!")
private let open = UInt8(ascii: "(")
private let close = UInt8(ascii: ")")
