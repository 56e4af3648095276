// That the tree drawn in Sources/README.md is the tree of folders and files.

import Testing

private let page = "Sources/README.md"

/// Differences between the drawn tree and the files of `Sources`.
///
/// The tree is the fenced block that opens with `Sources/`: two spaces a level, a folder is a name
/// with `/` and some words about it, any other line lists files, Swift ones without `.swift`.
func treeFindings(page file: SourceFile, files: [String]) -> [Finding] {
    let drawn = drawnTree(of: file)
    guard !drawn.isEmpty else {
        return [file.finding(at: 1, "no block that opens with `Sources/`")]
    }
    let real = files.filter { $0.hasPrefix("Sources/") && $0 != page }
    let folders = Set(real.flatMap(parents))
    var findings: [Finding] = []
    var seen: Set<String> = []
    for (path, line) in drawn {
        let exists = path.hasSuffix("/") ? folders.contains(path) : real.contains(path)
        if !exists { findings.append(file.finding(at: line, "\(path) doesn't exist")) }
        if !seen.insert(path).inserted {
            findings.append(file.finding(at: line, "\(path) is named twice"))
        }
    }
    for path in (Array(folders) + real).sorted() where !seen.contains(path) {
        findings.append(file.finding(at: drawn[0].line, "\(path) is missing from the tree"))
    }
    return findings
}

/// Paths from the root with the lines that name them; folders end with `/`.
private func drawnTree(of file: SourceFile) -> [(path: String, line: Int)] {
    guard let start = file.lines.firstIndex(of: "Sources/") else { return [] }
    var result: [(path: String, line: Int)] = [(path: "Sources/", line: start + 1)]
    var above = ["Sources/"]
    for (i, line) in file.lines.enumerated().dropFirst(start + 1) {
        if line.hasPrefix("```") { break }
        let words = line.split(separator: " ")
        guard let first = words.first else { continue }
        let depth = max(1, line.prefix { $0 == " " }.count / 2)
        above.removeSubrange(min(depth, above.count)...)
        let folder = above.joined()
        if first.hasSuffix("/") {
            above.append(String(first))
            result.append((path: folder + first, line: i + 1))
        } else {
            for word in words {
                let name = word.contains(".") ? String(word) : "\(word).swift"
                result.append((path: folder + name, line: i + 1))
            }
        }
    }
    return result
}

private func parents(of path: String) -> [String] {
    let parts = path.split(separator: "/")
    return parts.indices.dropFirst().map { parts[..<$0].joined(separator: "/") + "/" }
}

struct TreePageTests {
    private let files = [
        "Package.swift", "Sources/README.md", "Sources/A/B/C.swift", "Sources/A/D.swift",
        "Sources/A/E.swift", "Sources/F/g.h",
    ]

    private func findings(_ tree: [String]) -> [String] {
        let text = (["Text.", "```"] + tree + ["```", "  Z/"]).joined(separator: "\n")
        return treeFindings(page: SourceFile(path: page, text: text), files: files)
            .map(\.description)
    }

    @Test func `the tree as it is passes`() {
        let tree = ["Sources/", "  A/  words/ about it", "    D", "    E", "    B/", "      C"]
        #expect(findings(tree + ["  F/", "    g.h"]) == [])
        #expect(
            findings(["Sources/", "  F/", "    g.h", "  A/", "    D E", "    B/", "      C"]) == []
        )
    }

    @Test func `a name too many, too few or twice is found`() {
        #expect(
            findings(["Sources/", "  A/", "    D H", "    B/", "      C C", "  F/", "    g.h"]) == [
                "Sources/README.md:5: Sources/A/H.swift doesn't exist",
                "Sources/README.md:7: Sources/A/B/C.swift is named twice",
                "Sources/README.md:3: Sources/A/E.swift is missing from the tree",
            ]
        )
        #expect(findings(["Sources/", "  A/", "    D E", "  F/", "    g.h"]).count == 2)
    }

    @Test func `a page without the tree is found`() {
        #expect(findings([]).count == 1)
    }

    @Test func `the page draws the tree as it is`() throws {
        let file = try #require(realTree.first { $0.path == page })
        report(treeFindings(page: file, files: realTree.map(\.path)))
    }
}
