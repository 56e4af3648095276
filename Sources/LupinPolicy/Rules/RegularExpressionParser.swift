// Parses the text of a regular expression to a tree.

import LupinCore

/// One construct of a regular expression.
indirect enum RegularExpressionNode {
    /// Literal characters, as UTF-8.
    case bytes([UInt8])
    case set(ScalarSet)
    case sequence([RegularExpressionNode])
    /// Earlier alternatives are preferred.
    case alternatives([RegularExpressionNode])
    /// `( )`; groups are numbered from 1 by their opening parenthesis.
    case capture(Int, RegularExpressionNode)
    case repeated(RegularExpressionNode, min: Int, max: Int?, isLazy: Bool)
    case assertion(RegularExpressionAssertion)
}

/// A condition on a position.
enum RegularExpressionAssertion: Sendable {
    /// `^` and `$` mean the ends of the text; there is no line mode.
    case start, end, wordBoundary, notWordBoundary
}

/// A recursive descent parser for patterns; offsets of problems count characters.
struct RegularExpressionParser {
    /// The largest count in `{n,m}`.
    static let repetitionsMax = 1000
    /// The maximum nesting of groups, so that a pattern cannot exhaust the stack.
    static let depthMax = 50

    private let characters: [Character]
    private var position = 0
    private var depth = 0
    private(set) var groupCount = 0
    private(set) var isIgnoringCase: Bool

    init(_ pattern: String, ignoringCase: Bool) {
        characters = Array(pattern)
        isIgnoringCase = ignoringCase
    }

    mutating func parse() throws(PatternProblem) -> RegularExpressionNode {
        if characters.starts(with: "(?i)") {
            isIgnoringCase = true
            position = 4
        }
        let node = try alternatives()
        if position < characters.count {
            throw PatternProblem("`)` closes no group; a literal one is `\\)`", at: position)
        }
        return node
    }

    private var next: Character? {
        position < characters.count ? characters[position] : nil
    }

    private func lookahead(_ text: String) -> Bool {
        characters[position...].starts(with: text)
    }

    // MARK: Structure

    private mutating func alternatives() throws(PatternProblem) -> RegularExpressionNode {
        var choices = [try sequence()]
        while next == "|" {
            position += 1
            choices.append(try sequence())
        }
        return choices.count == 1 ? choices[0] : .alternatives(choices)
    }

    private mutating func sequence() throws(PatternProblem) -> RegularExpressionNode {
        var parts: [RegularExpressionNode] = []
        while let character = next, character != "|", character != ")" {
            let start = position
            let atom = try self.atom(character)
            parts.append(try repetition(of: atom, from: start))
        }
        return .sequence(parts)
    }

    private mutating func atom(
        _ character: Character
    ) throws(PatternProblem) -> RegularExpressionNode {
        let start = position
        position += 1
        switch character {
        case "(": return try group(from: start)
        case "[": return .set(try characterClass(from: start))
        case ".": return .set(.anyButNewline)
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case "\\": return try escape(from: start)
        case "*", "+", "?":
            throw PatternProblem(
                "`\(character)` has nothing to repeat; a literal one is `\\\(character)`",
                at: start
            )
        default: return .bytes(Array(character.utf8))
        }
    }

    private mutating func group(from start: Int) throws(PatternProblem) -> RegularExpressionNode {
        var index: Int?
        if lookahead("?:") {
            position += 2
        } else if next == "?" {
            throw PatternProblem(unsupportedGroup, at: start)
        } else {
            groupCount += 1
            index = groupCount
        }
        guard depth < Self.depthMax else {
            throw PatternProblem("groups nest deeper than \(Self.depthMax)", at: start)
        }
        depth += 1
        let node = try alternatives()
        depth -= 1
        guard next == ")" else { throw PatternProblem("`(` is not closed", at: start) }
        position += 1
        return index.map { .capture($0, node) } ?? node
    }

    private var unsupportedGroup: String {
        let never = "is not supported: it cannot be matched in linear time"
        for kind in ["?=", "?!", "?<=", "?<!"] where lookahead(kind) {
            return "look-around `(\(kind)…)` \(never)"
        }
        if lookahead("?>") { return "an atomic group `(?>…)` \(never)" }
        if lookahead("?i)") { return "`(?i)` may stand only at the very start" }
        if lookahead("?<") || lookahead("?P") {
            return "named groups are not supported; write `(…)` and count from 1"
        }
        return "only `(…)` and `(?:…)` are supported, and `(?i)` at the very start"
    }

    // MARK: Repetition

    private mutating func repetition(
        of atom: RegularExpressionNode,
        from start: Int
    ) throws(PatternProblem) -> RegularExpressionNode {
        let quantifier = position
        guard let (min, max) = try bounds() else { return atom }
        if case .assertion = atom {
            throw PatternProblem("a position cannot be repeated", at: quantifier)
        }
        var isLazy = false
        if next == "?" {
            isLazy = true
            position += 1
        } else if next == "+" {
            throw PatternProblem(
                "a possessive repetition is not supported; leave out the `+`",
                at: position
            )
        }
        return .repeated(atom, min: min, max: max, isLazy: isLazy)
    }

    private mutating func bounds() throws(PatternProblem) -> (min: Int, max: Int?)? {
        switch next {
        case "*":
            position += 1
            return (0, nil)
        case "+":
            position += 1
            return (1, nil)
        case "?":
            position += 1
            return (0, 1)
        case "{": return try counts()
        default: return nil
        }
    }

