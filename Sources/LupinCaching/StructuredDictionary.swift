// Parses a field that is a structured Dictionary (RFC 9651 §4.2.2).

package import LupinCore

/// A Dictionary in which a cache looks up the members it knows.
///
/// Parameters are parsed, because a syntax error in them invalidates the whole field, and dropped:
/// no member that lupin knows has one.
package struct StructuredDictionary: Sendable, Equatable {
    /// A bare item, as far as a cache distinguishes types.
    package enum Item: Sendable, Equatable {
        case boolean(Bool)
        case integer(Int64)
        case string(String)
        case token(String)
        /// A Decimal, Byte Sequence, Date or Display String.
        case other
    }

    package enum Member: Sendable, Equatable {
        case item(Item)
        case innerList([Item])
    }

    /// The maximum number of members; a field with more is refused.
    static let membersMax = 64

    /// In the order of their last occurrence; each key occurs once (§4.2.2).
    package private(set) var members: [(key: String, member: Member)] = []

    package subscript(key key: String) -> Member? { members.first { $0.key == key }?.member }

    /// Parses the lines called `name` as one; nil when they are no Dictionary or there are none.
    package init?(of name: String, in fields: FieldSection) {
        var text: [UInt8] = []
        var isThere = false
        let wanted = name.utf8.span
        for line in fields.lines where fields.nameEquals(line, wanted) {
            if isThere { text += [0x2C, 0x20] }
            text.append(copying: fields.storage.span.extracting(line.value.range))
            isThere = true
        }
        guard isThere else { return nil }
        self.init(parsing: text)
    }

    /// Parses a field value; nil when it breaks the grammar.
    package init?(parsing text: [UInt8]) {
        var reader = StructuredReader(text)
        guard let members = reader.dictionary() else { return nil }
        self.members = members
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.members.elementsEqual(b.members) { $0.key == $1.key && $0.member == $1.member }
    }
}

/// A position in a field value, with the algorithms of RFC 9651 §4.2.
///
/// Each of them returns nil when the grammar is broken.
private struct StructuredReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func dictionary() -> [(key: String, member: StructuredDictionary.Member)]? {
        var members: [(key: String, member: StructuredDictionary.Member)] = []
        skip { $0 == 0x20 }
        while current != nil {
            guard let key = key(), let member = member() else { return nil }
            members.removeAll { $0.key == key }
            guard members.count < StructuredDictionary.membersMax else { return nil }
            members.append((key, member))
            skip { $0 == 0x20 || $0 == 0x09 }
            guard current != nil else { break }
            guard take(0x2C) else { return nil }
            skip { $0 == 0x20 || $0 == 0x09 }
            // A trailing comma lacks its member.
            guard current != nil else { return nil }
        }
        return members
    }

    private mutating func member() -> StructuredDictionary.Member? {
        guard take(0x3D) else {
            return parameters() ? .item(.boolean(true)) : nil
        }
        if current == 0x28 { return innerList().map { .innerList($0) } }
        guard let item = item() else { return nil }
        return .item(item)
    }

    private mutating func innerList() -> [StructuredDictionary.Item]? {
        var items: [StructuredDictionary.Item] = []
        position += 1
        while current != nil {
            skip { $0 == 0x20 }
            if take(0x29) { return parameters() ? items : nil }
            guard let item = item() else { return nil }
            items.append(item)
            guard current == 0x20 || current == 0x29 else { return nil }
        }
        return nil
    }

    private mutating func item() -> StructuredDictionary.Item? {
        guard let item = bareItem(), parameters() else { return nil }
        return item
    }

    private mutating func parameters() -> Bool {
        while take(0x3B) {
            skip { $0 == 0x20 }
            guard key() != nil else { return false }
            if take(0x3D), bareItem() == nil { return false }
        }
        return true
    }

    private mutating func key() -> String? {
        guard let first = current, first.isKeyStart else { return nil }
        let start = position
        skip { $0.isKeyStart || $0.isASCIIDigit || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E }
        return text(from: start)
    }

    // MARK: Bare items

    private mutating func bareItem() -> StructuredDictionary.Item? {
        guard let first = current else { return nil }
        switch first {
        case 0x2D, 0x30...0x39: return number()
        case 0x22: return string().map { .string($0) }
        case 0x3F: return boolean()
        case 0x3A: return byteSequence()
        case 0x40: return date()
        case 0x25: return displayString()
        case 0x2A: return token()
        default: return first.asciiLowercased &- 0x61 < 26 ? token() : nil
        }
    }

    /// An Integer of at most 15 digits, or a Decimal of at most 12 and 3 (§4.2.4).
    private mutating func number() -> StructuredDictionary.Item? {
        let isNegative = take(0x2D)
        let start = position
        skip(\.isASCIIDigit)
        let digits = start..<position
        guard (1...15).contains(digits.count),
            let number = NumberReader.unsigned(bytes[digits].span)
        else { return nil }
        // Bounded: by 15 digits.
        let value = isNegative ? -Int64(number) : Int64(number)
        guard take(0x2E) else { return .integer(value) }
        skip(\.isASCIIDigit)
        let decimals = digits.upperBound + 1..<position
        return digits.count <= 12 && (1...3).contains(decimals.count) ? .other : nil
    }

    private mutating func string() -> String? {
        var text: [UInt8] = []
        position += 1
        while let byte = current {
            position += 1
            if byte == 0x22 { return String(decoding: text, as: UTF8.self) }
            guard (0x20...0x7E).contains(byte) else { return nil }
            if byte == 0x5C {
                guard let escaped = current, escaped == 0x22 || escaped == 0x5C else { return nil }
                position += 1
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    private mutating func token() -> StructuredDictionary.Item? {
        let start = position
        skip { $0.isTokenByte || $0 == 0x3A || $0 == 0x2F }
        return .token(text(from: start))
    }

    private mutating func boolean() -> StructuredDictionary.Item? {
        position += 1
        if take(0x31) { return .boolean(true) }
        return take(0x30) ? .boolean(false) : nil
    }

    private mutating func byteSequence() -> StructuredDictionary.Item? {
        position += 1
        skip {
            $0.asciiLowercased &- 0x61 < 26 || $0.isASCIIDigit || $0 == 0x2B || $0 == 0x2F
                || $0 == 0x3D
        }
        return take(0x3A) ? .other : nil
    }

    private mutating func date() -> StructuredDictionary.Item? {
        position += 1
        guard let number = number(), case .integer = number else { return nil }
        return .other
    }

    /// Only skipped: no member that lupin knows has this type.
    private mutating func displayString() -> StructuredDictionary.Item? {
        position += 1
        guard take(0x22) else { return nil }
        skip { $0 != 0x22 && (0x20...0x7E).contains($0) }
        return take(0x22) ? .other : nil
    }

    // MARK: Moving on

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while let byte = current, isSkipped(byte) { position += 1 }
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<position], as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether a key may begin with it; upper-case letters may not (§3.1.2).
    fileprivate var isKeyStart: Bool { self &- 0x61 < 26 || self == 0x2A }
}
