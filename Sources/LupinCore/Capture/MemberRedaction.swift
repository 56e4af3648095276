// Finds secrets in bodies by the names that stand before them: members of JSON, fields of forms.

/// Finds values to hide in bodies, by the name of the JSON member or form field that holds them.
///
/// It reads any text: a body may be JSON without saying so.
package struct MemberRedaction: Sendable {
    /// A value to hide.
    struct Finding {
        /// The name begins here; name and value are only found together.
        var anchor: Int
        var value: Range<Int>
        /// The value is a number or a word, so that its replacement needs quotes.
        var isBare: Bool
        /// Before each quote of a text in a string: as many as it has there.
        var backslashes = 0
    }

    /// Longer names are on no list.
    private static let nameBytesMax = 256

    private let names: NameSet

    package init(names: [String]) {
        self.names = NameSet(SecretNames.members + names, readsParts: true)
    }

    /// The values to hide, in order.
    ///
    /// One that reaches the end of `text` may be longer than what is there.
    func findings(in text: Span<UInt8>, isStart: Bool) -> [Finding] {
        var findings: [Finding] = []
        if isStart, let first = formField(in: text, from: 0) { findings.append(first) }
        var i = text.nameMark(from: findings.last?.value.upperBound ?? 0)
        while i < text.count {
            switch text[i] {
            case 0x22:
                if let found = member(in: text, from: i) ?? part(in: text, from: i) {
                    findings.append(found)
                    i = max(i, found.value.upperBound)
                }
            case 0x5C:
                if let found = nestedMember(in: text, from: i) {
                    findings.append(found)
                    i = max(i, found.value.upperBound)
                }
            case 0x26, 0x3F:
                if let found = formField(in: text, from: i + 1) {
                    findings.append(found)
                    // Bounded: it lies behind `i`.
                    i = found.value.upperBound - 1
                }
            default: break
            }
            i = text.nameMark(from: i + 1)
        }
        return findings
    }

    /// `"name": value`, if the name is on the list.
    private func member(in text: Span<UInt8>, from quote: Int) -> Finding? {
        guard let end = Self.stringEnd(in: text, from: quote, within: Self.nameBytesMax),
            end < text.count
        else { return nil }
        var i = end + 1
        while i < text.count, text[i].isJSONSpace { i += 1 }
        guard i < text.count, text[i] == 0x3A, lists(text.extracting(quote + 1..<end)) else {
            return nil
        }
        i += 1
        while i < text.count, text[i].isJSONSpace { i += 1 }
        // The value may follow in what has not come yet.
        guard i < text.count else {
            return Finding(anchor: quote, value: i..<i, isBare: false)
        }
        switch text[i] {
        case 0x22:
            let close = Self.stringEnd(in: text, from: i, within: .max) ?? text.count
            return Finding(anchor: quote, value: min(i + 1, close)..<close, isBare: false)
        case 0x30...0x39, 0x2D:
            var close = i
            while close < text.count, !text[close].endsBareValue { close += 1 }
            return Finding(anchor: quote, value: i..<close, isBare: true)
        default: return nil
        }
    }

    /// The value behind `name="name"` of a part of a multipart form (RFC 7578 §4.2), if the name is
    /// on the list.
    private func part(in text: Span<UInt8>, from quote: Int) -> Finding? {
        guard quote > Self.partName.count,
            text.extracting(quote - Self.partName.count..<quote).equalsIgnoringCase(
                Self.partName.span
            ),
            [0x20, 0x3B, 0x09].contains(text[quote - Self.partName.count - 1]),
            let end = Self.stringEnd(in: text, from: quote, within: Self.nameBytesMax),
            end < text.count, lists(text.extracting(quote + 1..<end))
        else { return nil }
        // An empty line ends the head of the part.
        let headEnd = min(text.count, end + Self.partHeadBytesMax)
        var i = end
        while i < headEnd, !text.hasLineEnds(at: i) { i += 1 }
        guard i < headEnd else {
            // The value may follow in what has not come yet.
            guard headEnd == text.count else { return nil }
            return Finding(anchor: quote, value: headEnd..<headEnd, isBare: false)
        }
        let value = i + 4
        var close = value
        while close < text.count, !text.hasDelimiter(at: close) { close += 1 }
        return Finding(anchor: quote, value: value..<close, isBare: false)
    }

    private static let partName = Array("name=".utf8)
    /// The head of a part has two or three short lines.
    private static let partHeadBytesMax = 1024

    /// `\"name\": value` of a JSON text that stands in a string of another one.
    private func nestedMember(in text: Span<UInt8>, from start: Int) -> Finding? {
        guard start == 0 || text[start - 1] != 0x5C, let quote = NestedQuote(in: text, at: start),
            let end = quote.end(in: text, from: start + quote.length, within: Self.nameBytesMax)
        else { return nil }
        var i = end.upperBound
        while i < text.count, text[i].isJSONSpace { i += 1 }
        guard i < text.count, text[i] == 0x3A,
            lists(text.extracting(start + quote.length..<end.lowerBound))
        else { return nil }
        i += 1
        while i < text.count, text[i].isJSONSpace { i += 1 }
        var found = Finding(anchor: start, value: i..<i, isBare: false)
        found.backslashes = quote.backslashes
        // The value may follow in what has not come yet.
        guard i < text.count else { return found }
        switch text[i] {
        case 0x5C:
            guard let open = NestedQuote(in: text, at: i) else {
                // Or the rest of its quote may.
                found.value = text.count..<text.count
                return text.count - i < NestedQuote.lengthMax ? found : nil
            }
            let value = i + open.length
            let close = open.end(in: text, from: value, within: .max)
            found.value = value..<(close?.lowerBound ?? text.count)
        case 0x30...0x39, 0x2D:
            while i < text.count, !text[i].endsBareValue, text[i] != 0x5C, text[i] != 0x22 {
                i += 1
            }
            found.value = found.value.lowerBound..<i
            found.isBare = true
        default: return nil
        }
        return found
    }

    /// `name=value`, if the name is on the list.
    private func formField(in text: Span<UInt8>, from start: Int) -> Finding? {
        let reached = text.extracting(first: start + Self.nameBytesMax + 1)
        var i = reached.fieldMark(from: start)
        while i < reached.count, text[i] != 0x3D {
            guard text[i] > 0x20, text[i] != 0x26, text[i] != 0x22 else { return nil }
            i = reached.fieldMark(from: i + 1)
        }
        guard i < reached.count, i > start, lists(text.extracting(start..<i)) else { return nil }
        let value = i + 1
        var end = value
        while end < text.count, text[end] != 0x26, text[end] > 0x20, text[end] != 0x22 { end += 1 }
        // With its separator: a field is only found behind one, or at the start.
        return Finding(anchor: max(0, start - 1), value: value..<end, isBare: false)
    }

    /// The closing quote of the string that opens at `quote`; nil when it is not there, or longer
    /// than `most`.
    private static func stringEnd(in text: Span<UInt8>, from quote: Int, within most: Int) -> Int? {
        var i = quote + 1
        while i < text.count, i - quote <= most {
            if text[i] == 0x22 { return i }
            i += text[i] == 0x5C ? 2 : 1
        }
        return nil
    }

    private func lists(_ name: Span<UInt8>) -> Bool {
        if name.isEmpty || name.count > Self.nameBytesMax { return false }
        if names.contains(name) { return true }
        for escaping in [Escaping.backslash, .percent] {
            if let plain = Unescaped(name, undoing: escaping), names.contains(plain.bytes.span) {
                return true
            }
        }
        return false
    }
}

