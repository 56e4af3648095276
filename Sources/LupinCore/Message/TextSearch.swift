// Where a text occurs in another: compared byte by byte.
//
// The search of Swift's _StringProcessing compares characters, so it doesn't find a quote that a
// combining accent follows: what should be escaped would not be. It would also bring the engine
// for regular expressions into the program, 1.2 MB that nothing else needs.

extension Span where Element == UInt8 {
    /// The first place of `wanted` at or behind `start`; an empty text is found at once.
    package func firstRange(of wanted: Span<UInt8>, from start: Int = 0) -> Range<Int>? {
        guard !wanted.isEmpty else { return start..<start }
        var start = start
        while count - start >= wanted.count {
            start += extracting(start...).offset(of: wanted[0])
            guard count - start >= wanted.count else { return nil }
            if wanted.isSame(as: extracting(start..<start + wanted.count)) {
                return start..<start + wanted.count
            }
            start += 1
        }
        return nil
    }
}

extension Array where Element == UInt8 {
    /// The first place of `wanted` at or behind `start`; an empty text is found at once.
    package func firstRange(of wanted: [UInt8], from start: Int = 0) -> Range<Int>? {
        span.firstRange(of: wanted.span, from: start)
    }
}

extension Substring {
    /// The first place where the bytes of `text` occur; an empty text is found at once.
    package func firstRange(of text: String) -> Range<Index>? {
        guard let range = utf8.span.firstRange(of: text.utf8.span) else { return nil }
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        return start..<utf8.index(start, offsetBy: range.count)
    }

    /// Whether the bytes of `text` occur.
    package func contains(_ text: String) -> Bool { firstRange(of: text) != nil }

    /// The text with every occurrence of `text` replaced; of an empty text there is none.
    package func replacing(_ text: String, with replacement: String) -> String {
        guard !text.isEmpty, var range = firstRange(of: text) else { return String(self) }
        var result = ""
        var rest = self
        repeat {
            result += rest[..<range.lowerBound]
            result += replacement
            rest = rest[range.upperBound...]
            guard let next = rest.firstRange(of: text) else { break }
            range = next
        } while true
        return result + rest
    }

    /// What lies between the occurrences of `separator`, without empty pieces.
    package func pieces(between separator: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = self
        while !separator.isEmpty, let range = rest.firstRange(of: separator) {
            pieces.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        pieces.append(rest)
        return pieces.filter { !$0.isEmpty }
    }
}

extension String {
    /// The first place where the bytes of `text` occur; an empty text is found at once.
    package func firstRange(of text: String) -> Range<Index>? { self[...].firstRange(of: text) }

    /// Whether the bytes of `text` occur.
    package func contains(_ text: String) -> Bool { self[...].contains(text) }

    /// The text with every occurrence of `text` replaced; of an empty text there is none.
    package func replacing(_ text: String, with replacement: String) -> String {
        self[...].replacing(text, with: replacement)
    }

    /// What lies between the occurrences of `separator`, without empty pieces.
    package func pieces(between separator: String) -> [Substring] {
        self[...].pieces(between: separator)
    }
}
