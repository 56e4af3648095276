// Who may import whom: the floor plan of Sources/README.md as a table, and what breaks it.

import Testing

/// What each module of `Sources` may import besides the standard library.
private let floorPlan: [String: Set<String>] = [
    // Floor 4
    "lupin": lupinModules.union(["ArgumentParser", "Logging", "Glibc"]),
    // Run while the package is built
    "lupin-man": ["LupinConsole", "LupinIO", "LupinCore", "Glibc"],
    "EmbedPages": ["PackagePlugin", "Foundation"],
    // Floor 3
    "LupinProxy": [
        "LupinUpstream", "LupinConfinement", "LupinIO", "LupinTLS", "LupinWire", "LupinCoding",
        "LupinRules", "LupinStore", "LupinRedis", "LupinInspector", "LupinRecords",
        "LupinCaching", "LupinPolicy", "LupinCore", "Logging", "Synchronization",
    ],
    // Below the engine, and never of it
    "LupinUpstream": [
        "LupinIO", "LupinTLS", "LupinWire", "LupinCoding", "LupinPolicy", "LupinCore",
        "Synchronization",
    ],
    "LupinConfinement": ["LupinIO", "LupinCore", "CLinux", "Glibc", "Synchronization"],
    // Floor 2: one foreign library each at most (a coding has its own), and never each other
    "LupinIO": ["LupinCore", "CLinux", "Glibc", "Synchronization"],
    "LupinTLS": ["LupinCore", "COpenSSL", "Synchronization"],
    "LupinWire": ["LupinCore", "CNghttp2"],
    "LupinCoding": ["LupinCore", "CZlib", "CBrotli", "CZstd"],
    "LupinRules": ["LupinPolicy", "LupinCore", "CYAML", "CLinux", "Glibc"],
    // Checksums come from zlib.
    "LupinStore": ["LupinCore", "CSQLite", "CZlib", "CLinux", "Glibc", "Synchronization"],
    "LupinRedis": ["LupinCore"],
    "LupinInspector": [],
    // Floor 1: each sees those below it; records and caching don't know each other
    "LupinConsole": ["LupinRecords", "LupinCaching", "LupinPolicy", "LupinCore"],
    "LupinRecords": ["LupinPolicy", "LupinCore"],
    "LupinCaching": ["LupinPolicy", "LupinCore"],
    "LupinPolicy": ["LupinCore"],
    "LupinCore": [],
]

private let lupinModules: Set<String> = [
    "LupinCore", "LupinPolicy", "LupinCaching", "LupinRecords", "LupinConsole", "LupinIO",
    "LupinTLS", "LupinWire", "LupinCoding", "LupinRules", "LupinStore", "LupinRedis",
    "LupinInspector", "LupinUpstream", "LupinConfinement", "LupinProxy",
]

/// What a module may import; nil when the plan doesn't know it.
private func allowedImports(of module: String) -> Set<String>? {
    if let allowed = floorPlan[module] { return allowed }
    let anyTest: Set<String> = ["Testing", "Foundation"]
    let anyProgram = anyTest.union(lupinModules).union([
        "LupinTestKit", "Logging", "Synchronization", "Glibc", "CLinux", "COpenSSL", "CNghttp2",
    ])
    switch module {
    case "TidyTests": return anyTest
    // A scripted peer waits for other threads, with a limit of time that no lock has.
    // It compresses what lupin only decompresses.
    case "LupinTestKit": return anyProgram.union(["Dispatch", "CBrotliEncoder", "CZstd"])
    case "ScenarioTests": return anyProgram
    // What is rehearsed are rules as people write them.
    case "LupinConsoleTests":
        return anyTest.union(floorPlan["LupinConsole"] ?? [])
            .union(["LupinConsole", "LupinRules", "LupinTestKit"])
    case "Fuzz": return anyProgram.union(["LupinFuzz"])
    case "FuzzTests": return anyTest.union(["LupinFuzz"])
    // A program with a command line of its own.
    case "Benchmarks": return anyProgram.union(["ArgumentParser"])
    default:
        // A module's tests may import what the module may, and the module.
        guard module.hasSuffix("Tests"), let own = floorPlan[String(module.dropLast(5))] else {
            return nil
        }
        return own.union(anyTest).union([String(module.dropLast(5)), "LupinTestKit"])
    }
}

/// Imports that go up, sideways or out of the house.
func importFindings(in file: SourceFile) -> [Finding] {
    guard file.isSwift, let module = file.module else { return [] }
    guard let allowed = allowedImports(of: module) else {
        return [file.finding(at: 1, "\(module) is not in the floor plan")]
    }
    return imports(of: file).compactMap { name, line in
        allowed.contains(name)
            ? nil : file.finding(at: line, "\(module) must not import \(name) (floor plan)")
    }
}

