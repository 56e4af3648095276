// Numbers from outside are read by the checked readers, and what is computed of them cannot trap.

import Testing

/// The file that reads digits for all others.
private let numberReader = "Sources/LupinCore/Message/NumberReader.swift"

/// Files that look like reading numbers and may, each with its reason.
private let numberExceptions: [String: String] = [
    "Sources/LupinWire/HTTP1/StartLines.swift": "three digits that were checked before",
    "Sources/LupinCore/Text/TextCursor.swift": "writes digits",
    "Sources/LupinCore/Text/JSONReader.swift": "a JSON number is a Double of a checked grammar",
    "Sources/LupinCore/Errors/ErrorBody.swift": "a weight of 0 to 1, checked as a Double",
    "Sources/LupinStore/DiskFolder.swift":
        "names of its own files, read by Swift's checked conversion: it can't import the reader",
    "Sources/LupinRules/RetryPolicyDecoder.swift": "a base of 1 to 10, checked as a Double",
]

private let integers: Set<String> = [
    "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
]

private let numberTypes = integers.union(["Double"])

/// Digits that are added up, and texts that become numbers, anywhere but in the readers.
func numberReadingFindings(in file: SourceFile) -> [Finding] {
    guard file.isShipped, file.path != numberReader, numberExceptions[file.path] == nil
    else { return [] }
    let sums = ["* 10 +", "* 10 & +", "< < 4 |"].flatMap { pattern in
        file.occurrences(of: pattern.split(separator: " ").map(String.init)).map { i in
            file.finding(at: file.tokens[i].line, "digits are added up by NumberReader")
        }
    }
    let texts = file.tokens.indices.filter { file.isTextConversion(at: $0) }.map { i in
        file.finding(at: file.tokens[i].line, "a text becomes a number by NumberReader")
    }
    return sums + texts
}

/// Arithmetic that can trap on numbers that were read, without a word on why it does not.
///
/// Followed are the names that what a reader gives is bound to, and what a function of the same
/// file gives that calls one: as far as the end of the function, and no further.
func numberArithmeticFindings(in file: SourceFile) -> [Finding] {
    guard file.isShipped, file.path != numberReader, numberExceptions[file.path] == nil,
        file.tokens.contains(where: { readerNames.contains($0.text) })
    else { return [] }
    let bounded = file.boundedLines
    let reading = file.readingFunctions
    var read: Set<String> = []
    var findings: [Finding] = []
    for i in file.tokens.indices {
        if ["func", "init"].contains(file.tokens[i].text) { read = [] }
        if reading.contains(file.tokens[i].text), let name = file.boundName(before: i) {
            read.insert(name)
        }
        let line = file.tokens[i].line
        guard !bounded.contains(line), let problem = file.trap(at: i, of: read) else { continue }
        findings.append(
            file.finding(at: line, problem + ": report, saturate, or say `// Bounded: …`")
        )
    }
    return findings
}

private let readerNames: Set<String> = ["NumberReader"]

extension SourceFile {
    /// The lines that a comment `Bounded: …` is about: its own and the two below it.
    fileprivate var boundedLines: Set<Int> {
        var lines: Set<Int> = []
        for comment in comments where comment.text.contains("Bounded: ") {
            // The comment may go on before the code begins.
            let isComment = Set(comments.map(\.line))
            var first = comment.line
            let isAlone = !tokens.contains { $0.line == first }
            while isAlone, isComment.contains(first) { first += 1 }
            lines.formUnion(comment.line...first + (isAlone ? 2 : 0))
        }
        return lines
    }

    private func text(_ i: Int) -> String { tokens.indices.contains(i) ? tokens[i].text : "" }

    /// Where the parenthesis at `start` closes.
    private func end(of start: Int) -> Int {
        var depth = 0
        for i in start..<tokens.count {
            if tokens[i].text == "(" { depth += 1 }
            if tokens[i].text == ")" { depth -= 1 }
            if depth == 0 { return i }
        }
        return tokens.count
    }

    /// Whether an initializer of numbers that begins here gives an optional: it reads a text.
    fileprivate func isTextConversion(at i: Int) -> Bool {
        guard numberTypes.contains(text(i)), text(i - 1) != ".", text(i + 1) == "("
        else { return false }
        let end = end(of: i + 1)
        for k in i + 2..<max(end, i + 2) where text(k) == "radix" && text(k + 1) == ":" {
            return true
        }
        // `exactly:`, which is checked.
        if text(i + 3) == ":" { return false }
        let isBound =
            text(i - 1) == "=" && ["let", "var"].contains(text(i - 3))
            && ["guard", "if", "while", ","].contains(text(i - 4))
        let isOpened = text(end + 1) == "?" && text(end + 2) == "?"
        let isCompared = ["=", "!"].contains(text(end + 1)) && text(end + 3) == "nil"
        let isMapped =
            text(i - 1) == "{" && ["flatMap", "compactMap"].contains(text(i - 2))
            || text(i - 1) == "{" && text(i - 2) == "(" && text(i - 3) == "flatMap"
        return isBound || isOpened || isCompared || isMapped
    }

    /// The readers, and the functions of the file that call one, or one that does.
    fileprivate var readingFunctions: Set<String> {
        var bodies: [String: Set<String>] = [:]
        for i in tokens.indices where text(i) == "func" {
            guard let start = tokens[i...].firstIndex(where: { $0.text == "{" }) else { continue }
            var depth = 0
            for k in start..<tokens.count {
                depth += text(k) == "{" ? 1 : text(k) == "}" ? -1 : 0
                bodies[text(i + 1), default: []].insert(text(k))
                if depth == 0 { break }
            }
        }
        var names = readerNames
        while true {
            let found = bodies.filter {
                !names.contains($0.key) && !$0.value.isDisjoint(with: names)
            }
            if found.isEmpty { return names }
            names.formUnion(found.keys)
        }
    }

