// Reads JSON (RFC 8259): one implementation of the grammar, and values in memory.

/// A JSON value (RFC 8259).
///
/// Objects keep the order of their members.
package enum JSONValue: Sendable, Equatable {
    case object([Member])
    case list([JSONValue])
    case string(String)
    case number(Double)
    case bool(Bool)
    case null

    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSONValue
    }

    /// Parses one JSON text; returns nil when `bytes` are not valid.
    package init?(parsing bytes: Span<UInt8>) {
        var reader = JSONReader(bytes)
        guard let value = JSONValue(&reader, bytes, depth: 0), reader.isAtEnd(bytes) else {
            return nil
        }
        self = value
    }

    /// Creates what the admin interface tells of an exchange: its record, and the heads beside it.
    package init(record: JSONValue, besides heads: [Member]) {
        self = .object([Member(name: "record", value: record)] + heads)
    }

    private init?(_ reader: inout JSONReader, _ bytes: Span<UInt8>, depth: Int) {
        guard let token = reader.value(bytes, depth: depth) else { return nil }
        switch token {
        case .object:
            var members: [Member] = []
            while let hasMore = reader.hasMore(bytes, until: 0x7D, isFirst: members.isEmpty) {
                guard hasMore else {
                    self = .object(members)
                    return
                }
                guard let name = reader.name(bytes),
                    let value = JSONValue(&reader, bytes, depth: depth + 1)
                else { return nil }
                members.append(Member(name: JSONText.string(name, in: bytes), value: value))
            }
            return nil
        case .list:
            var values: [JSONValue] = []
            while let hasMore = reader.hasMore(bytes, until: 0x5D, isFirst: values.isEmpty) {
                guard hasMore else {
                    self = .list(values)
                    return
                }
                guard let value = JSONValue(&reader, bytes, depth: depth + 1) else { return nil }
                values.append(value)
            }
            return nil
        case .string(let range): self = .string(JSONText.string(range, in: bytes))
        case .number(let range):
            guard let number = Double(String(copying: bytes.extracting(range))) else { return nil }
            self = .number(number)
        case .bool(let value): self = .bool(value)
        case .null: self = .null
        }
    }

    /// Returns the value at a path of member names, such as `http`, `response`, `status_code`.
    ///
    /// Of members with the same name the last one is used, as in most parsers.
    package subscript(path: String...) -> JSONValue? {
        var value = self
        for name in path {
            guard case .object(let members) = value,
                let member = members.last(where: { $0.name == name })
            else { return nil }
            value = member.value
        }
        return value
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The number as a count, if it is an integer.
    package var count: UInt64? { number.flatMap { UInt64(exactly: $0) } }

    /// The number, which is in milliseconds, as microseconds; nil when it is beyond a century.
    package var microseconds: Int64? {
        number.flatMap { abs($0) < 4e12 ? Int64(exactly: ($0 * 1000).rounded()) : nil }
    }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var list: [JSONValue]? {
        if case .list(let values) = self { values } else { nil }
    }
}

/// The token at a position of a JSON text: a whole scalar, or an opening bracket.
package enum JSONToken {
    case object
    case list
    /// The bytes between the quotes, including escapes.
    case string(Range<Int>)
    case number(Range<Int>)
    case bool(Bool)
    case null
}

