// The habits that a machine can see: words, first lines, widths, lengths and names of files.

import Testing

/// Calls that can stop the process, and notes to do something later.
func wordFindings(in file: SourceFile) -> [Finding] {
    let banned = [
        ("fatalError", "programmer errors are preconditions with the broken invariant in words"),
        ("try" + "!", "an error is handled or thrown on"),
        ("as" + "!", "a cast that can fail is checked"),
    ]
    let calls = banned.flatMap { word, problem in
        file.occurrences(of: [word]).map { i in
            file.finding(at: file.tokens[i].line, "\(word): \(problem)")
        }
    }
    let notes = file.comments.filter { comment in
        comment.text.split { !$0.isLetter }.contains { promises.contains(String($0)) }
    }
    return calls + notes.map { file.finding(at: $0.line, "finish it or leave it out") }
}

private let promises: Set<String> = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]

/// A file that doesn't open with a sentence saying what it decides.
func firstLineFindings(in file: SourceFile) -> [Finding] {
    // SwiftPM wants its version on a manifest's first line.
    let skipped = file.path.hasSuffix("Package.swift") ? 1 : 0
    guard file.isSwift else { return [] }
    let opening = file.lines.dropFirst(skipped).prefix { $0.hasPrefix("// ") }
    let sentence = opening.joined(separator: " ")
    let hasWords = sentence.split(separator: " ").count >= 4
    if hasWords, sentence.hasSuffix(".") || sentence.hasSuffix("?") { return [] }
    return [
        file.finding(at: 1 + skipped, "the first line is one `// sentence.` on what it decides")
    ]
}

private let columnsMax = 100
private let linesMax = 600

/// Lines wider than a screen and files longer than a sitting.
func sizeFindings(in file: SourceFile) -> [Finding] {
    guard file.isSwift else { return [] }
    var findings: [Finding] = []
    for (i, line) in file.lines.enumerated()
    where line.utf8.count > columnsMax && line.count > columnsMax {
        findings.append(file.finding(at: i + 1, "\(line.count) columns, \(columnsMax) at most"))
    }
    if file.lines.count > linesMax {
        findings.append(
            file.finding(
                at: linesMax,
                "\(file.lines.count) lines; which second question does the file answer?"
            )
        )
    }
    return findings
}

/// Names that say nothing, and so let a file grow.
func nameFindings(in file: SourceFile) -> [Finding] {
    let drawers: Set<String> = [
        "main", "session", "util", "utils", "utilities", "helper", "helpers", "misc", "common",
    ]
    guard file.isSwift else { return [] }
    let stem = file.stem.lowercased()
    let isTestProgram = stem == "main" && file.path.hasPrefix("Tests/")
    let isOtherProxy = stem == "proxy" && file.path != "Sources/LupinProxy/Proxy.swift"
    guard drawers.contains(stem) && !isTestProgram || isOtherProxy || stem.contains("+part") else {
        return []
    }
    return [file.finding(at: 1, "a file is named by its main type or its question")]
}

struct HabitTests {
    private func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test(arguments: [
        "fatalError" + "(\"no\")", "let a = try" + "! b()", "let a = b as" + "! C",
        "// TO" + "DO: later", "/* FIX" + "ME */", "let a = 1 /// X" + "XX",
    ])
    func `a word that has no place here is found`(text: String) {
        #expect(wordFindings(in: file("A.swift", text)).count == 1)
    }

    @Test(arguments: [
        "let a = \"fatalError\"", "let a = try? b()", "let a = b as? C", "if try !a() {}",
        "// A mastodon.",
    ])
    func `other words pass`(text: String) {
        #expect(wordFindings(in: file("A.swift", text)) == [])
    }

    @Test(arguments: [
        ("A.swift", "import Testing"), ("A.swift", "/// What a thing is made of."),
        ("A.swift", "//\n// What a thing is made of."), ("A.swift", "// A.swift"),
        ("A.swift", "// What a thing is made of"), ("A.swift", ""),
        ("Package.swift", "// swift-tools-version: 6.2\nimport PackageDescription"),
    ])
    func `a file without an opening sentence is found`(sample: (path: String, text: String)) {
        #expect(firstLineFindings(in: file(sample.path, sample.text)).count == 1)
    }

    @Test(arguments: [
        ("A.swift", "// What a thing is made of.\n\nstruct A {}"),
        ("A.swift", "// What a thing is made of,\n// and of what not."),
        ("Package.swift", "// swift-tools-version: 6.2\n// What a package is made of."),
        ("a.yaml", "a: 1"),
    ])
    func `a file with an opening sentence passes`(sample: (path: String, text: String)) {
        #expect(firstLineFindings(in: file(sample.path, sample.text)) == [])
    }

    @Test(arguments: [
        (String(repeating: "a", count: 100), 0), (String(repeating: "a", count: 101), 1),
        (String(repeating: "§", count: 100), 0), (String(repeating: "\n", count: 599), 0),
        (String(repeating: "\n", count: 600), 1),
    ])
    func `wide lines and long files are found`(sample: (text: String, count: Int)) {
        #expect(sizeFindings(in: file("A.swift", sample.text)).count == sample.count)
    }

    @Test(arguments: [
        ("Sources/lupin/main.swift", 1), ("Tests/Fuzz/HTTP1/main.swift", 0),
        ("Sources/LupinTLS/Session.swift", 1), ("Sources/LupinTLS/TLSSession.swift", 0),
        ("Tests/LupinTestKit/Helpers.swift", 1), ("Sources/LupinProxy/Proxy.swift", 0),
        ("Sources/lupin/Proxy.swift", 1), ("Sources/LupinProxy/Worker+Part2.swift", 1),
    ])
    func `a drawer is known by its name`(sample: (path: String, count: Int)) {
        #expect(nameFindings(in: file(sample.path, "")).count == sample.count)
    }

    @Test func `the tree holds no word that has no place here`() {
        report(realTree.flatMap(wordFindings))
    }

    @Test func `every file of the tree opens with what it decides`() {
        report(realTree.flatMap(firstLineFindings))
    }

    @Test func `lines and files of the tree keep their size`() {
        report(realTree.flatMap(sizeFindings))
    }

    @Test func `no file of the tree is a drawer`() {
        report(realTree.flatMap(nameFindings))
    }
}
