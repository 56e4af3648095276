// JSON pointers (RFC 6901), and the comparison of JSON values with expected ones.

import LupinCore

/// A JSON pointer, such as `/items/0/name`; the empty one refers to the whole text.
package struct JSONPointer: Sendable, Equatable {
    /// One step: the name of a member, or the index of an element.
    struct Token: Sendable, Equatable {
        let name: [UInt8]
        /// nil when the name is not an index, such as `01`, or `-`, which is after the last
        /// element.
        let index: Int?

        fileprivate init(_ name: [UInt8]) {
            self.name = name
            let isNumber =
                (1...9).contains(name.count) && name.allSatisfy(\.isASCIIDigit)
                && (name.count == 1 || name[0] != 0x30)
            index = isNumber ? NumberReader.fixed(name.span, at: 0, digits: name.count) : nil
        }
    }

    /// The original text.
    package let source: String
    let tokens: [Token]

    /// Parses `text`; nil unless it begins with `/` or is empty, and each `~` is part of `~0` or
    /// `~1`.
    package init?(_ text: String) {
        source = text
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == 0x2F else { return nil }
        var tokens: [Token] = []
        var name: [UInt8] = []
        var isEscape = false
        for byte in text.utf8.dropFirst() {
            switch (isEscape, byte) {
            case (true, 0x30): name.append(0x7E)
            case (true, 0x31): name.append(0x2F)
            case (true, _): return nil
            case (false, 0x2F):
                tokens.append(Token(name))
                name = []
            case (false, 0x7E): break
            case (false, _): name.append(byte)
            }
            isEscape = !isEscape && byte == 0x7E
        }
        guard !isEscape else { return nil }
        tokens.append(Token(name))
        self.tokens = tokens
    }

    /// Whether it leads below the name of a secret.
    package var namesSecret: Bool { tokens.contains { SecretNames.members.contains($0.name.span) } }

    package static func == (a: Self, b: Self) -> Bool { a.tokens == b.tokens }
}

/// A scalar value that a rule expects.
package enum JSONScalar: Sendable, Equatable {
    case string(String)
    case number(JSONNumber)
    case bool(Bool)
    case null

    /// Compares bytes: two encodings of one letter are different strings in JSON.
    package static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.number(let a), .number(let b)): a == b
        case (.bool(let a), .bool(let b)): a == b
        case (.null, .null): true
        default: false
        }
    }

    /// The expected value in words; a string may be a secret of the environment and isn't shown.
    package var sentence: String {
        switch self {
        case .string: "the expected text"
        case .number(let number): number.source
        case .bool(let value): "\(value)"
        case .null: "null"
        }
    }
}

/// A JSON number compared by value, not by spelling: `1`, `1.0` and `10e-1` are equal, and all
/// digits of a long number count.
package struct JSONNumber: Sendable, Equatable {
    /// The original text.
    package let source: String
    private let isNegative: Bool
    /// The digits without zeros at either end; empty for 0.
    private let digits: [UInt8]
    /// The power of ten by which the digits, as an integer, are multiplied.
    private let exponent: Int

    /// Larger exponents count as equal; no number of a rules file has one.
    private static let exponentMax: UInt64 = 1 << 40

    /// Parses a whole text by the grammar of RFC 8259 §6.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard JSONText.endOfNumber(in: bytes.span, from: 0) == bytes.count else { return nil }
        self.init(scanned: bytes.span)
    }

    /// Creates a number from `bytes` that already follow the grammar.
    init(scanned bytes: Span<UInt8>) {
        var digits: [UInt8] = []
        var exponent = 0
        var written: UInt64 = 0
        var part = Part.whole
        var isExponentNegative = false
        for i in bytes.indices {
            let byte = bytes[i]
            switch byte {
            case 0x2E: part = .fraction
            case 0x45, 0x65: part = .exponent
            case 0x2D: isExponentNegative = part == .exponent
            case 0x2B: break
            default:
                if part == .exponent {
                    let largest = JSONNumber.exponentMax
                    written =
                        NumberReader.adding(byte &- 0x30, to: written, max: largest) ?? largest
                } else {
                    if part == .fraction { exponent -= 1 }
                    if byte != 0x30 || !digits.isEmpty { digits.append(byte) }
                }
            }
        }
        // Bounded: by 2^40, and by the length of the text for the digits counted so far.
        exponent += isExponentNegative ? -Int(written) : Int(written)
        while digits.last == 0x30 {
            digits.removeLast()
            exponent += 1
        }
        source = String(copying: bytes)
        isNegative = !digits.isEmpty && bytes[0] == 0x2D
        self.exponent = digits.isEmpty ? 0 : exponent
        self.digits = digits
    }

    private enum Part { case whole, fraction, exponent }

    package static func == (a: Self, b: Self) -> Bool {
        a.isNegative == b.isNegative && a.exponent == b.exponent && a.digits == b.digits
    }
}