    /// The name that the value of a call is bound to whose function stands at `i`.
    fileprivate func boundName(before i: Int) -> String? {
        var k = i - 1
        // `try`, and what the function belongs to.
        while [".", "Self", "self", "try"].contains(text(k)) || text(k + 1) == "." { k -= 1 }
        guard text(k) == "=" else { return nil }
        // `case .value(let name)`.
        if text(k - 1) == ")" { return text(k - 3) == "let" ? text(k - 2) : nil }
        return ["let", "var"].contains(text(k - 2)) ? text(k - 1) : nil
    }

    /// What can trap in the operation that stands here on one of the numbers that were read.
    fileprivate func trap(at i: Int, of read: Set<String>) -> String? {
        switch text(i) {
        case "*", "+", "-":
            guard text(i - 1) != "&", isRead(leftOf: i, read) || isRead(rightOf: i, read) else {
                return nil
            }
            return "`\(text(i))` may overflow"
        case let type where integers.contains(type) && text(i + 1) == "(":
            let isOfReader = text(i + 2) == "$" && isBehindReader(i)
            guard isOfReader || read.contains(text(i + 2)), text(i + 3) != ":" else { return nil }
            return "\(type)(…) may not hold the number"
        default: return nil
        }
    }

    /// Whether the operand on the left is a number that was read, or a part of what was.
    private func isRead(leftOf i: Int, _ read: Set<String>) -> Bool {
        var k = i - 1
        while text(k - 1) == "." { k -= 2 }
        return read.contains(text(k))
    }

    private func isRead(rightOf i: Int, _ read: Set<String>) -> Bool {
        read.contains(text(text(i + 1) == "=" ? i + 2 : i + 1))
    }

    /// Whether the closure that stands here is given what a reader gives.
    private func isBehindReader(_ i: Int) -> Bool {
        let lines = tokens[i].line - 3...tokens[i].line
        return tokens[..<i].reversed().prefix { lines.contains($0.line) }
            .contains { readerNames.contains($0.text) }
    }
}

struct NumberTests {
    private func file(_ text: String) -> SourceFile {
        SourceFile(path: "Sources/LupinCore/A.swift", text: text)
    }

    @Test(arguments: [
        "value = value * 10 + UInt64(digit)", "value = value &* 10 &+ UInt64(digit)",
        "value = value << 4 | digit", "guard let a = Int(text) else { return }",
        "if let a, let b = UInt16(text), b > 0 {}", "let a = Int(text) ?? 0",
        "let isNumber = Int(text) != nil", "let a = b.flatMap { Int64($0) }",
        "let a = UInt64(text, radix: 16)", "guard let a = Double(text) else { return }",
    ])
    func `reading digits by hand is found`(text: String) {
        #expect(numberReadingFindings(in: file(text)).count == 1)
    }

    @Test(arguments: [
        "let a = Int(b)", "let a = UInt16(exactly: b) ?? 0", "let a = String(b, radix: 16)",
        "let a = b * 100", "let a = b << 4", "let a = \"Int(text) ?? 0\"",
        "guard let a = NumberReader.unsigned(text) else { return }",
    ])
    func `other numbers pass`(text: String) {
        #expect(numberReadingFindings(in: file(text)) == [])
    }

    @Test func `the reader itself reads digits`() {
        let text = "value = value &* 10 &+ digit"
        for path in [numberReader, "Tests/A.swift"] {
            #expect(numberReadingFindings(in: SourceFile(path: path, text: text)) == [])
        }
    }

    @Test(arguments: [
        "let a = b * 1000", "let a = c + b", "let a = b + 1", "let a = b - 1", "let a = Int(b)",
        "total += b", "let a = b.first * 60", "let a = Int64(b) &+ c",
        "// Bounded: no more.\n\n\n\nlet a = Int(b)",
    ])
    func `arithmetic on what was read is found`(text: String) {
        for binding in [
            "let b = NumberReader.unsigned(text)",
            "guard case .value(let b) = NumberReader.a(text)",
            "func f() { NumberReader.a(b) }\nfunc g() { f() }\nlet b = g()",
            "func f() { NumberReader.a(b) }\nlet b = try A.f(text)",
        ] {
            #expect(numberArithmeticFindings(in: file(binding + "\n" + text)).count == 1)
        }
    }

    @Test(arguments: [
        "let a = b &* 1000", "let a = c &+ b", "let a = i + 1", "let a = c * d",
        "let a = Int(clamping: b)", "let a = Int(c)", "let a = b.addingSaturated(c)",
        "// Bounded: by 15 digits.\nlet a = Int(b)",
        "// Bounded: by 15 digits,\n// and more.\nlet a = Int(b)",
        "let a = Int(b)  // Bounded: by 15 digits.", "func f() { a = b + 1 }",
    ])
    func `what can't trap passes`(text: String) {
        let text = "let b = NumberReader.unsigned(text)\n" + text
        #expect(numberArithmeticFindings(in: file(text)) == [])
    }

    @Test func `a closure that is given what was read is looked at`() {
        let text = "NumberReader.unsigned(text)"
        #expect(numberArithmeticFindings(in: file(text + ".map { Int($0) }")).count == 1)
        #expect(numberArithmeticFindings(in: file(text + ".map { Int(clamping: $0) }")) == [])
        #expect(numberArithmeticFindings(in: file("texts.map { Int($0) }")) == [])
    }

    @Test func `numbers of the tree are read by the readers`() {
        report(realTree.flatMap(numberReadingFindings))
    }

    @Test func `numbers of the tree that were read can't trap`() {
        report(realTree.flatMap(numberArithmeticFindings))
    }
}
