// Patterns of values for `header:`, `query:` and `program:`.

/// An exact value, a glob with `*` (`\*` is a star), or `/regex/` with an optional final `i`.
///
/// An exact value and a glob must match the whole value, a regular expression any part of it.
package struct ValuePattern: Sendable {
    /// The pattern as the file has it.
    package let source: String
    private let kind: Kind

    private enum Kind: Sendable {
        case glob(ValueGlob)
        case expression(RegularExpression)
    }

    /// - Throws: What is wrong with the regular expression.
    package init(_ text: String) throws(PatternProblem) {
        source = text
        if let expression = try RegularExpression(literal: text) {
            kind = .expression(expression)
        } else {
            kind = .glob(ValueGlob(text))
        }
    }

    /// The expression between the slashes; nil for an exact value or a glob.
    package var regularExpression: RegularExpression? {
        if case .expression(let expression) = kind { expression } else { nil }
    }

    /// Whether the pattern matches `value`.
    package func matches(_ value: Span<UInt8>) -> Bool {
        switch kind {
        case .glob(let glob): glob.matches(value)
        case .expression(let expression): expression.matches(value)
        }
    }

    /// Replaces the match in `value`, or returns nil if there is none: the first match of a regular
    /// expression, else the whole value.
    package func replacing(in value: Span<UInt8>, with replacement: String) -> [UInt8]? {
        switch kind {
        case .expression(let expression):
            return expression.replacingFirst(in: value, with: replacement)
        case .glob(let glob):
            guard glob.matches(value) else { return nil }
            var result: [UInt8] = []
            Replacement(replacement).append(to: &result, groups: [0..<value.count], of: value)
            return result
        }
    }

    /// Returns the problem with a replacement for it, such as a group that does not exist.
    package func problem(inReplacement replacement: String) -> PatternProblem? {
        Replacement.problem(
            in: replacement,
            groupCount: regularExpression.map(\.groupCount) ?? 0
        )
    }

    /// Whether this pattern provably matches everything that `other` matches.
    func provablyContains(_ other: ValuePattern) -> Bool {
        if self == other { return true }
        if case .glob(let glob) = kind, glob.matchesEverything { return true }
        if case .glob(let glob) = other.kind, let literal = glob.literal {
            return matches(literal.span)
        }
        return false
    }
}

extension ValuePattern: Equatable {
    /// Whether both have the same text.
    package static func == (a: Self, b: Self) -> Bool { a.source == b.source }
}

extension RegularExpression {
    /// Parses `/…/` or `/…/i`; returns nil for text without slashes around it.
    ///
    /// Slashes inside may be `\/` or plain: the first and the last one delimit. Offsets of problems
    /// count from the first slash.
    package init?(literal text: String) throws(PatternProblem) {
        guard let body = Self.body(ofLiteral: text) else { return nil }
        do throws(PatternProblem) {
            try self.init(String(body), ignoringCase: text.hasSuffix("i"))
        } catch {
            throw error.shifted(by: 1)
        }
    }

    /// Returns the text between the slashes of `/…/` or `/…/i`.
    static func body(ofLiteral text: String) -> Substring? {
        guard text.hasPrefix("/") else { return nil }
        let end = text.hasSuffix("i") ? text.dropLast() : text[...]
        guard end.hasSuffix("/"), end.count > 2 else { return nil }
        let body = end.dropFirst().dropLast()
        // A slash after an odd number of backslashes is a literal, not the end.
        let backslashes = body.reversed().prefix { $0 == "\\" }.count
        return backslashes.isMultiple(of: 2) ? body : nil
    }
}
