// What may be done only in certain rooms: `unsafe` code, locks, reading errno.

import Testing

/// The rooms with a foreign library, and so with `unsafe`.
private let unsafeRooms: Set<String> = [
    "LupinConfinement", "LupinIO", "LupinTLS", "LupinWire", "LupinCoding", "LupinRules",
    "LupinStore",
]

/// `unsafe` outside its rooms, or without the invariant it rests on; promises made to the compiler.
func unsafeFindings(in file: SourceFile) -> [Finding] {
    var findings: [Finding] = []
    for i in file.occurrences(of: ["@", "unchecked", "Sendable"]) {
        findings.append(
            file.finding(at: file.tokens[i].line, "nothing is Sendable by mere promise")
        )
    }
    for i in file.occurrences(of: ["nonisolated", "(", "unsafe", ")"])
    where !file.path.hasSuffix("/LupinIO/Loop/Executor.swift") {
        findings.append(
            file.finding(
                at: file.tokens[i].line,
                "nonisolated(unsafe) stands in LupinIO/Loop/Executor.swift only"
            )
        )
    }
    guard file.isShipped, let module = file.module else { return findings }
    let reasons = file.comments.filter { $0.text.contains("Safety:") }.map(\.line)
    let declarations = topLevelDeclarations(of: file)
    for line in unsafeLines(of: file) {
        if !unsafeRooms.contains(module) {
            findings.append(file.finding(at: line, "unsafe belongs to floor 2, not to \(module)"))
        } else if !declarations.contains(where: { declaration in
            declaration.contains(line) && reasons.contains(where: declaration.contains)
        }) {
            findings.append(
                file.finding(
                    at: line,
                    "unsafe in a declaration where no `// Safety:` names the invariant"
                )
            )
        }
    }
    return findings
}

/// The lines with the keyword, without the one that the language forces on floor 3.
private func unsafeLines(of file: SourceFile) -> [Int] {
    var lines: [Int] = []
    for i in file.occurrences(of: ["unsafe"]) where lines.last != file.tokens[i].line {
        let line = file.tokens[i].line
        let isMarked = i >= 2 && file.tokens[i - 2].text == "nonisolated"
        let isWorkersExecutor =
            file.path == "Sources/LupinProxy/Worker.swift"
            && file.lines[line - 1].contains("unownedExecutor")
        if !isMarked && !isWorkersExecutor { lines.append(line) }
    }
    return lines
}

/// The lines of each type, extension and function of the file, with the comments above it.
private func topLevelDeclarations(of file: SourceFile) -> [ClosedRange<Int>] {
    var declarations: [ClosedRange<Int>] = []
    var start = 1
    var depth = 0
    for token in file.tokens {
        if token.text == "{" { depth += 1 }
        guard token.text == "}" else { continue }
        depth -= 1
        if depth == 0, token.line >= start {
            declarations.append(start...token.line)
            start = token.line + 1
        }
    }
    return declarations + [start...max(start, file.lines.count)]
}

/// The types that `Shared.swift` lists in its documentation comments, in backticks.
func sharedTypes(in tree: [SourceFile]) -> Set<String> {
    let shared = tree.first { $0.path == "Sources/LupinProxy/Shared.swift" }
    let text = shared?.comments.filter(\.isDocumentation).map(\.text).joined(separator: "\n") ?? ""
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return Set(parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) })
}

/// Locks outside the types that `Shared.swift` lists and the two files that hand work over.
func lockFindings(in file: SourceFile, sharedTypes: Set<String>) -> [Finding] {
    let doors = ["Sources/LupinIO/Loop/Mailbox.swift", "Sources/LupinIO/Loop/HelperThread.swift"]
    guard file.isShipped, !doors.contains(file.path) else { return [] }
    var findings: [Finding] = []
    var enclosing: [String?] = []
    var declared: String?
    for (i, token) in file.tokens.enumerated() {
        switch token.text {
        case "struct", "class", "actor", "enum", "extension":
            if let name = file.tokens[(i + 1)...].first?.text, name.first?.isUppercase == true {
                declared = name
            }
        case "{":
            enclosing.append(declared)
            declared = nil
        case "}":
            _ = enclosing.popLast()
        case let word where isLock(word):
            if enclosing.contains(where: { $0.map(sharedTypes.contains) ?? false }) { continue }
            let owner = enclosing.compactMap(\.self).last ?? "no type"
            findings.append(
                file.finding(
                    at: token.line,
                    "\(word) in \(owner), which Sources/LupinProxy/Shared.swift doesn't list"
                )
            )
        default: break
        }
    }
    return findings
}

private func isLock(_ word: String) -> Bool {
    let names: Set<String> = [
        "Mutex", "NSLock", "NSRecursiveLock", "NSCondition", "DispatchQueue", "DispatchSemaphore",
    ]
    let prefixes = ["pthread_mutex", "pthread_rwlock", "pthread_cond", "pthread_spin", "sem_"]
    return names.contains(word) || prefixes.contains { word.hasPrefix($0) }
}