/// A position in bytes, and the grammar of RFC 8259.
///
/// Functions return nil at an error in the grammar, and never read past the end.
package struct JSONReader {
    /// Deeper nesting is refused, so that a peer's brackets cannot exhaust the stack.
    static let depthMax = 64

    package private(set) var position: Int

    /// Skips a byte order mark at the beginning, as RFC 8259 §8.1 allows.
    package init(_ bytes: Span<UInt8>) {
        let hasMark = bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
        position = hasMark ? 3 : 0
    }

    /// Skips whitespace; returns whether nothing else is left.
    package mutating func isAtEnd(_ bytes: Span<UInt8>) -> Bool {
        skipWhitespace(bytes)
        return position == bytes.count
    }

    /// Takes a scalar, or the opening bracket of an object or a list at nesting `depth`.
    package mutating func value(_ bytes: Span<UInt8>, depth: Int) -> JSONToken? {
        skipWhitespace(bytes)
        guard position < bytes.count, depth <= JSONReader.depthMax else { return nil }
        switch bytes[position] {
        case 0x7B:
            position += 1
            return .object
        case 0x5B:
            position += 1
            return .list
        case 0x22: return string(bytes).map { .string($0) }
        case 0x74: return take("true", bytes) ? .bool(true) : nil
        case 0x66: return take("false", bytes) ? .bool(false) : nil
        case 0x6E: return take("null", bytes) ? .null : nil
        default:
            let start = position
            guard let end = JSONText.endOfNumber(in: bytes, from: start) else { return nil }
            position = end
            return .number(start..<end)
        }
    }

    /// Takes the comma before the next member or element, or the closing bracket; returns nil when
    /// neither follows.
    package mutating func hasMore(_ bytes: Span<UInt8>, until close: UInt8, isFirst: Bool) -> Bool?
    {
        if take(close, bytes) { return false }
        return isFirst || take(0x2C, bytes) ? true : nil
    }

    /// Takes a member's name and its colon; returns the bytes between the quotes.
    package mutating func name(_ bytes: Span<UInt8>) -> Range<Int>? {
        skipWhitespace(bytes)
        guard let name = string(bytes), take(0x3A, bytes) else { return nil }
        return name
    }

    package mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ word: String, _ bytes: Span<UInt8>) -> Bool {
        for byte in word.utf8 {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }

    /// Takes `byte`, after whitespace.
    private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        skipWhitespace(bytes)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Takes a string; returns the range between the quotes.
    private mutating func string(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard position < bytes.count, bytes[position] == 0x22 else { return nil }
        position += 1
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case 0x22: return start..<(position - 1)
            case 0x5C:
                guard let length = JSONText.escapeLength(at: position, in: bytes) else {
                    return nil
                }
                // Bounded: 1 or 5.
                position += length
            case 0..<0x20: return nil
            default: break
            }
        }
        return nil
    }
}

/// The syntax of strings and numbers (RFC 8259 §6 and §7).
package enum JSONText {
    /// Decodes a string; an unpaired surrogate and invalid UTF-8 become U+FFFD.
    package static func string(_ range: Range<Int>, in bytes: Span<UInt8>) -> String {
        let raw = bytes.extracting(range)
        var text: [UInt8] = []
        var i = 0
        while i < raw.count {
            let byte = raw[i]
            i += 1
            if byte == 0x5C {
                text.append(contentsOf: String(unescaped(&i, in: raw) ?? "\u{FFFD}").utf8)
            } else {
                text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether a string's raw content decodes to `text`; an unpaired surrogate never matches.
    package static func spells(_ raw: Span<UInt8>, _ text: Span<UInt8>) -> Bool {
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

    /// Returns the number of bytes behind a backslash that belong to the escape.
    fileprivate static func escapeLength(at start: Int, in bytes: Span<UInt8>) -> Int? {
        guard start < bytes.count else { return nil }
        switch bytes[start] {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: return 1
        case 0x75: return hex4(at: start + 1, in: bytes) == nil ? nil : 5
        default: return nil
        }
    }

    /// Decodes the escape behind a backslash; returns nil for an unpaired surrogate, and skips it.
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
        // Bounded: both are surrogates of a pair.
        return Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private static func hex4(at start: Int, in bytes: Span<UInt8>) -> UInt32? {
        guard bytes.count - start >= 4 else { return nil }
        return NumberReader.hexadecimal(bytes.extracting(start..<start + 4)).map {
            UInt32(truncatingIfNeeded: $0)
        }
    }

    /// Returns the end of the number that begins at `start`; nil when there is none.
    package static func endOfNumber(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var position = start
        func digits() -> Int {
            let first = position
            while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
            return position - first
        }
        if position < bytes.count, bytes[position] == 0x2D { position += 1 }
        let whole = digits()
        let startsWithZero = whole > 1 && bytes[position - whole] == 0x30
        guard whole > 0, !startsWithZero else { return nil }
        if position < bytes.count, bytes[position] == 0x2E {
            position += 1
            guard digits() > 0 else { return nil }
        }
        if position < bytes.count, bytes[position] | 0x20 == 0x65 {
            position += 1
            if position < bytes.count, bytes[position] == 0x2B || bytes[position] == 0x2D {
                position += 1
            }
            guard digits() > 0 else { return nil }
        }
        return position
    }
}
