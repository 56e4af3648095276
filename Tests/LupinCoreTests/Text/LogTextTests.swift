// That nothing a stranger sends can inject into a terminal, break a line or grow without bound.

import LupinCore
import LupinTestKit
import Testing

struct LogTextTests {
    private func escaped(_ bytes: [UInt8], _ form: LogText.Form) -> String {
        var output: [UInt8] = []
        LogText.append(bytes.span, as: form, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(
        arguments: [
            (Array("plain ~".utf8), "plain ~", "plain ~"),
            (Array("a\"b\\c".utf8), #"a\"b\\c"#, #"a"b\c"#),
            (Array("\u{1B}[2J\u{07}".utf8), #"\u001b[2J\u0007"#, #"\u001b[2J\u0007"#),
            (Array("a\r\n\tb".utf8), #"a\r\n\tb"#, #"a\r\n\tb"#),
            ([0x7F, 0x00], #"\u007f\u0000"#, #"\u007f\u0000"#),
            (Array("\u{9B}31m".utf8), #"\u009b31m"#, #"\u009b31m"#),
            (Array("a\u{202E}b\u{2028}".utf8), #"a\u202eb\u2028"#, #"a\u202eb\u2028"#),
            (Array("grüße 日本 🦊".utf8), "grüße 日本 🦊", "grüße 日本 🦊"),
            ([0x61, 0xFF, 0x62], #"a\\xffb"#, #"a\xffb"#),
            ([0xC0, 0xAF], #"\\xc0\\xaf"#, #"\xc0\xaf"#),
            ([0xE2, 0x82], #"\\xe2\\x82"#, #"\xe2\x82"#),
            ([0xED, 0xA0, 0x80], #"\\xed\\xa0\\x80"#, #"\xed\xa0\x80"#),
            ([0xF5, 0x80, 0x80, 0x80], #"\\xf5\\x80\\x80\\x80"#, #"\xf5\x80\x80\x80"#),
            ([], "", ""),
        ] as [([UInt8], String, String)]
    )
    func `hostile bytes become harmless text`(bytes: [UInt8], json: String, plain: String) {
        #expect(escaped(bytes, .json) == json)
        #expect(escaped(bytes, .plain) == plain)
    }

    @Test func `a string is cut at 4 KiB and says what is missing`() {
        let bytes = [UInt8](repeating: 0x61, count: 5000)
        #expect(escaped(bytes, .json) == String(repeating: "a", count: 4096) + "…+904")
        #expect(escaped(Array(bytes.prefix(4096)), .json) == String(repeating: "a", count: 4096))
    }

    @Test(arguments: 4093...4096)
    func `the cut splits no character`(start: Int) {
        let bytes = [UInt8](repeating: 0x61, count: start) + Array("🦊b".utf8)
        let end = start == 4096 ? 4096 : start
        let text = String(repeating: "a", count: end) + "…+\(bytes.count - end)"
        #expect(escaped(bytes, .plain) == text)
    }

    @Test func `every byte in every form is JSON again`() throws {
        for byte in UInt8.min...UInt8.max {
            for tail: [UInt8] in [[], [0x80], [0x80, 0x80], [0x22, 0x5C]] {
                let text = "\"" + escaped([byte] + tail, .json) + "\""
                #expect(parseJSON(text)?.string != nil, "\(byte) \(tail)")
                #expect(!text.utf8.contains { $0 < 0x20 || $0 == 0x7F })
            }
        }
    }

    /// The ranges of Default_Ignorable_Code_Point in Unicode 16.
    private static let ignorable: [ClosedRange<UInt32>] = [
        0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C, 0x115F...0x1160, 0x17B4...0x17B5,
        0x180B...0x180F, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0x3164...0x3164,
        0xFE00...0xFE0F, 0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF0...0xFFF8, 0x1BCA0...0x1BCA3,
        0x1D173...0x1D17A, 0xE0000...0xE0FFF,
    ]

    @Test(arguments: ignorable)
    func `what a terminal may ignore is shown as an escape`(range: ClosedRange<UInt32>) throws {
        for value in range {
            let scalar = try #require(Unicode.Scalar(value))
            let text = "a\(scalar)b"
            #expect(!LogText.isHarmless(text), "\(value)")
            for shown in [LogText.plain(text), LogText.lines(text)] {
                #expect(shown.hasPrefix("a\\u") && shown.hasSuffix("b"), "\(value)")
                #expect(shown.utf8.allSatisfy { 0x20..<0x7F ~= $0 })
            }
        }
    }
}
