// How quotes are written in a JSON text that stands in a string of another JSON text.

/// A quote behind backslashes: `\"` in a string, `\\\"` in a string of a text in a string; or
/// `\u0022`, as some programs write it.
struct NestedQuote {
    /// 1 or 3.
    let backslashes: Int
    /// Of all its bytes.
    let length: Int

    /// The length of the longest one.
    static let lengthMax = 6
    private static let backslashesMax = 3

    /// The quote whose first backslash stands at `start`; nil for anything else.
    init?(in text: Span<UInt8>, at start: Int) {
        var i = start
        while i < text.count, text[i] == 0x5C, i - start <= Self.backslashesMax { i += 1 }
        let count = i - start
        guard count == 1 || count == Self.backslashesMax else { return nil }
        if i < text.count, text[i] == 0x22 {
            (backslashes, length) = (count, count + 1)
        } else if count == 1, Self.isCode(in: text, at: i) {
            (backslashes, length) = (count, Self.lengthMax)
        } else {
            return nil
        }
    }

    /// `u0022`.
    private static func isCode(in text: Span<UInt8>, at start: Int) -> Bool {
        guard start + 5 <= text.count, text[start] == 0x75 else { return false }
        return text[start + 1] == 0x30 && text[start + 2] == 0x30 && text[start + 3] == 0x32
            && text[start + 4] == 0x32
    }

    /// The quote that closes what this one opened, or where the string around ends.
    ///
    /// Nil when neither is there, or only farther away than `most`.
    func end(in text: Span<UInt8>, from start: Int, within most: Int) -> Range<Int>? {
        var i = start
        while i < text.count, i - start <= most {
            guard text[i] == 0x5C || text[i] == 0x22 else {
                i += 1
                continue
            }
            let first = i
            while i < text.count, text[i] == 0x5C { i += 1 }
            let count = i - first
            guard i < text.count else { return nil }
            let isPlain = text[i] == 0x22
            guard isPlain || (count > 0 && Self.isCode(in: text, at: i)) else { continue }
            // Fewer backslashes than at the beginning: the string around ends.
            if count < backslashes { return first..<first }
            i += isPlain ? 1 : 5
            // Each backslash of the text itself is written as this many.
            let unit = backslashes + 1
            let (own, rest) = (count - backslashes).quotientAndRemainder(dividingBy: unit)
            // An even number of them escapes no quote.
            if rest == 0, own.isMultiple(of: 2) { return first + own * unit..<i }
        }
        return nil
    }
}
