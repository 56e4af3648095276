// Who may write to the terminal: two writers, which let nothing through that acts on it.

import Testing

/// The writers; the log, whose lines are escaped value by value; and what runs in a build.
private let writers: Set<String> = [
    "Sources/lupin/StandardOutput.swift", "Sources/lupin/StandardError.swift",
    "Sources/LupinProxy/Telemetry/RecordOutput.swift", "Sources/lupin-man/LupinMan.swift",
]

/// Output past the writers for terminals.
func outputFindings(in file: SourceFile) -> [Finding] {
    guard file.isShipped, !file.path.hasPrefix("Sources/LupinIO/"),
        !file.path.hasPrefix("Sources/LupinConfinement/"), !writers.contains(file.path)
    else { return [] }
    let declaresPrint = !file.occurrences(of: ["func", "print"]).isEmpty
    let calls = file.occurrences(of: ["print", "("]).filter { i in
        guard i > 0 else { return true }
        let before = file.tokens[i - 1].text
        if before == "." { return i > 1 && file.tokens[i - 2].text == "Swift" }
        return before != "func" && !declaresPrint
    }
    let others = ["debugPrint", "dump", "fputs", "puts", "putchar", "FileHandle", "STDOUT_FILENO"]
        .flatMap { word in file.occurrences(of: [word]) }
        .filter { $0 == 0 || file.tokens[$0 - 1].text != "." }
    let streams = file.occurrences(of: ["AppendFile", "(", "."])
    return (calls + others + streams).map { i in
        file.finding(
            at: file.tokens[i].line,
            "people's terminals are written to by StandardOutput and StandardError"
        )
    }
}

struct WriterTests {
    private func findings(_ path: String, _ text: String) -> [Finding] {
        outputFindings(in: SourceFile(path: path, text: text))
    }

    @Test(arguments: [
        "print(name)", "Swift.print(name)", "fputs(name, stderr)", "debugPrint(name)",
        "let out = FileHandle.standardOutput", "var f = try AppendFile(.standardOutput)",
    ])
    func `output past the writers is found`(text: String) {
        #expect(findings("Sources/lupin/A.swift", text).count == 1)
    }

    @Test(arguments: [
        "StandardOutput.print(name)", "StandardError.print(name)", "let a = \"print(x)\"",
        "func print(_ a: Int) {}\nprint(1)", "// print(a)",
    ])
    func `output by the writers passes`(text: String) {
        #expect(findings("Sources/lupin/A.swift", text) == [])
    }

    @Test func `everything that the program prints goes through the writers`() {
        report(realTree.flatMap(outputFindings))
    }
}
