// Globs: `*` is one label or segment, `**` any number of them; in values `*` is any text.

import LupinCore

/// A glob over parts with a separator: labels of a host, segments of a path.
///
/// `*` may occur once in a part and is any text inside it; alone it is one non-empty part. `**` is
/// a part of its own and means zero or more whole parts. Bytes are compared exactly.
struct SegmentGlob: Sendable, Equatable {
    enum Segment: Sendable, Equatable {
        case literal([UInt8])
        /// `api-*` or `*.json`: text before and after the star.
        case partial(prefix: [UInt8], suffix: [UInt8])
        /// `*`
        case one
        /// `**`
        case any

        var isLiteral: Bool {
            if case .literal = self { true } else { false }
        }
    }

    let segments: [Segment]
    let separator: UInt8

    init(_ segments: [Segment], separator: UInt8) {
        // `**.**` equals `**`; merging them reduces backtracking.
        var kept: [Segment] = []
        for segment in segments where segment != .any || kept.last != .any { kept.append(segment) }
        self.segments = kept
        self.separator = separator
    }

    /// Whether all of `text` matches.
    ///
    /// At most `parts of text × parts of glob` comparisons.
    func matches(_ text: Span<UInt8>) -> Bool {
        var index = 0
        // The start of the next part of the text; past the end when none is left.
        var at = 0
        // The last `**` passed, and the start of the first part that it has not consumed yet.
        var star: (index: Int, at: Int)?
        while at <= text.count {
            if index < segments.count {
                if segments[index] == .any {
                    star = (index, at)
                    index += 1
                    continue
                }
                let end = endOfPart(at, in: text)
                if Self.matches(segments[index], text.extracting(at..<end)) {
                    index += 1
                    at = end + 1
                    continue
                }
            }
            // Only the last `**` needs to consume more: what precedes it has matched already.
            guard let last = star else { return false }
            at = endOfPart(last.at, in: text) + 1
            index = last.index + 1
            star = (last.index, at)
        }
        return segments[index...].allSatisfy { $0 == .any }
    }

    private func endOfPart(_ start: Int, in text: Span<UInt8>) -> Int {
        var end = start
        while end < text.count, text[end] != separator { end &+= 1 }
        return end
    }

    private static func matches(_ segment: Segment, _ part: Span<UInt8>) -> Bool {
        switch segment {
        case .literal(let bytes): part.equals(bytes.span)
        case .partial(let prefix, let suffix):
            part.count >= prefix.count + suffix.count
                && part.extracting(first: prefix.count).equals(prefix.span)
                && part.extracting(last: suffix.count).equals(suffix.span)
        case .one: !part.isEmpty
        case .any: true
        }
    }

    /// Whether this glob provably matches everything that `other` matches.
    func provablyContains(_ other: SegmentGlob) -> Bool {
        if self == other || segments == [.any] { return true }
        if let text = other.literalText { return matches(text.span) }
        // `**.x.dev` contains all that ends in `.x.dev`, and `/v1/**` all that begins with `/v1`.
        if segments.first == .any {
            return !segments.dropFirst().contains(.any)
                && other.segments.suffix(segments.count - 1) == segments.dropFirst()
        }
        if segments.last == .any {
            return !segments.dropLast().contains(.any)
                && other.segments.prefix(segments.count - 1) == segments.dropLast()
        }
        return false
    }

    /// Whether some text matches both.
    ///
    /// At most `parts of one × parts of the other` comparisons.
    func meets(_ other: SegmentGlob) -> Bool {
        // Whether the rests of both meet, for each number of parts consumed of `other`.
        var meets = [Bool](repeating: false, count: other.segments.count + 1)
        for i in (0...segments.count).reversed() {
            var diagonal = false
            for j in (0...other.segments.count).reversed() {
                let below = meets[j]
                let a = i < segments.count ? segments[i] : nil
                let b = j < other.segments.count ? other.segments[j] : nil
                let beside = j < other.segments.count && meets[j + 1]
                meets[j] = Self.continues(a, b, below: below, beside: beside, diagonal: diagonal)
                diagonal = below
            }
        }
        return meets[0]
    }