    /// Parses `{n}`, `{n,}` or `{n,m}`; any other `{` is a literal.
    private mutating func counts() throws(PatternProblem) -> (min: Int, max: Int?)? {
        let start = position
        position += 1
        guard let min = number() else {
            position = start
            return nil
        }
        var max: Int? = min
        if next == "," {
            position += 1
            max = number()
        }
        guard next == "}" else {
            position = start
            return nil
        }
        position += 1
        guard min <= Self.repetitionsMax, (max ?? 0) <= Self.repetitionsMax else {
            throw PatternProblem("a count may be at most \(Self.repetitionsMax)", at: start)
        }
        if let max, max < min {
            throw PatternProblem("the counts are the wrong way round", at: start)
        }
        return (min, max)
    }

    private mutating func number() -> Int? {
        let start = position
        // Larger counts are clamped to one more than the maximum.
        let beyond = UInt64(Self.repetitionsMax + 1)
        var value: UInt64 = 0
        while let digit = next?.asciiValue, digit.isASCIIDigit {
            value = NumberReader.adding(digit &- 0x30, to: value, max: beyond) ?? beyond
            position += 1
        }
        // Bounded: by `beyond`.
        return position == start ? nil : Int(value)
    }

    // MARK: Characters

    private mutating func escape(from start: Int) throws(PatternProblem) -> RegularExpressionNode {
        if next == "b" || next == "B" {
            let isPlain = next == "b"
            position += 1
            return .assertion(isPlain ? .wordBoundary : .notWordBoundary)
        }
        switch try escapedMember(from: start) {
        case .set(let set): return .set(set)
        case .byte(let byte): return .bytes([byte])
        case .scalar(let scalar): return .bytes(Array(String(scalar).utf8))
        }
    }

    private enum Member {
        case set(ScalarSet)
        case byte(UInt8)
        case scalar(Unicode.Scalar)
    }

    /// Parses the escape after a backslash, inside or outside a class.
    private mutating func escapedMember(from start: Int) throws(PatternProblem) -> Member {
        guard let character = next else {
            throw PatternProblem("`\\` stands at the end; a literal one is `\\\\`", at: start)
        }
        position += 1
        switch character {
        case "d": return .set(.digits)
        case "w": return .set(.words)
        case "s": return .set(.spaces)
        case "D": return .set(.digits.complement)
        case "W": return .set(.words.complement)
        case "S": return .set(.spaces.complement)
        case "n": return .byte(0x0A)
        case "r": return .byte(0x0D)
        case "t": return .byte(0x09)
        case "x": return .byte(try hexByte(from: start))
        case "0"..."9", "k":
            throw PatternProblem(
                "back-references are not supported: they cannot be matched in linear time",
                at: start
            )
        default:
            let scalars = character.unicodeScalars
            guard scalars.count == 1, let scalar = scalars.first,
                !(scalar.isASCII && (character.isLetter || character.isNumber))
            else { throw PatternProblem("`\\\(character)` is not supported", at: start) }
            return .scalar(scalar)
        }
    }

    private mutating func hexByte(from start: Int) throws(PatternProblem) -> UInt8 {
        var digits: [UInt8] = []
        while digits.count < 2, let digit = next?.asciiValue, digit.hexDigit != nil {
            digits.append(digit)
            position += 1
        }
        guard let value = NumberReader.hexadecimalByte(digits.span, at: 0) else {
            throw PatternProblem("`\\x` needs two hexadecimal digits", at: start)
        }
        return value
    }

    private mutating func characterClass(from start: Int) throws(PatternProblem) -> ScalarSet {
        var set = ScalarSet()
        var isNegated = false
        if next == "^" {
            isNegated = true
            position += 1
        }
        var isFirst = true
        while true {
            guard let character = next else {
                throw PatternProblem("`[` is not closed", at: start)
            }
            if character == "]", !isFirst { break }
            isFirst = false
            try insertMember(into: &set)
        }
        position += 1
        if isIgnoringCase { set.addOtherCases() }
        return isNegated ? set.complement : set
    }

    private mutating func insertMember(into set: inout ScalarSet) throws(PatternProblem) {
        let start = position
        let first = try classMember()
        let isRange =
            next == "-" && position + 1 < characters.count && characters[position + 1] != "]"
        guard isRange else {
            switch first {
            case .set(let other): set.formUnion(other)
            case .byte(let byte): set.insert(byte: byte)
            case .scalar(let scalar): set.insert(scalar.value...scalar.value)
            }
            return
        }
        position += 1
        let last = try classMember()
        switch (first, last) {
        case (.scalar(let low), .scalar(let high)) where low <= high:
            set.insert(low.value...high.value)
        case (.byte(let low), .byte(let high)) where low <= high:
            for byte in low...high { set.insert(byte: byte) }
        default:
            throw PatternProblem("not a range; a literal `-` stands last or is `\\-`", at: start)
        }
    }

    private mutating func classMember() throws(PatternProblem) -> Member {
        let start = position
        guard let character = next else {
            throw PatternProblem("a `[` is not closed", at: start)
        }
        position += 1
        if character == "\\" { return try escapedMember(from: start) }
        if character == "[", next == ":" {
            throw PatternProblem("`[:…:]` is not supported; write `\\d`, `\\w` or `\\s`", at: start)
        }
        let scalars = character.unicodeScalars
        guard scalars.count == 1, let scalar = scalars.first else {
            throw PatternProblem(
                "`\(character)` is several code points, which a class cannot hold",
                at: start
            )
        }
        return .scalar(scalar)
    }
}