/// The names behind `import`, whatever attributes, access and kind stand around it.
private func imports(of file: SourceFile) -> [(name: String, line: Int)] {
    let kinds: Set<String> = [
        "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
    ]
    return file.occurrences(of: ["import"]).compactMap { i in
        if i > 0, file.tokens[i - 1].text == "." { return nil }
        let behind = file.tokens[(i + 1)...].drop { kinds.contains($0.text) }
        return behind.first.map { (name: $0.text, line: file.tokens[i].line) }
    }
}

/// Attributes and keywords that open a room's door wider than the plan allows.
func accessFindings(in file: SourceFile) -> [Finding] {
    let banned: [(pattern: [String], problem: String)] = [
        (["@", "testable"], "@testable: test through package access"),
        (["@", "_exported"], "@_exported: import what you use"),
        (["open", "class"], "open: public types are final or structs"),
        (["open", "func"], "open: public types are final or structs"),
        (["open", "var"], "open: public types are final or structs"),
        (["static", "let", "shared"], "static let shared: dependencies come through init"),
    ]
    return banned.flatMap { pattern, problem in
        file.occurrences(of: pattern).map { file.finding(at: file.tokens[$0].line, problem) }
    }
}

struct FloorPlanTests {
    @Test(arguments: [
        ("Sources/LupinCore/A.swift", "import LupinIO"),
        ("Sources/LupinCore/A.swift", "import LupinPolicy"),
        ("Sources/LupinRecords/A.swift", "import LupinCaching"),
        ("Sources/LupinWire/A.swift", "import LupinPolicy"),
        ("Sources/LupinCore/A.swift", "import Foundation"),
        ("Sources/LupinCore/A.swift", "package import struct Glibc.iovec"),
        ("Sources/LupinWire/A.swift", "@preconcurrency internal import LupinTLS"),
        ("Sources/LupinProxy/A.swift", "import COpenSSL"),
        ("Sources/LupinProxy/A.swift", "import CSQLite"),
        ("Sources/LupinUpstream/A.swift", "import LupinProxy"),
        ("Sources/LupinUpstream/A.swift", "import LupinRules"),
        ("Sources/LupinIO/A.swift", "import LupinConfinement"),
        ("Sources/LupinStore/A.swift", "import LupinIO"),
        ("Sources/LupinIO/A.swift", "#if canImport(X)\nimport LupinCore\n#endif\nimport XCTest"),
        ("Tests/LupinCoreTests/A.swift", "import LupinProxy"),
        ("Tests/ScenarioTests/A.swift", "import Dispatch"),
        ("Tests/Fuzz/HTTP1/A.swift", "import ArgumentParser"),
        ("Sources/Extra/A.swift", "let a = 1"),
    ])
    func `an import against the plan is found`(sample: (path: String, text: String)) {
        #expect(importFindings(in: SourceFile(path: sample.path, text: sample.text)).count == 1)
    }

    @Test(arguments: [
        ("Sources/LupinIO/A.swift", "package import LupinCore\nimport Glibc"),
        ("Sources/LupinCore/A.swift", "// import Foundation\nlet a = \"import Glibc\""),
        (
            "Tests/LupinWireTests/HTTP1/A.swift",
            "import LupinCore\nimport LupinWire\nimport Testing"
        ),
        ("Tests/LupinTestKit/A.swift", "import Dispatch"),
        ("Tests/Benchmarks/A.swift", "import ArgumentParser"),
        ("Package.swift", "import PackageDescription"),
    ])
    func `an import within the plan passes`(sample: (path: String, text: String)) {
        #expect(importFindings(in: SourceFile(path: sample.path, text: sample.text)) == [])
    }

    @Test func `an offender is named with its line`() {
        let file = SourceFile(path: "Sources/LupinTLS/A.swift", text: "\n\nimport LupinIO")
        #expect(
            importFindings(in: file).map(\.description) == [
                "Sources/LupinTLS/A.swift:3: LupinTLS must not import LupinIO (floor plan)"
            ]
        )
    }

    @Test(arguments: [
        "@testable import LupinCore", "@_exported import LupinCore", "open class A {}",
        "public struct A { open func f() {} }", "enum A { static let shared = 1 }",
    ])
    func `a door opened too wide is found`(text: String) {
        #expect(accessFindings(in: SourceFile(path: "A.swift", text: text)).count == 1)
    }

    @Test func `calling open is no open class`() {
        #expect(accessFindings(in: SourceFile(path: "A.swift", text: "open(path, 0)")) == [])
    }

    @Test func `the imports of the tree follow the plan`() {
        report(realTree.flatMap(importFindings))
    }

    @Test func `the tree opens no door too wide`() {
        report(realTree.flatMap(accessFindings))
    }
}