    /// Whether the rests from `a` and `b` on meet, given the results for the shorter rests.
    private static func continues(
        _ a: Segment?,
        _ b: Segment?,
        below: Bool,
        beside: Bool,
        diagonal: Bool
    ) -> Bool {
        guard let a else {
            guard let b else { return true }
            return isAny(b) && beside
        }
        guard let b else { return isAny(a) && below }
        if isAny(a) || isAny(b) { return below || beside || diagonal }
        return diagonal && meet(a, b)
    }

    private static func isAny(_ segment: Segment) -> Bool {
        if case .any = segment { return true }
        return false
    }

    /// Whether some part matches both; neither is `**`.
    private static func meet(_ a: Segment, _ b: Segment) -> Bool {
        switch (a, b) {
        case (.literal(let bytes), let other), (let other, .literal(let bytes)):
            matches(other, bytes.span)
        case (.partial(let prefix, let suffix), .partial(let otherPrefix, let otherSuffix)):
            (prefix.starts(with: otherPrefix) || otherPrefix.starts(with: prefix))
                && (suffix.reversed().starts(with: otherSuffix.reversed())
                    || otherSuffix.reversed().starts(with: suffix.reversed()))
        default: true
        }
    }

    /// The only text that matches; nil if there may be several.
    var literalText: [UInt8]? {
        var text: [UInt8] = []
        for (index, segment) in segments.enumerated() {
            guard case .literal(let bytes) = segment else { return nil }
            if index > 0 { text.append(separator) }
            text += bytes
        }
        return text
    }

    /// The whole parts that every match ends with, without a separator before them.
    var fixedSuffix: [UInt8] {
        let start = segments.lastIndex { !$0.isLiteral }
        let fixed = segments[(start.map { $0 + 1 } ?? 0)...]
        return SegmentGlob(Array(fixed), separator: separator).literalText ?? []
    }
}

/// A glob over a whole value: each `*` is any run of bytes.
package struct ValueGlob: Sendable, Equatable {
    /// The texts between the stars; a single one means that there is no star.
    private let pieces: [[UInt8]]

    /// Parses `text`, in which `\*` is a literal star.
    package init(_ text: String) {
        var pieces: [[UInt8]] = [[]]
        var isEscaped = false
        for byte in text.utf8 {
            if byte == 0x2A, isEscaped {
                pieces[pieces.count - 1].removeLast()
                pieces[pieces.count - 1].append(byte)
            } else if byte == 0x2A {
                pieces.append([])
            } else {
                pieces[pieces.count - 1].append(byte)
            }
            isEscaped = byte == 0x5C
        }
        self.pieces = pieces
    }

    /// Whether it matches everything, like `*`.
    package var matchesEverything: Bool { pieces.count > 1 && pieces.allSatisfy(\.isEmpty) }

    /// The only value that matches; nil with a star.
    package var literal: [UInt8]? { pieces.count == 1 ? pieces[0] : nil }

    /// Whether all of `value` matches; `ignoringCase` ignores the case of ASCII letters.
    package func matches(_ value: Span<UInt8>, ignoringCase: Bool = false) -> Bool {
        guard let first = pieces.first, let last = pieces.last else { return false }
        guard pieces.count > 1 else {
            return value.count == first.count && value.has(first, at: 0, ignoringCase)
        }
        guard value.count >= first.count + last.count,
            value.has(first, at: 0, ignoringCase),
            value.has(last, at: value.count - last.count, ignoringCase)
        else { return false }
        // Between the ends, each piece is matched at its first occurrence.
        var at = first.count
        let end = value.count - last.count
        for piece in pieces.dropFirst().dropLast() {
            while at + piece.count <= end, !value.has(piece, at: at, ignoringCase) { at += 1 }
            guard at + piece.count <= end else { return false }
            at += piece.count
        }
        return true
    }
}

extension Span where Element == UInt8 {
    /// Whether both hold the same bytes.
    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var i = 0
        while i < count {
            if self[i] != other[i] { return false }
            i &+= 1
        }
        return true
    }

    fileprivate func has(_ piece: [UInt8], at start: Int, _ ignoringCase: Bool) -> Bool {
        var i = 0
        while i < piece.count {
            let (a, b) = (self[start + i], piece[i])
            if a != b, !ignoringCase || a.asciiLowercased != b.asciiLowercased { return false }
            i &+= 1
        }
        return true
    }
}
