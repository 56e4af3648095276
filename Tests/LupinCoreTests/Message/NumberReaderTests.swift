// Which numbers digits spell, at the bounds of every form and far beyond them.

import LupinCore
import Testing

struct NumberReaderTests {
    /// Digits, and the number that they spell; nil where no 64 bits hold it.
    private static let decimal: [(String, UInt64?)] = [
        ("0", 0), ("7", 7), ("007", 7), ("255", 255), ("2147483648", 1 << 31),
        ("9223372036854775807", 9_223_372_036_854_775_807),
        ("9223372036854775808", 9_223_372_036_854_775_808),
        ("18446744073709551609", .max - 6), ("18446744073709551615", .max),
        ("18446744073709551616", nil), ("18446744073709551620", nil),
        ("28446744073709551615", nil), ("184467440737095516150", nil),
        (String(repeating: "9", count: 40), nil),
        (String(repeating: "0", count: 40) + "18446744073709551615", .max),
    ]

    @Test(arguments: decimal)
    func `decimal digits are a number or too large for one`(text: String, expected: UInt64?) {
        let bytes = Array(text.utf8)
        #expect(NumberReader.unsigned(bytes.span) == expected)
        #expect(NumberReader.unsigned(text) == expected)
        #expect(NumberReader.saturated(bytes.span, at: .max) == expected ?? .max)
        #expect(NumberReader.saturated(bytes.span, at: 100) == min(expected ?? .max, 100))
        #expect(
            NumberReader.unsigned(bytes.span, max: 255) == expected.flatMap { $0 > 255 ? nil : $0 }
        )
        let within = Array("x\(text)-".utf8)
        var position = 1
        let found = NumberReader.decimal(within.span, from: &position)
        #expect(found == expected.map { .value($0) } ?? .tooLarge)
        #expect(position == text.utf8.count + 1)
    }

    @Test(arguments: [
        "", " 1", "1 ", "+1", "-1", "0x1", "1.0", "1e3", "１", "1_000", "NaN", "/", ":",
    ])
    func `what is not digits alone is no number`(text: String) {
        let bytes = Array(text.utf8)
        #expect(NumberReader.unsigned(bytes.span) == nil)
        #expect(NumberReader.saturated(bytes.span, at: .max) == nil)
    }

    @Test func `no digit at a position is told apart from a number`() {
        let bytes = Array("a1".utf8)
        var position = 0
        #expect(NumberReader.decimal(bytes.span, from: &position) == .none)
        #expect(position == 0)
        position = 2
        #expect(NumberReader.decimal(bytes.span, from: &position) == .none)
    }

    @Test(
        arguments: [
            ("0", 0), ("fF", 255), ("ffffffffffffffff", .max), ("00000000000000001", 1),
            ("10000000000000000", nil), ("fffffffffffffffff", nil), ("", nil), ("g", nil),
            ("-1", nil), ("0x1", nil),
        ] as [(String, UInt64?)]
    )
    func `hexadecimal digits are a number or none`(text: String, expected: UInt64?) {
        #expect(NumberReader.hexadecimal(text) == expected)
        #expect(
            NumberReader.hexadecimal(text, max: 254) == expected.flatMap { $0 > 254 ? nil : $0 }
        )
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-5", -5), ("9223372036854775807", .max),
            ("9223372036854775808", nil), ("-9223372036854775808", .min),
            ("-9223372036854775809", nil), ("", nil), ("-", nil), ("--1", nil), ("+1", nil),
        ] as [(String, Int64?)]
    )
    func `a minus may stand before a signed number`(text: String, expected: Int64?) {
        #expect(NumberReader.signed(text) == expected)
    }

    @Test func `so many digits at a place, and nothing else there`() {
        let bytes = Array("a1994-9x999999999".utf8)
        #expect(NumberReader.fixed(bytes.span, at: 1, digits: 4) == 1994)
        #expect(NumberReader.fixed(bytes.span, at: 8, digits: 9) == 999_999_999)
        #expect(NumberReader.fixed(bytes.span, at: 0, digits: 2) == nil)
        #expect(NumberReader.fixed(bytes.span, at: 4, digits: 2) == nil)
        #expect(NumberReader.fixed(bytes.span, at: 16, digits: 2) == nil)
        #expect(NumberReader.fixed(bytes.span, at: -1, digits: 2) == nil)
        #expect(NumberReader.fixed(bytes.span, at: .max, digits: 2) == nil)
        #expect(NumberReader.fixed(bytes.span, at: 1, digits: 0) == nil)
        #expect(NumberReader.fixed(bytes.span, at: 1, digits: 10) == nil)
    }

    @Test func `two hexadecimal digits are a byte`() {
        let bytes = Array("%7Eg".utf8)
        #expect(NumberReader.hexadecimalByte(bytes.span, at: 1) == 0x7E)
        #expect(NumberReader.hexadecimalByte(bytes.span, at: 2) == nil)
        #expect(NumberReader.hexadecimalByte(bytes.span, at: 3) == nil)
        #expect(NumberReader.hexadecimalByte(bytes.span, at: 4) == nil)
        #expect(NumberReader.hexadecimalByte(bytes.span, at: .max) == nil)
    }

    @Test func `sums, differences and products end at the bounds`() {
        #expect(UInt64.max.addingSaturated(1) == .max)
        #expect(Int64.max.addingSaturated(1) == .max)
        #expect(Int64.min.addingSaturated(-1) == .min)
        #expect(Int64.max.subtractingSaturated(-1) == .max)
        #expect(Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64.max.multipliedSaturated(by: 2) == .max)
        #expect(Int64.max.multipliedSaturated(by: -2) == .min)
        #expect(Int64.min.multipliedSaturated(by: -1) == .max)
        #expect(Int64(-3).multipliedSaturated(by: 4) == -12)
    }
}
