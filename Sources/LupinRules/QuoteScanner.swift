// Finds quotes that span lines: where one is not closed, libyaml fails where the next one begins.

/// The last quoted text that ends on a line, or the one that came from lines above.
struct QuoteScanner {
    /// Where the quote opens, and where it closes.
    private(set) var found: (opening: FileLocation, closing: FileLocation)?
    /// The quote that is open.
    private var open: (mark: Unicode.Scalar, at: FileLocation)?
    /// The indentation of the line above a block scalar, while its lines pass.
    private var blockIndentation: Int?

    /// Scans what stands before `end`, on whose line the quote is to end.
    init(_ source: SourceFile, upTo end: FileLocation) {
        guard end.line >= 1 else { return }
        for number in 1...min(end.line, max(1, source.lineCount)) {
            found = nil
            guard let whole = source.line(number) else { continue }
            let line = Array(number == end.line ? whole.prefix(max(0, end.column - 1)) : whole)
            if !isInBlock(line) { scan(line, number) }
        }
    }

    private mutating func isInBlock(_ line: [Unicode.Scalar]) -> Bool {
        guard open == nil, let least = blockIndentation else { return false }
        let indentation = line.prefix { $0 == " " }.count
        if indentation > least || indentation == line.count { return true }
        blockIndentation = nil
        return false
    }

    private mutating func scan(_ line: [Unicode.Scalar], _ number: Int) {
        /// The last character but blanks, and the one before that.
        var solid: Unicode.Scalar = "-"
        var previous: Unicode.Scalar = " "
        var i = 0
        while i < line.count {
            let scalar = line[i]
            if let (mark, at) = open {
                if mark == "\"", scalar == "\\" {
                    i += 1
                } else if scalar == mark, mark == "'", i + 1 < line.count, line[i + 1] == mark {
                    i += 1
                } else if scalar == mark {
                    if found.map({ $0.opening.line == number }) ?? true {
                        found = (at, FileLocation(line: number, column: i + 1))
                    }
                    open = nil
                    solid = mark
                }
            } else if scalar == "#", previous == " " {
                return
            } else if scalar == "\"" || scalar == "'", Self.beginsValue(behind: solid) {
                open = (scalar, FileLocation(line: number, column: i + 1))
            } else if scalar != " " {
                solid = scalar
            }
            previous = scalar
            i += 1
        }
        if open == nil, Self.opensBlock(line) {
            blockIndentation = line.prefix { $0 == " " }.count
        }
    }

    private static func beginsValue(behind solid: Unicode.Scalar) -> Bool {
        ":-?[{,".unicodeScalars.contains(solid)
    }

    /// Whether a line ends with `: |`, `- >-` and the like.
    private static func opensBlock(_ line: [Unicode.Scalar]) -> Bool {
        guard let word = line.split(separator: " ").last, let first = word.first else {
            return false
        }
        return (first == "|" || first == ">") && word.count <= 3
    }
}
