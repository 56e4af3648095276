// Undoes the escapes of URLs, strings, HTML and folded lines.

/// A way to escape bytes that can be undone from the text alone.
enum Escaping: UInt8, CaseIterable {
    /// `%XX` (RFC 3986 §2.1).
    case percent
    /// Backslash escapes of JSON (RFC 8259 §7), quoted strings (RFC 9110 §5.6.4), access logs
    /// (`\xXX`) and programs (`\u{X}`, `\x{X}`, `\UXXXXXXXX`).
    case backslash
    /// Character references of HTML.
    case reference
    /// Line breaks in a long text, with the indentation of the next line.
    case lineBreak

    /// The bit of `present` for a quotation mark, which is no escape but begins names of JSON.
    static let quote: UInt8 = 16

    /// Returns one bit, that of `rawValue`, for each kind whose marks are in `text`, and `quote`.
    ///
    /// Has no early exit and no `||`, so that the loop is vectorized: 200 bytes take 20 ns.
    static func present(in text: Span<UInt8>) -> UInt8 {
        var bits: UInt8 = 0
        for i in text.indices {
            let byte = text[i]
            bits |=
                (byte == 0x25 ? 1 : 0) | (byte == 0x5C ? 2 : 0) | (byte == 0x26 ? 4 : 0)
                | (byte == 0x0A ? 8 : 0) | (byte == 0x0D ? 8 : 0) | (byte == 0x22 ? quote : 0)
        }
        return bits
    }

    /// The bytes that an escape may begin with; both are the same when there is only one.
    var marks: (UInt8, UInt8) {
        switch self {
        case .percent: (0x25, 0x25)
        case .backslash: (0x5C, 0x5C)
        case .reference: (0x26, 0x26)
        case .lineBreak: (0x0A, 0x0D)
        }
    }

    /// The meaning of an escape.
    enum Meaning {
        case nothing
        case byte(UInt8)
        case character(Unicode.Scalar)
    }

    /// Parses the escape that begins with the mark at `start`; returns nil when there is none.
    func escape(in text: Span<UInt8>, at start: Int) -> (length: Int, meaning: Meaning)? {
        switch self {
        case .percent:
            guard let byte = text.hexNumber(at: start + 1, digits: 2) else { return nil }
            return (3, .byte(UInt8(truncatingIfNeeded: byte)))
        case .backslash: return Escaping.backslash(in: text, at: start)
        case .reference: return Escaping.reference(in: text, at: start)
        case .lineBreak:
            var end = start + 1
            while end < text.count, [0x0A, 0x0D, 0x20, 0x09].contains(text[end]) { end += 1 }
            return (end - start, .nothing)
        }
    }

    private static func backslash(
        in text: Span<UInt8>,
        at start: Int
    ) -> (length: Int, meaning: Meaning)? {
        guard start + 1 < text.count else { return nil }
        if let escape = braced(in: text, at: start) { return escape }
        switch text[start + 1] {
        case UInt8(ascii: "b"): return (2, .byte(0x08))
        case UInt8(ascii: "f"): return (2, .byte(0x0C))
        case UInt8(ascii: "n"): return (2, .byte(0x0A))
        case UInt8(ascii: "r"): return (2, .byte(0x0D))
        case UInt8(ascii: "t"): return (2, .byte(0x09))
        case UInt8(ascii: "u"): return unicode(in: text, at: start)
        case UInt8(ascii: "x"):
            guard let byte = text.hexNumber(at: start + 2, digits: 2) else { return nil }
            return (4, .byte(UInt8(truncatingIfNeeded: byte)))
        case let byte:
            guard byte == UInt8(ascii: "U"), let number = text.hexNumber(at: start + 2, digits: 8),
                let scalar = Unicode.Scalar(number)
            else { return (2, .byte(byte)) }
            return (10, .character(scalar))
        }
    }

    /// Parses `\u{X}` or `\x{X}`, of up to eight digits behind zeros.
    private static func braced(
        in text: Span<UInt8>,
        at start: Int
    ) -> (length: Int, meaning: Meaning)? {
        guard start + 2 < text.count, text[start + 2] == UInt8(ascii: "{"),
            text[start + 1] == UInt8(ascii: "u") || text[start + 1] == UInt8(ascii: "x")
        else { return nil }
        let first = text.end(ofZerosFrom: start + 3)
        var i = first
        while i < text.count, i - first < 8, text[i].hexDigit != nil { i += 1 }
        guard i > start + 3, i < text.count, text[i] == UInt8(ascii: "}") else { return nil }
        // All zeros are no digits here.
        let digits = text.extracting((i == first ? first - 1 : first)..<i)
        guard let number = NumberReader.hexadecimal(digits, max: UInt64(UInt32.max)),
            let scalar = Unicode.Scalar(UInt32(truncatingIfNeeded: number))
        else { return nil }
        return (i + 1 - start, .character(scalar))
    }

