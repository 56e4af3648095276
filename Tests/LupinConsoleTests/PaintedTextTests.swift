// Which parts of an explanation have a colour on a terminal, and that nothing else gets there.

import LupinConsole
import Testing

struct PaintedTextTests {
    @Test(arguments: [
        ("rules", "\u{1B}[1mrules\u{1B}[0m"),
        ("  ✓ a (line 3)", "  \u{1B}[32m✓\u{1B}[0m a (line 3)"),
        ("  ✗ b: no", "  \u{1B}[31m✗\u{1B}[0m b: no"),
        ("  + X-A: b", "  \u{1B}[32m+ X-A: b\u{1B}[0m"),
        ("  - Cookie: a", "  \u{1B}[31m- Cookie: a\u{1B}[0m"), ("    -x", "    -x"), ("", ""),
        ("  plain", "  plain"), ("  a\u{1B}[2Jb", "  a\\u001b[2Jb"),
    ])
    func `a line is painted by how it begins`(line: String, painted: String) {
        #expect(PaintedText.explanation(line) == painted)
        #expect(PaintedText.explanation("\(line)\n  end") == "\(painted)\n  end")
    }
}
