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
/// Of a file of the program, and of a function in it.
private let sourceLinesMax = 500
private let functionLinesMax = 70

/// Lines wider than a screen and files longer than a sitting.
func sizeFindings(in file: SourceFile) -> [Finding] {
    guard file.isSwift else { return [] }
    var findings: [Finding] = []
    for (i, line) in file.lines.enumerated()
    where line.utf8.count > columnsMax && line.count > columnsMax {
        findings.append(file.finding(at: i + 1, "\(line.count) columns, \(columnsMax) at most"))
    }
    let linesMax = file.isSource ? sourceLinesMax : linesMax
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

/// Functions of the program that don't fit a screen.
///
/// Formatted code ends a function at the indentation at which it began it.
func functionFindings(in file: SourceFile) -> [Finding] {
    guard file.isSwift, file.isSource else { return [] }
    var findings: [Finding] = []
    for (i, line) in file.lines.enumerated() where line.beginsFunction && !line.isWholeBlock {
        let indentation = line.indentation
        var count = 1
        for next in file.lines[(i + 1)...] {
            count += 1
            if next.isBlank || next.indentation > indentation { continue }
            // A requirement of a protocol has no body.
            if next.indentation < indentation { count = 0 }
            if next.trimmed.hasPrefix(")"), !next.isWholeBlock { continue }
            break
        }
        if count > functionLinesMax {
            findings.append(
                file.finding(at: i + 1, "\(count) lines, \(functionLinesMax) at most in a function")
            )
        }
    }
    return findings
}

extension SourceFile {
    fileprivate var isSource: Bool { path.hasPrefix("Sources/") }
}

extension StringProtocol {
    fileprivate var indentation: Int { prefix { $0 == " " }.count }
    fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }
    fileprivate var trimmed: SubSequence { drop { $0 == " " } }
    fileprivate var isWholeBlock: Bool { contains("{") && hasSuffix("}") }
    fileprivate var beginsFunction: Bool {
        let code = trimmed
        guard !code.hasPrefix("//"), !code.hasPrefix("case ") else { return false }
        let head = code.prefix { $0 != "(" && $0 != "{" && $0 != "\"" && $0 != "=" }
        let words = head.split(separator: " ")
        return words.contains("func") || words.last.map { $0 == "init" || $0 == "init?" } ?? false
    }
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
        ("Sources/A.swift", 70, 0), ("Sources/A.swift", 71, 1), ("Tests/A.swift", 71, 0),
    ])
    func `a function that fills more than a screen is found`(
        sample: (path: String, lines: Int, count: Int)
    ) {
        let body = String(repeating: "        a()\n", count: sample.lines - 2)
        for head in ["    func f() {", "    package init?(a: Int) {", "    func f(\n    ) {"] {
            let lines = head.split(separator: "\n").count - 1
            let text = "struct A {\n\(head)\n\(body.dropLast(12 * lines))    }\n}\n"
            #expect(functionFindings(in: file(sample.path, text)).count == sample.count)
        }
        let short = "protocol P {\n    func a()\n    func b() { c() }\n\(body)    }\n}\n"
        #expect(functionFindings(in: file(sample.path, short)) == [])
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
        report(realTree.flatMap(sizeFindings) + realTree.flatMap(functionFindings))
    }

    @Test func `no file of the tree is a drawer`() {
        report(realTree.flatMap(nameFindings))
    }
}