    /// Parses `\uXXXX`, or a surrogate pair for a character beyond U+FFFF.
    private static func unicode(
        in text: Span<UInt8>,
        at start: Int
    ) -> (length: Int, meaning: Meaning)? {
        guard let unit = text.hexNumber(at: start + 2, digits: 4) else { return nil }
        if let scalar = Unicode.Scalar(unit) { return (6, .character(scalar)) }
        guard unit < 0xDC00, start + 7 < text.count, text[start + 6] == 0x5C,
            text[start + 7] == UInt8(ascii: "u"),
            let low = text.hexNumber(at: start + 8, digits: 4), 0xDC00...0xDFFF ~= low,
            // Bounded: both are surrogates.
            let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { return nil }
        return (12, .character(scalar))
    }

    /// Parses `&name;`, `&#123;` or `&#x7B;`, of which HTML takes some without the semicolon.
    private static func reference(
        in text: Span<UInt8>,
        at start: Int
    ) -> (length: Int, meaning: Meaning)? {
        var i = start + 1
        guard i < text.count else { return nil }
        guard text[i] == UInt8(ascii: "#") else {
            return ReferenceNames.read(text, at: i).map { ($0.count + 1, .character($0.scalar)) }
        }
        i += 1
        let isHex = i < text.count && text[i] | 0x20 == UInt8(ascii: "x")
        if isHex { i += 1 }
        let zeros = i
        i = text.end(ofZerosFrom: i)
        let first = i
        var number: UInt32 = 0
        // Seven digits suffice for the last character, and eight fit into the integer.
        while i < text.count, i - first < 8, let digit = text[i].hexDigit, isHex || digit < 10 {
            number = number * (isHex ? 16 : 10) + UInt32(digit)
            i += 1
        }
        guard i > zeros, let scalar = Unicode.Scalar(number) else { return nil }
        // HTML takes a number without a semicolon, too.
        if i < text.count, text[i] == UInt8(ascii: ";") { i += 1 }
        return (i - start, .character(scalar))
    }
}

/// A text without the escapes of one kind, with a map to positions in the original.
struct Unescaped {
    private(set) var bytes: [UInt8] = []
    private let escapes: [Escape]

    private struct Escape {
        /// The range of the decoded bytes.
        let meaning: Range<Int>
        /// The range of the escape in the original.
        let origin: Range<Int>
    }

    /// Returns nil, without an allocation, when there is nothing to undo.
    init?(_ source: Span<UInt8>, undoing escaping: Escaping) {
        let marks = escaping.marks
        var first = 0
        while true {
            while first < source.count, source[first] != marks.0, source[first] != marks.1 {
                first &+= 1
            }
            if first == source.count { return nil }
            if escaping.escape(in: source, at: first) != nil { break }
            first += 1
        }
        var escapes: [Escape] = []
        escapes.reserveCapacity(16)
        // No escape is shorter than its meaning.
        bytes.append(addingCapacity: source.count) { output in
            for i in 0..<first { output.append(source[i]) }
            var i = first
            while i < source.count {
                guard source[i] == marks.0 || source[i] == marks.1,
                    let escape = escaping.escape(in: source, at: i)
                else {
                    output.append(source[i])
                    i &+= 1
                    continue
                }
                let start = output.count
                switch escape.meaning {
                case .nothing: break
                case .byte(let byte): output.append(byte)
                case .character(let scalar):
                    for byte in UTF8.encode(scalar) ?? .init() { output.append(byte) }
                }
                let origin = i..<i + escape.length
                escapes.append(Escape(meaning: start..<output.count, origin: origin))
                i = origin.upperBound
            }
        }
        self.escapes = escapes
    }

    /// Maps a non-empty range to its range in the original.
    func origin(of range: Range<Int>) -> Range<Int> {
        origin(of: range.lowerBound).lowerBound..<origin(of: range.upperBound - 1).upperBound
    }

    private func origin(of index: Int) -> Range<Int> {
        var low = 0
        var high = escapes.count
        while low < high {
            let middle = (low + high) / 2
            if escapes[middle].meaning.lowerBound <= index {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low > 0 else { return index..<index + 1 }
        let escape = escapes[low - 1]
        if escape.meaning.contains(index) { return escape.origin }
        let start = escape.origin.upperBound + index - escape.meaning.upperBound
        // Bounded: `index` is within the decoded text, which is no longer than the original.
        return start..<start &+ 1
    }
}

extension Span where Element == UInt8 {
    fileprivate func end(ofZerosFrom start: Int) -> Int {
        var end = start
        while end < count, self[end] == UInt8(ascii: "0") { end += 1 }
        return end
    }

    /// Parses exactly `digits` hex digits, at most eight; returns nil when they aren't there.
    fileprivate func hexNumber(at start: Int, digits: Int) -> UInt32? {
        guard start &+ digits <= count else { return nil }
        return NumberReader.hexadecimal(extracting(start..<start &+ digits), max: 0xFFFF_FFFF)
            .map { UInt32(truncatingIfNeeded: $0) }
    }
}
