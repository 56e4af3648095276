// Regular expressions of the rules file: matching, captures and replacements.

import LupinCore

/// A regular expression with linear-time matching.
///
/// Patterns come from a file and inputs from peers, so matching never backtracks: a search takes
/// at most `input × program` steps. Supported are literals, `.`, classes, `\d \w \s \b` and their
/// opposites, `\n \r \t \xHH`, groups, `|`, `* + ? {n,m}` greedy and lazy, `^ $` (the ends of the
/// text) and a leading `(?i)`, which folds ASCII letters. Inputs are bytes: a character is a UTF-8
/// scalar or a byte that belongs to none, and `\xHH` is a byte.
package struct RegularExpression: Sendable, Equatable {
    /// The original text.
    package let pattern: String
    /// The number of groups `( )`.
    package let groupCount: Int
    private let program: RegularExpressionProgram

    /// Compiles `pattern`, without slashes around it.
    ///
    /// - Throws: What is wrong or not supported, and where.
    package init(_ pattern: String, ignoringCase: Bool = false) throws(PatternProblem) {
        var parser = RegularExpressionParser(pattern, ignoringCase: ignoringCase)
        let node = try parser.parse()
        self.pattern = pattern
        groupCount = parser.groupCount
        program = try RegularExpressionProgram(
            node,
            groupCount: parser.groupCount,
            ignoringCase: parser.isIgnoringCase
        )
    }

    /// Whether it matches anywhere in `bytes`.
    package func matches(_ bytes: Span<UInt8>) -> Bool {
        var budget = Int.max
        return RegularExpressionMachine.run(
            program,
            over: bytes,
            from: 0,
            wantsSlots: false,
            budget: &budget
        ) != nil
    }

    /// Returns the leftmost match and its groups, or nil.
    ///
    /// Element 0 is the whole match.
    ///
    /// Of several matches at the leftmost position the preference is that of Perl: earlier
    /// alternatives first, greedy repetitions long and lazy ones short.
    package func captures(in bytes: Span<UInt8>) -> [Range<Int>?]? {
        var budget = Int.max
        return captures(in: bytes, from: 0, budget: &budget)
    }

    /// The leftmost match that begins at or after `start`; nil also when `budget` is used up.
    ///
    /// `^` and `\b` see the bytes before `start` too. `budget` is how many bytes the search may
    /// look at: what it looked at is taken off, and below zero it has stopped early.
    func captures(in bytes: Span<UInt8>, from start: Int, budget: inout Int) -> [Range<Int>?]? {
        let slots = RegularExpressionMachine.run(
            program,
            over: bytes,
            from: start,
            wantsSlots: true,
            budget: &budget
        )
        guard let slots else { return nil }
        return (0...groupCount).map { group in
            let (start, end) = (slots[2 * group], slots[2 * group + 1])
            return start >= 0 && end >= start ? start..<end : nil
        }
    }

    /// Replaces the leftmost match in `bytes`; returns nil if there is none.
    ///
    /// In `replacement`, `$1` and `${1}` are groups, `$0` is the match and `$$` is `$`.
    package func replacingFirst(in bytes: Span<UInt8>, with replacement: String) -> [UInt8]? {
        guard let groups = captures(in: bytes), let match = groups[0] else { return nil }
        var result: [UInt8] = []
        result.append(copying: bytes.extracting(0..<match.lowerBound))
        Replacement(replacement).append(to: &result, groups: groups, of: bytes)
        result.append(copying: bytes.extracting(match.upperBound..<bytes.count))
        return result
    }
}

/// The replacement of a match: text with `$1`, `${1}`, `$0` and `$$`.
package struct Replacement: Sendable, Equatable {
    private enum Part: Equatable {
        case text(String)
        case group(Int)
    }
    private var parts: [Part] = []

    /// Parses `text`; a `$` without a meaning is a literal.
    package init(_ text: String) {
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            if dollar > rest.startIndex { parts.append(.text(String(rest[..<dollar]))) }
            rest = rest[rest.index(after: dollar)...]
            if rest.first == "$" {
                parts.append(.text("$"))
                rest = rest.dropFirst()
            } else if let group = Self.group(&rest) {
                parts.append(.group(group))
            } else {
                parts.append(.text("$"))
            }
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
    }

    /// Appends the text with the groups of a match filled in; a group without a match is empty.
    package func append(
        to output: inout [UInt8],
        groups: [Range<Int>?],
        of bytes: Span<UInt8>
    ) {
        for part in parts {
            switch part {
            case .text(let text): output.append(contentsOf: text.utf8)
            case .group(let group):
                guard group < groups.count, let range = groups[group] else { continue }
                output.append(copying: bytes.extracting(range))
            }
        }
    }

    /// Finds the first `$` of `text` without a meaning, or with a group above `groupCount`.
    package static func problem(in text: String, groupCount: Int) -> PatternProblem? {
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            let offset = text.distance(from: text.startIndex, to: dollar)
            rest = rest[rest.index(after: dollar)...]
            if rest.first == "$" {
                rest = rest.dropFirst()
            } else if let group = group(&rest) {
                if group > groupCount {
                    let count = groupCount == 1 ? "1 group" : "\(groupCount) groups"
                    return PatternProblem(
                        "`$\(group)` names no group: the expression has \(count)",
                        at: offset
                    )
                }
            } else {
                return PatternProblem(
                    "`$` needs a group's number; a literal one is `$$`",
                    at: offset
                )
            }
        }
        return nil
    }

    /// Takes `1` or `{1}` from the front of `rest`.
    private static func group(_ rest: inout Substring) -> Int? {
        let isBraced = rest.first == "{"
        let digits = rest.dropFirst(isBraced ? 1 : 0).prefix {
            $0.asciiValue.map(\.isASCIIDigit) ?? false
        }
        guard let group = NumberReader.unsigned(digits, max: UInt64(Int32.max)) else { return nil }
        let after = rest[digits.endIndex...]
        if isBraced, after.first != "}" { return nil }
        rest = after.dropFirst(isBraced ? 1 : 0)
        // Bounded: by 2^31.
        return Int(group)
    }
}
