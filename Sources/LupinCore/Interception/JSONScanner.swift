// Whether bytes are one JSON text (RFC 8259), and what stands where pointers point: in one pass
// and without a tree, because the bytes are a peer's.

/// What a pointer points at.
package enum JSONFinding: Sendable, Equatable {
    case missing
    case object
    case list
    /// The bytes between the quotes, with their escapes.
    case string(Range<Int>)
    case number(Range<Int>)
    case bool(Bool)
    case null

    /// What it is, for sentences that must not show a body.
    package var kindText: String {
        switch self {
        case .missing: "missing"
        case .object: "an object"
        case .list: "a list"
        case .string: "a string"
        case .number: "a number"
        case .bool(let value): "\(value)"
        case .null: "null"
        }
    }

    /// Whether it is `scalar`; `bytes` are those that it was found in.
    package func equals(_ scalar: JSONScalar, in bytes: Span<UInt8>) -> Bool {
        switch (self, scalar) {
        case (.string(let range), .string(let text)):
            JSONScanner.spells(bytes.extracting(range), text.utf8.span)
        case (.number(let range), .number(let number)):
            JSONNumber(scanned: bytes.extracting(range)) == number
        case (.bool(let value), .bool(let expected)): value == expected
        case (.null, .null): true
        default: false
        }
    }
}