extension Span<UInt8> {
    /// Whether an empty line begins behind a line that ends at `i`.
    fileprivate func hasLineEnds(at i: Int) -> Bool {
        count - i >= 4 && self[i] == 0x0D && self[i + 1] == 0x0A && self[i + 2] == 0x0D
            && self[i + 3] == 0x0A
    }

    /// Whether a delimiter of a multipart body begins at `i`.
    fileprivate func hasDelimiter(at i: Int) -> Bool {
        count - i >= 4 && self[i] == 0x0D && self[i + 1] == 0x0A && self[i + 2] == 0x2D
            && self[i + 3] == 0x2D
    }

    /// The first place from `start` on that may hold one of `"\\&?`, or `count`: before a name.
    fileprivate func nameMark(from start: Int) -> Int {
        var i = start
        while count &- i >= 8 {
            let word = word(at: i)
            let marks =
                (word | 0x0404_0404_0404_0404).marks(of: 0x26)
                | word.marks(of: 0x5C) | word.marks(of: 0x3F)
            if marks != 0 { return i &+ marks.firstMark }
            i &+= 8
            // In JSON the next quote is near; in what has none, many bytes are passed at once.
            guard i &- start == 16 else { continue }
            i = block(from: i) { byte in
                (byte | 0x04 == 0x26 ? 1 : 0) | (byte == 0x5C ? 1 : 0) | (byte == 0x3F ? 1 : 0)
            }
        }
        return i
    }

    /// The first place from `start` on that may end the name of a form's field, or `count`.
    fileprivate func fieldMark(from start: Int) -> Int {
        var i = start
        while count &- i >= 8 {
            let word = word(at: i)
            let marks =
                (word | 0x0404_0404_0404_0404).marks(of: 0x26)
                | word.marks(of: 0x3D) | word.marks(below: 0x21)
            if marks != 0 { return i &+ marks.firstMark }
            i &+= 8
        }
        return i
    }
}

extension UInt8 {
    fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 9 }

    fileprivate var endsBareValue: Bool {
        self == 0x2C || self == 0x7D || self == 0x5D || isJSONSpace
    }
}
