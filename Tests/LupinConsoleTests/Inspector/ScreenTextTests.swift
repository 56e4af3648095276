// That nothing from outside controls a terminal, and that columns stay columns.
import LupinConsole
import Testing

struct ScreenTextTests {
    @Test(arguments: ["\u{AD}", "\u{200B}", "\u{202E}", "\u{FEFF}", "\u{E0041}", "\u{2028}"])
    func `what a terminal may ignore is shown as an escape`(hidden: String) {
        let shown = ScreenText.clean("a\(hidden)b")
        #expect(shown.hasPrefix("a\\u") && shown.hasSuffix("b"))
    }

    @Test(arguments: [
        ("plain", "plain"), ("a\u{1B}[31mb", "a\\u001b[31mb"), ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u{9B}2J", "\\u009b2J"), ("a\u{202E}b", "a\\u202eb"), ("\u{2066}x", "\\u2066x"),
        ("\u{7F}", "\\u007f"), ("\u{200B}", "\\u200b"), ("\u{E0041}", "\\ue0041"),
        ("日本", "日本"), ("e\u{301}", "e\u{301}"), ("\u{301}x", "x"),
        ("x\u{FE0F}\u{E0100}y", "x\\ufe0f\\ue0100y"),
    ])
    func `control characters are shown as what they are`(sample: (text: String, clean: String)) {
        #expect(
            Array(ScreenText.clean(sample.text).unicodeScalars)
                == Array(sample.clean.unicodeScalars)
        )
        let line = ScreenLine(sample.text)
        #expect(line.text == sample.clean)
        #expect(!line.bytes(isColoured: true).contains { $0 < 0x20 || $0 == 0x7F })
    }

    @Test(arguments: [
        ("abc", 3), ("日本語", 6), ("ｆｕｌｌ", 8), ("e\u{301}", 1), ("한국", 4), ("🙂", 2),
        ("é", 1), ("…", 1), ("█", 1), ("", 0),
    ])
    func `a width is counted in columns`(sample: (text: String, width: Int)) {
        #expect(ScreenText.width(of: sample.text) == sample.width)
    }

    @Test func `text is cut between characters`() {
        #expect(ScreenText.prefix("日本語", columns: 5) == "日本")
        #expect(ScreenText.cut("日本語", columns: 5) == "日本…")
        #expect(ScreenText.cut("日本語", columns: 4) == "日…")
        #expect(ScreenText.cut("abc", columns: 3) == "abc")
        #expect(ScreenText.cut("abc", columns: 1) == "…")
        #expect(ScreenText.cut("abc", columns: 0) == "")
        #expect(ScreenText.shortened("/a/long/path", columns: 7) == "/a/l…th")
        #expect(ScreenText.wrapped("日本語x", columns: 4) == ["日本", "語x"])
        #expect(ScreenText.wrapped("a\tb", columns: 9) == ["a   b"])
        #expect(ScreenText.wrapped("", columns: 9) == [""])
        for columns in 0..<12 {
            let text = "a日e\u{301}🙂\u{1B}x本"
            #expect(ScreenText.width(of: ScreenText.cut(text, columns: columns)) <= columns)
            #expect(ScreenText.width(of: ScreenText.shortened(text, columns: columns)) <= columns)
        }
    }

    @Test func `marks without end take no room`() {
        let text = "a" + String(repeating: "\u{301}", count: 100_000)
        #expect(ScreenText.clean(text).unicodeScalars.count == 5)
    }

    @Test func `a line keeps its columns and its style`() {
        var line = ScreenLine()
        line.append("日本語", columns: 5, .red)
        line.append("7", columns: 3, isRight: true)
        #expect(line.text == "日本…  7" && line.width == 8)
        #expect(line.fitted(to: 3).text == "日")
        #expect(
            String(decoding: line.bytes(isColoured: true), as: UTF8.self)
                == "\u{1B}[31m日本…\u{1B}[0m  7"
        )
        #expect(String(decoding: line.bytes(isColoured: false), as: UTF8.self) == "日本…  7")
        line.isSelected = true
        #expect(
            String(decoding: line.bytes(isColoured: false), as: UTF8.self)
                == "\u{1B}[7m日本…\u{1B}[0m\u{1B}[7m  7\u{1B}[0m"
        )
    }

    @Test func `only lines that changed are drawn again`() {
        var painter = ScreenPainter(isColoured: false)
        var screen = ExchangeInspector(rows: 10, columns: 40).screen()
        let first = String(decoding: painter.bytes(for: screen, columns: 40), as: UTF8.self)
        #expect(first.hasPrefix("\u{1B}[0m\u{1B}[2J\u{1B}[1;1H"))
        #expect(painter.bytes(for: screen, columns: 40) == [])
        screen.lines[3] = ScreenLine("x")
        let second = String(decoding: painter.bytes(for: screen, columns: 40), as: UTF8.self)
        #expect(second == "\u{1B}[4;1Hx\u{1B}[K")
        painter.forget()
        #expect(painter.bytes(for: screen, columns: 40).count > 100)
    }
}
