// Compares a text with a recorded one, in which secrets are masked.

import LupinCore

/// A recorded text; what was masked in it stands for anything.
package struct MaskedText: Sendable, Equatable {
    /// What stands before, between and behind the masks.
    private var parts: [[UInt8]] = []
    /// Where each of these begins in the recorded text.
    private var starts = [0]
    /// More follows that was not recorded.
    private let isPrefix: Bool

    private static let mark = Array("REDACTED.".utf8)
    private static let digits = 4
    private static let quote = UInt8(ascii: "\"")

    /// Reads `recorded`.
    ///
    /// A mask in quotation marks stands for these, too: a number that is masked becomes a string.
    /// With `isPrefix` anything may follow.
    package init(_ recorded: [UInt8], isPrefix: Bool = false) {
        self.isPrefix = isPrefix
        var part: [UInt8] = []
        var i = 0
        while i < recorded.count {
            guard let length = Self.markLength(in: recorded, at: i) else {
                part.append(recorded[i])
                i += 1
                continue
            }
            var end = i + length
            if part.last == Self.quote, end < recorded.count, recorded[end] == Self.quote {
                part.removeLast()
                end += 1
            }
            parts.append(part)
            starts.append(end)
            part = []
            i = end
        }
        parts.append(part)
    }

    private static func markLength(in text: [UInt8], at start: Int) -> Int? {
        guard text[start] == mark[0], text.count - start >= mark.count + digits else { return nil }
        for (offset, byte) in mark.enumerated() where text[start + offset] != byte { return nil }
        let first = start + mark.count
        guard
            text[first..<first + digits].allSatisfy({
                $0.isASCIIDigit || (0x61...0x66).contains($0)
            })
        else { return nil }
        return mark.count + digits
    }

    /// Whether `text` can be what was recorded.
    package func matches(_ text: [UInt8]) -> Bool { difference(in: text) == nil }

    /// Where a text first differs from the recorded one.
    package struct Difference: Sendable {
        package var recorded: Int
        /// Behind a mask that the text does not have, the place is where it may begin.
        package var text: Int
        /// Whether all that the tape masks is masked in the text, too: only then may it be quoted.
        package var isQuotable: Bool
    }

    /// Where `text` first differs from what was recorded; nil if it does not.
    package func difference(in text: [UInt8]) -> Difference? {
        var position = 0
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1 && !isPrefix
            if index == 0 {
                guard text.starts(with: part), !isLast || text.count == part.count else {
                    return difference(in: text, from: 0, part: 0)
                }
                position = part.count
            } else if isLast {
                guard text.count - position >= part.count,
                    text.suffix(part.count).elementsEqual(part)
                else { return difference(in: text, from: position, part: index) }
            } else {
                guard let found = Self.find(part, in: text, from: position) else {
                    return difference(in: text, from: position, part: index)
                }
                position = found + part.count
            }
        }
        return nil
    }

    /// The same where the part at `index` does not follow behind `start`.
    private func difference(in text: [UInt8], from start: Int, part index: Int) -> Difference {
        let end = index == 0 ? start : Self.maskEnd(in: text, at: start)
        guard let end else {
            return Difference(recorded: starts[index], text: start, isQuotable: false)
        }
        let common = zip(parts[index], text[end...]).prefix { $0 == $1 }.count
        return Difference(
            recorded: starts[index] + common,
            text: end + common,
            isQuotable: MaskedText(text).parts.count >= parts.count
        )
    }

    /// The end of a mask at `start`, which may be in quotation marks; nil if there is none.
    private static func maskEnd(in text: [UInt8], at start: Int) -> Int? {
        let isQuoted = start < text.count && text[start] == quote
        let mask = isQuoted ? start + 1 : start
        guard mask < text.count, let length = markLength(in: text, at: mask) else { return nil }
        let end = mask + length
        return isQuoted && end < text.count && text[end] == quote ? end + 1 : end
    }

    /// The first place of `part` at or behind `start`, in linear time (Knuth, Morris and Pratt).
    private static func find(_ part: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        if part.isEmpty { return start }
        var borders = Array(repeating: 0, count: part.count)
        var matched = 0
        for i in part.indices.dropFirst() {
            while matched > 0, part[i] != part[matched] { matched = borders[matched - 1] }
            if part[i] == part[matched] { matched += 1 }
            borders[i] = matched
        }
        matched = 0
        for i in start..<max(start, text.count) {
            while matched > 0, text[i] != part[matched] { matched = borders[matched - 1] }
            if text[i] == part[matched] { matched += 1 }
            if matched == part.count { return i + 1 - part.count }
        }
        return nil
    }
}
