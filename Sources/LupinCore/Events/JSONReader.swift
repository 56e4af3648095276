// What a JSON text says: a small strict reader for the lines that lupin itself wrote.

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

    /// The value that `bytes` spell, or nil when they are not one JSON text.
    package init?(parsing bytes: Span<UInt8>) {
        var reader = JSONReader()
        guard let value = reader.value(bytes, depth: 0) else { return nil }
        reader.skipWhitespace(bytes)
        guard reader.position == bytes.count else { return nil }
        self = value
    }

    /// The value at a path of member names, such as `http`, `response`, `status_code`.
    package subscript(path: String...) -> JSONValue? {
        var value = self
        for name in path {
            guard case .object(let members) = value,
                let member = members.first(where: { $0.name == name })
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

    /// The number as a count, if it is one.
    package var count: UInt64? { number.flatMap { UInt64(exactly: $0) } }

    /// The number as milliseconds; beyond a century it is none of ours.
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

/// A position in bytes and the grammar of RFC 8259 around it.
///
/// Every function returns nil where the grammar ends, and none reads behind the end.
private struct JSONReader {
    /// Deeper nesting is refused: a line of ours has five levels.
    static let depthMax = 32

    var position = 0

    mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    mutating func value(_ bytes: Span<UInt8>, depth: Int) -> JSONValue? {
        skipWhitespace(bytes)
        guard position < bytes.count, depth < JSONReader.depthMax else { return nil }
        switch bytes[position] {
        case 0x7B: return object(bytes, depth: depth)
        case 0x5B: return list(bytes, depth: depth)
        case 0x22: return string(bytes).map { .string($0) }
        case 0x74: return take("true", bytes) ? .bool(true) : nil
        case 0x66: return take("false", bytes) ? .bool(false) : nil
        case 0x6E: return take("null", bytes) ? .null : nil
        default: return number(bytes)
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

    private mutating func object(_ bytes: Span<UInt8>, depth: Int) -> JSONValue? {
        var members: [JSONValue.Member] = []
        position += 1
        if take(0x7D, bytes) { return .object(members) }
        repeat {
            skipWhitespace(bytes)
            guard let name = string(bytes), take(0x3A, bytes),
                let value = value(bytes, depth: depth + 1)
            else { return nil }
            members.append(JSONValue.Member(name: name, value: value))
        } while take(0x2C, bytes)
        return take(0x7D, bytes) ? .object(members) : nil
    }

    private mutating func list(_ bytes: Span<UInt8>, depth: Int) -> JSONValue? {
        var values: [JSONValue] = []
        position += 1
        if take(0x5D, bytes) { return .list(values) }
        repeat {
            guard let value = value(bytes, depth: depth + 1) else { return nil }
            values.append(value)
        } while take(0x2C, bytes)
        return take(0x5D, bytes) ? .list(values) : nil
    }

    private mutating func string(_ bytes: Span<UInt8>) -> String? {
        guard position < bytes.count, bytes[position] == 0x22 else { return nil }
        position += 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case 0x22: return String(decoding: text, as: UTF8.self)
            case 0x5C:
                guard let scalar = escape(bytes) else { return nil }
                text.append(contentsOf: String(Character(scalar)).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// What stands behind a backslash; lone surrogates become U+FFFD.
    private mutating func escape(_ bytes: Span<UInt8>) -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        position += 1
        switch bytes[position - 1] {
        case 0x22: return "\""
        case 0x5C: return "\\"
        case 0x2F: return "/"
        case 0x62: return "\u{8}"
        case 0x66: return "\u{C}"
        case 0x6E: return "\n"
        case 0x72: return "\r"
        case 0x74: return "\t"
        case 0x75: break
        default: return nil
        }
        guard let first = hex4(bytes) else { return nil }
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) ?? "\u{FFFD}" }
        let before = position
        if position + 1 < bytes.count, bytes[position] == 0x5C, bytes[position + 1] == 0x75 {
            position += 2
            if let second = hex4(bytes), 0xDC00..<0xE000 ~= second {
                return Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
            }
        }
        position = before
        return "\u{FFFD}"
    }

    private mutating func hex4(_ bytes: Span<UInt8>) -> UInt32? {
        guard bytes.count - position >= 4,
            let value = NumberReader.hexadecimal(bytes.extracting(position..<position + 4))
        else { return nil }
        position += 4
        return UInt32(truncatingIfNeeded: value)
    }

    private mutating func number(_ bytes: Span<UInt8>) -> JSONValue? {
        guard let end = JSONNumberText.end(in: bytes, from: position) else { return nil }
        let text = bytes.extracting(position..<end)
        position = end
        return Double(String(copying: text)).map { .number($0) }
    }
}

/// The grammar of numbers (RFC 8259 §6).
enum JSONNumberText {
    /// Where the number that begins at `start` ends; nil where none does.
    static func end(in bytes: Span<UInt8>, from start: Int) -> Int? {
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
