// The encoder against the samples of RFC 3492 §7.1, and which labels may be looked up at all.

import LupinCore
import Testing

struct PunycodeTests {
    @Test(arguments: [
        ("bücher", "bcher-kva"),
        ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        ("למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"),
        ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
        ("なぜみんな日本語を話してくれないのか", "n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa"),
        ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
        ("ü", "tda"), ("abc", "abc-"),
    ])
    func `labels become their punycode`(label: String, encoded: String) {
        #expect(Punycode.encode(Array(label.unicodeScalars)) == Array(encoded.utf8))
    }

    @Test(arguments: [
        ("BÜCHER", "xn--bcher-kva"), ("bu\u{308}cher", "xn--bcher-kva"),
        ("faß", "xn--fa-hia"), ("ΣΑΣ", "xn--mxa9ab"), ("e\u{302}\u{301}", "xn--ilg"),
        ("l·l", "xn--ll-0ea"), ("\u{212A}ey", "key"), ("и\u{306}", "xn--i1a"),
        ("क्\u{200D}ष", "xn--11b2ezcw70k"),
    ])
    func `a label is lower-cased and composed first`(label: String, expected: String) {
        #expect(
            Punycode.asciiLabel(label[...]).map { String(decoding: $0, as: UTF8.self) } == expected
        )
    }

    @Test(arguments: [
        "a\u{200D}b", "a\u{200C}ü", "ü。com", "ü\u{3002}", "\u{301}ü", "ab--ü", "xn--ü", "☃", "i❤",
        "ü\u{AD}", "a·ü", "ｅxample", "ü\u{202E}", "ü ü", "ü/ü", "ü.ü", "\u{1100}\u{1161}", "مـد",
        "ü\u{E000}", "ü\u{378}", "ﬁü", "",
        String(repeating: "ü", count: 64), "ü" + String(repeating: "\u{301}", count: 900),
    ])
    func `a label that must not be looked up is refused`(label: String) {
        #expect(Punycode.asciiLabel(label[...]) == nil)
    }
}