/// A position in bytes and the grammar of RFC 8259 around it.
///
/// Every function returns false or nil where the grammar ends, and none reads behind the end.
package struct JSONScanner {
    /// Deeper nesting is refused, so that brackets of a peer cost no stack.
    package static let depthMax = 64
    /// As many pointers as a word has bits are looked for at once.
    private static let pointersMax = 64

    private(set) var position = 0
    private var pointers: ArraySlice<JSONPointer> = []
    private var findings: [JSONFinding] = []

    init() {}

    /// What each of `pointers` points at in `bytes`, or nil where they are not one JSON text.
    ///
    /// Of members with the same name the last one counts, as in most parsers. A byte order mark at
    /// the beginning is passed over, which RFC 8259 §8.1 allows.
    package static func find(
        _ pointers: [JSONPointer],
        in bytes: Span<UInt8>
    ) -> [JSONFinding]? {
        guard (try? UTF8Span(validating: bytes)) != nil else { return nil }
        var findings: [JSONFinding] = []
        var start = 0
        repeat {
            let end = min(start + pointersMax, pointers.count)
            var scanner = JSONScanner()
            scanner.pointers = pointers[start..<end]
            scanner.findings = Array(repeating: .missing, count: end - start)
            guard scanner.text(bytes) else { return nil }
            findings += scanner.findings
            start = end
        } while start < pointers.count
        return findings
    }

    // MARK: Grammar

    private mutating func text(_ bytes: Span<UInt8>) -> Bool {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
        let all = findings.count == 64 ? UInt64.max : 1 &<< UInt64(findings.count) &- 1
        guard value(bytes, depth: 0, all) else { return false }
        skipWhitespace(bytes)
        return position == bytes.count
    }

    /// A value which the first `depth` tokens of the pointers in `active` lead to.
    private mutating func value(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        skipWhitespace(bytes)
        guard position < bytes.count, depth <= JSONScanner.depthMax else { return false }
        let start = position
        let found: JSONFinding
        switch bytes[position] {
        case 0x7B:
            guard object(bytes, depth: depth, active) else { return false }
            found = .object
        case 0x5B:
            guard list(bytes, depth: depth, active) else { return false }
            found = .list
        case 0x22:
            guard let range = string(bytes) else { return false }
            found = .string(range)
        case 0x74:
            guard take("true", bytes) else { return false }
            found = .bool(true)
        case 0x66:
            guard take("false", bytes) else { return false }
            found = .bool(false)
        case 0x6E:
            guard take("null", bytes) else { return false }
            found = .null
        default:
            guard number(bytes) else { return false }
            found = .number(start..<position)
        }
        var rest = active
        while let index = JSONScanner.next(&rest) {
            if tokens(index).count == depth { findings[index] = found }
        }
        return true
    }

    private mutating func object(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        position += 1
        if take(0x7D, bytes) { return true }
        repeat {
            skipWhitespace(bytes)
            guard let name = string(bytes), take(0x3A, bytes) else { return false }
            var next: UInt64 = 0
            var rest = active
            while let index = JSONScanner.next(&rest) {
                let tokens = tokens(index)
                guard tokens.count > depth else { continue }
                let wanted = tokens[depth].name
                guard JSONScanner.spells(bytes.extracting(name), wanted.span) else { continue }
                next |= 1 &<< UInt64(index)
                // What an earlier member of this name held is no part of the text any more.
                findings[index] = .missing
            }
            guard value(bytes, depth: depth + 1, next) else { return false }
        } while take(0x2C, bytes)
        return take(0x7D, bytes)
    }

    private mutating func list(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        position += 1
        if take(0x5D, bytes) { return true }
        var element = 0
        repeat {
            var next: UInt64 = 0
            var rest = active
            while let index = JSONScanner.next(&rest) {
                let tokens = tokens(index)
                guard tokens.count > depth, tokens[depth].index == element else { continue }
                next |= 1 &<< UInt64(index)
            }
            guard value(bytes, depth: depth + 1, next) else { return false }
            element += 1
        } while take(0x2C, bytes)
        return take(0x5D, bytes)
    }

    private func tokens(_ index: Int) -> [JSONPointer.Token] {
        pointers[pointers.startIndex + index].tokens
    }

    /// Takes the lowest bit that is set, and says which it was.
    private static func next(_ bits: inout UInt64) -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits &- 1 }
        return bits.trailingZeroBitCount
    }

    private mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Takes `byte`, after whitespace.
    private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        skipWhitespace(bytes)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func take(_ word: String, _ bytes: Span<UInt8>) -> Bool {
        for byte in word.utf8 {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }

    /// The range between the quotes.
    private mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard position < bytes.count, bytes[position] == 0x22 else { return nil }
        position += 1
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x22 {
                position += 1
                return start..<(position - 1)
            }
            guard byte >= 0x20 else { return nil }
            position += 1
            guard byte == 0x5C else { continue }
            guard let length = JSONScanner.escapeLength(at: position, in: bytes) else { return nil }
            // Bounded: 1 or 5.
            position += length
        }
        return nil
    }

    /// How many bytes stand behind a backslash and belong to it.
    private static func escapeLength(at start: Int, in bytes: Span<UInt8>) -> Int? {
        guard start < bytes.count else { return nil }
        switch bytes[start] {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: return 1
        case 0x75: return hex4(at: start + 1, in: bytes) == nil ? nil : 5
        default: return nil
        }
    }

    private static func hex4(at start: Int, in bytes: Span<UInt8>) -> UInt32? {
        guard bytes.count - start >= 4 else { return nil }
        return NumberReader.hexadecimal(bytes.extracting(start..<start + 4)).map {
            UInt32(truncatingIfNeeded: $0)
        }
    }

    /// Takes a number.
    mutating func number(_ bytes: Span<UInt8>) -> Bool {
        guard let end = JSONNumberText.end(in: bytes, from: position) else { return false }
        position = end
        return true
    }

    // MARK: Strings

    /// Whether a string with this between its quotes is `text`; half a surrogate pair is no text.
    fileprivate static func spells(_ raw: Span<UInt8>, _ text: Span<UInt8>) -> Bool {
        var i = 0
        var matched = 0
        while i < raw.count {
            let byte = raw[i]
            i += 1
            guard byte == 0x5C else {
                guard matched < text.count, text[matched] == byte else { return false }
                matched += 1
                continue
            }
            guard let scalar = unescaped(&i, in: raw) else { return false }
            for unit in String(Character(scalar)).utf8 {
                guard matched < text.count, text[matched] == unit else { return false }
                matched += 1
            }
        }
        return matched == text.count
    }

    /// What the escape behind a backslash stands for; nil for half a pair.
    private static func unescaped(_ i: inout Int, in raw: Span<UInt8>) -> Unicode.Scalar? {
        guard i < raw.count else { return nil }
        i += 1
        switch raw[i - 1] {
        case 0x62: return "\u{8}"
        case 0x66: return "\u{C}"
        case 0x6E: return "\n"
        case 0x72: return "\r"
        case 0x74: return "\t"
        case 0x75: break
        default: return Unicode.Scalar(raw[i - 1])
        }
        guard let first = hex4(at: i, in: raw) else { return nil }
        i += 4
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
        guard i + 1 < raw.count, raw[i] == 0x5C, raw[i + 1] == 0x75,
            let second = hex4(at: i + 2, in: raw), 0xDC00..<0xE000 ~= second
        else { return nil }
        i += 6
        // Bounded: both are halves of a pair.
        return Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }
}
