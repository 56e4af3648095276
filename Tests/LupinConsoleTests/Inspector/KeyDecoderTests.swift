// Keys of a terminal: the same whole and byte by byte, and nothing else where bytes are missing.
import LupinConsole
import Testing

struct KeyDecoderTests {
    private func keys(_ text: String) -> [Key] {
        var decoder = KeyDecoder()
        return decoder.feed(Array(text.utf8))
    }

    @Test(arguments: [
        ("a", [Key.text("a")]), ("日", [.text("日")]), ("\r", [.enter]), ("\t", [.tab]),
        ("\u{7F}", [.backspace]), ("\u{3}", [.control("c")]), ("\u{1B}[A", [.up]),
        ("\u{1B}OB", [.down]), ("\u{1B}[1;5C", [.right]), ("\u{1B}[D", [.left]),
        ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]), ("\u{1B}[H", [.home]),
        ("\u{1B}[4~", [.end]), ("\u{1B}[3~", [.delete]), ("\u{1B}[Z", [.backTab]),
        ("\u{1B}[15~", [.other]), ("\u{1B}[[A", [.other]), ("\u{1B}x", [.other]),
        ("\u{1B}[Aq", [.up, .text("q")]),
        ("\u{1B}[200~x\nq\u{1B}[201~j", [.paste("x\nq"), .text("j")]),
    ])
    func `a sequence is one key`(sample: (text: String, keys: [Key])) {
        #expect(keys(sample.text) == sample.keys)
        var decoder = KeyDecoder()
        #expect(sample.text.utf8.flatMap { decoder.feed([$0]) } == sample.keys)
        #expect(decoder.flush() == nil)
    }

    @Test func `a lone escape is a key after a while`() {
        var decoder = KeyDecoder()
        #expect(decoder.feed([0x1B]) == [] && decoder.isWaiting)
        #expect(decoder.flush() == .escape && !decoder.isWaiting)
        #expect(decoder.feed([0x1B, 0x1B]) == [.escape])
        #expect(decoder.flush() == .escape)
        #expect(decoder.feed([0x1B, 0x5B, 0x31]) == [] && decoder.flush() == nil)
    }

    @Test func `broken characters are no text, and endless sequences end`() {
        var decoder = KeyDecoder()
        #expect(decoder.feed([0xE6, 0x97, 0x71]) == [.text("q")])
        #expect(decoder.feed([0xFF, 0xC0]) == [.other, .other])
        #expect(decoder.feed([0xED, 0xA0, 0x80]) == [.other])
        let endless = [0x1B, 0x5B] + [UInt8](repeating: 0x31, count: 100_000)
        #expect(decoder.feed(endless).allSatisfy { $0 == .text("1") })
    }

    @Test func `a paste is bounded, and ends with Ctrl-C where its end got lost`() {
        var decoder = KeyDecoder()
        let long = "\u{1B}[200~" + String(repeating: "a", count: 70_000) + "\u{1B}[201~"
        #expect(decoder.feed(Array(long.utf8)) == [.paste(String(repeating: "a", count: 65_536))])
        #expect(decoder.feed(Array("\u{1B}[200~abc\u{3}".utf8)) == [.control("c")])
    }
}
