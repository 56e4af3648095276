// That words in comments, strings and raw identifiers are not taken for code.

import Testing

struct SwiftScannerTests {
    private func words(_ text: String) -> [String] {
        SourceFile(path: "Sample.swift", text: text).tokens.map(\.text)
    }

    @Test(arguments: [
        ("let a = b // c", ["let", "a", "=", "b"]),
        ("a /* b /* c */ d */ e", ["a", "e"]),
        ("a /* b\n c */ e", ["a", "e"]),
        (#"f("a \"b\" c") d"#, ["f", "(", ")", "d"]),
        (#"f("a \(b("c")) d") e"#, ["f", "(", "b", "(", ")", ")", "e"]),
        ("f(#\"a\" \\(b) \\#(c) d\"#) e", ["f", "(", "c", ")", "e"]),
        ("f(\"\"\"\n a \"b\" c\n \"\"\") d", ["f", "(", ")", "d"]),
        ("func `a b`() { c }", ["func", "(", ")", "{", "c", "}"]),
        ("if try !a as" + "! B", ["if", "try", "!", "a", "as" + "!", "B"]),
        ("#if DEBUG", ["#", "if", "DEBUG"]),
        ("a(\"not closed\nb", ["a", "(", "b"]),
        ("\"\\", []),
    ])
    func `only code becomes tokens`(sample: (text: String, words: [String])) {
        #expect(words(sample.text) == sample.words)
    }

    @Test func `tokens and comments know their line`() {
        let file = SourceFile(
            path: "Sample.swift",
            text: "a\n/// b\n// c\n\"\"\"\n\n\"\"\" d /* e\nf */"
        )
        #expect(file.tokens.map(\.line) == [1, 6])
        #expect(file.comments.map(\.line) == [2, 3, 6, 7])
        #expect(file.comments.map(\.isDocumentation) == [true, false, false, false])
        #expect(file.comments.first?.text == " b")
    }

    @Test func `a file knows its module`() {
        #expect(SourceFile(path: "Sources/LupinIO/Socket.swift", text: "").module == "LupinIO")
        #expect(SourceFile(path: "Tests/Fuzz/HTTP1/main.swift", text: "").module == "Fuzz")
        #expect(SourceFile(path: "Package.swift", text: "").module == nil)
        #expect(SourceFile(path: "Sources/README.md", text: "").module == nil)
    }
}