/// errno read elsewhere than where system calls are made.
func errnoFindings(in file: SourceFile) -> [Finding] {
    // One place a room: rooms of the same floor can't lend each other theirs.
    let places = ["Sources/LupinIO/SystemCall.swift", "Sources/LupinStore/DiskCall.swift"]
    guard file.isShipped, !places.contains(file.path) else { return [] }
    return file.occurrences(of: ["errno"]).map {
        file.finding(
            at: file.tokens[$0].line,
            "errno is read in LupinIO/SystemCall.swift and LupinStore/DiskCall.swift only"
        )
    }
}

struct RoomTests {
    private func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test(arguments: [
        ("Sources/LupinCore/A.swift", "// Safety: none\nlet a = unsafe b"),
        ("Sources/LupinProxy/A.swift", "var unownedExecutor: E { unsafe loop.e() }"),
        ("Sources/LupinProxy/Worker.swift", "let a = unsafe b"),
        ("Sources/LupinIO/A.swift", "let a = unsafe b"),
        ("Sources/LupinIO/A.swift", "// Safety: c\nfunc c() {}\nfunc a() { unsafe b() }"),
        ("Sources/LupinTLS/A.swift", "nonisolated(unsafe) var a = 1"),
        ("Tests/LupinIOTests/A.swift", "struct A: @unchecked " + "Sendable {}"),
    ])
    func `unsafe code in the wrong place is found`(sample: (path: String, text: String)) {
        #expect(unsafeFindings(in: file(sample.path, sample.text)).count == 1)
    }

    @Test(arguments: [
        ("Sources/LupinIO/A.swift", "// Safety: b outlives a.\nlet a = unsafe b"),
        (
            "Sources/LupinWire/A.swift",
            "class A {\n// Safety: c\nlet c: D\nfunc a() { unsafe b() }\n}"
        ),
        ("Sources/LupinIO/Loop/Executor.swift", "nonisolated(unsafe) var a = 1"),
        ("Sources/LupinProxy/Worker.swift", "var unownedExecutor: E { unsafe loop.e() }"),
        ("Sources/LupinCore/A.swift", "// unsafe\nlet a = \"unsafe\""),
    ])
    func `unsafe code in its place passes`(sample: (path: String, text: String)) {
        #expect(unsafeFindings(in: file(sample.path, sample.text)) == [])
    }

    @Test(arguments: [
        ("Sources/LupinProxy/A.swift", "final class A { let lock = Mutex(0) }"),
        ("Sources/LupinProxy/A.swift", "final class TokenStore {}\nlet lock = Mutex(0)"),
        ("Sources/LupinIO/A.swift", "struct A { var m = pthread_mutex_t() }"),
    ])
    func `a lock outside the listed types is found`(sample: (path: String, text: String)) {
        let findings = lockFindings(
            in: file(sample.path, sample.text),
            sharedTypes: ["TokenStore"]
        )
        #expect(findings.count == 1)
    }

    @Test(arguments: [
        ("Sources/LupinProxy/A.swift", "final class TokenStore { let lock = Mutex(0) }"),
        ("Sources/LupinProxy/A.swift", "extension TokenStore { class B { let lock = Mutex(0) } }"),
        ("Sources/LupinIO/Loop/Mailbox.swift", "final class A { let lock = Mutex(0) }"),
        ("Tests/LupinTestKit/A.swift", "final class A { let lock = Mutex(0) }"),
    ])
    func `a lock in a listed type passes`(sample: (path: String, text: String)) {
        let findings = lockFindings(
            in: file(sample.path, sample.text),
            sharedTypes: ["TokenStore"]
        )
        #expect(findings == [])
    }

    @Test func `the listed types are those in backticks in Shared's documentation`() {
        let shared = file(
            "Sources/LupinProxy/Shared.swift",
            "// `No`\n/// - settings: `SettingsBox`\n/// - tokens: `TokenStore`\nstruct Shared {}"
        )
        #expect(sharedTypes(in: [shared]) == ["SettingsBox", "TokenStore"])
    }

    @Test func `errno outside SystemCall is found`() {
        let text = "if read() < 0 { throw E(errno) }"
        #expect(errnoFindings(in: file("Sources/LupinIO/Socket.swift", text)).count == 1)
        #expect(errnoFindings(in: file("Sources/LupinIO/SystemCall.swift", text)) == [])
        #expect(errnoFindings(in: file("Sources/LupinStore/DiskFolder.swift", text)).count == 1)
        #expect(errnoFindings(in: file("Sources/LupinStore/DiskCall.swift", text)) == [])
    }

    @Test func `unsafe code of the tree is in its rooms`() {
        report(realTree.flatMap(unsafeFindings))
    }

    @Test func `locks of the tree are where Shared lists them`() {
        let listed = sharedTypes(in: realTree)
        report(realTree.flatMap { lockFindings(in: $0, sharedTypes: listed) })
    }

    @Test func `errno of the tree is read in one place`() {
        report(realTree.flatMap(errnoFindings))
    }
}
