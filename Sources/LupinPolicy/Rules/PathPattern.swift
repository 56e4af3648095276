// Patterns of paths, which match the normal form.

import LupinCore

/// A glob over the segments of a path, or `/regex/`; both match the path's normal form.
///
/// `/v1/*` is one segment below `/v1`; `/v1/**` is `/v1`, `/v1/` and everything below.
package struct PathPattern: Sendable {
    /// The pattern as the file has it.
    package let source: String
    private let kind: Kind

    private enum Kind: Sendable {
        case glob(SegmentGlob)
        case expression(RegularExpression)
    }

    /// - Throws: What is wrong, and what to write instead.
    package init(_ text: String) throws(PatternProblem) {
        if let body = RegularExpression.body(ofLiteral: text) {
            switch Self.reading(of: body, hasFlag: text.hasSuffix("i")) {
            case .expression:
                guard let expression = try RegularExpression(literal: text) else { break }
                self.init(source: text, kind: .expression(expression))
                return
            case .either:
                throw PatternProblem(
                    "`\(text)` may mean a path or a regular expression; write"
                        + " `/\(body)/**` for the path and all below, or `/^\\/\(body)\\/$/`",
                    at: 0
                )
            case .path: break
            }
        }
        try self.init(glob: text)
    }

    /// Parses a glob only: text between slashes is a path here.
    package init(glob text: String) throws(PatternProblem) {
        let glob = SegmentGlob(try Self.segments(of: text), separator: 0x2F)
        self.init(source: text, kind: .glob(glob))
    }

    private init(source: String, kind: Kind) {
        self.source = source
        self.kind = kind
    }

    /// Whether the pattern matches a path.
    ///
    /// `path` is in normal form, without query.
    package func matches(_ path: Span<UInt8>) -> Bool {
        switch kind {
        case .expression(let expression): return expression.matches(path)
        case .glob(let glob):
            guard path.count > 0, path[0] == 0x2F else { return false }
            return glob.matches(path.extracting(1...))
        }
    }

    /// The literal segments that every match begins with; empty for an expression.
    var fixedSegments: [[UInt8]] {
        guard case .glob(let glob) = kind else { return [] }
        var segments: [[UInt8]] = []
        for case .literal(let bytes) in glob.segments.prefix(while: \.isLiteral) {
            segments.append(bytes)
        }
        return segments
    }

    /// The pattern in the form in which paths are compared; nil where it is written so.
    ///
    /// A glob is compared in that form anyhow. An expression is not, and what it has in another
    /// one matches nothing.
    package var normalForm: String? {
        let bytes: [UInt8]
        switch kind {
        case .expression: bytes = Self.normalizingEscapes(ofExpression: Array(source.utf8))
        case .glob: bytes = NormalPath(source.utf8.span).rewritten ?? Array(source.utf8)
        }
        let form = String(decoding: bytes, as: UTF8.self)
        return form == source ? nil : form
    }

    /// Whether the literal path that it begins with has an empty segment between two slashes.
    package var hasEmptySegment: Bool {
        guard case .glob(let glob) = kind else { return false }
        return glob.segments.dropLast().prefix(while: \.isLiteral).contains(.literal([]))
    }

    /// Whether it is a glob of paths that end with a slash.
    package var endsWithSlash: Bool {
        guard case .glob(let glob) = kind else { return false }
        return glob.segments.last == .literal([])
    }

    /// Whether this pattern provably matches everything that `other` matches.
    func provablyContains(_ other: PathPattern) -> Bool {
        if self == other { return true }
        guard case .glob(let glob) = kind else {
            guard case .glob(let inner) = other.kind, let text = inner.literalText else {
                return false
            }
            return matches(([0x2F] + text).span)
        }
        guard case .glob(let inner) = other.kind else { return glob.segments == [.any] }
        return glob.provablyContains(inner)
    }
}

extension PathPattern: Equatable {
    /// Whether both have the same text.
    package static func == (a: Self, b: Self) -> Bool {
        switch (a.kind, b.kind) {
        case (.glob(let a), .glob(let b)): a == b
        case (.expression, .expression): a.source == b.source
        default: false
        }
    }
}

// MARK: Reading

extension PathPattern {
    private enum Reading { case path, expression, either }

    /// Decides whether `/body/` is a path or an expression.
    ///
    /// Both a path and an expression may begin and end with a slash.
    private static func reading(of body: Substring, hasFlag: Bool) -> Reading {
        // No path has these characters, and hardly any expression is without them.
        if body.contains(where: { #"^\[]{}|"#.contains($0) }) { return .expression }
        // `/v1/i` does not look like an expression, in which a slash would be `\/`.
        if hasFlag || body.contains("/") { return .path }
        return body.contains(where: { "$()+*?".contains($0) }) ? .expression : .either
    }

    /// Escapes as the normal form has them; a dot stays a dot.
    private static func normalizingEscapes(ofExpression text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var i = 0
        while i < text.count {
            guard let value = NormalPath.escape(at: i, in: text.span) else {
                output.append(text[i])
                i += 1
                continue
            }
            if value == 0x2E { output.append(0x5C) }
            if value.isUnreserved { output.append(value) } else { output.append(escaping: value) }
            i += 3
        }
        return output
    }

    private static func segments(
        of text: String
    ) throws(PatternProblem) -> [SegmentGlob.Segment] {
        guard text.hasPrefix("/") else {
            let hint = text.isEmpty ? "" : "; write `/\(text)`"
            throw PatternProblem("a path begins with `/`\(hint)", at: 0)
        }
        var segments: [SegmentGlob.Segment] = []
        var offset = 1
        let parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let segment = try segment(part, at: offset)
            let isLast = index == parts.count - 1
            switch segment {
            case .literal([0x2E]):
                if isLast { segments.append(.literal([])) }
            case .literal([0x2E, 0x2E]):
                if let last = segments.popLast(), last == .any || last == .one {
                    throw PatternProblem("`..` stands behind a wildcard", at: offset)
                }
                if isLast { segments.append(.literal([])) }
            default: segments.append(segment)
            }
            offset += part.count + 1
        }
        return segments
    }

    private static func segment(
        _ part: Substring,
        at offset: Int
    ) throws(PatternProblem) -> SegmentGlob.Segment {
        if part == "**" { return .any }
        if part == "*" { return .one }
        var pieces: [[UInt8]] = [[]]
        var isEscaped = false
        for (index, character) in part.enumerated() {
            switch character {
            case "?":
                throw PatternProblem(
                    "the query is no part of the path; write `query: {name: value}`",
                    at: offset + index
                )
            case "#":
                throw PatternProblem("a fragment is never sent", at: offset + index)
            case "*" where !isEscaped:
                guard pieces.count == 1 else {
                    throw PatternProblem(
                        "`*` stands twice in one segment; `**` is a segment of its own, and for"
                            + " more write a regular expression `/…/`",
                        at: offset + index
                    )
                }
                pieces.append([])
            case "*":
                pieces[pieces.count - 1].removeLast()
                pieces[pieces.count - 1].append(0x2A)
            default:
                for byte in character.utf8 {
                    if byte > 0x20, byte < 0x7F {
                        pieces[pieces.count - 1].append(byte)
                    } else {
                        pieces[pieces.count - 1].append(escaping: byte)
                    }
                }
            }
            isEscaped = character == "\\"
        }
        let bytes = pieces.map { NormalPath.normalizingEscapes($0.span) }
        return bytes.count == 1
            ? .literal(bytes[0]) : .partial(prefix: bytes[0], suffix: bytes[1])
    }
}
