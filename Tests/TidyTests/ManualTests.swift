// That the README is short, every page of the manual opens well, and no link leads nowhere.

import Testing

private let manual = "Sources/lupin/lupin.docc/"
private let readmeLinesMax = 200

/// Links to files that don't exist, and to headings that their files don't have.
func linkFindings(in file: SourceFile, tree: [SourceFile]) -> [Finding] {
    var findings: [Finding] = []
    var isCode = false
    for (i, line) in file.lines.enumerated() {
        if line.hasPrefix("```") { isCode.toggle() }
        if isCode { continue }
        for found in line.matches(of: /\]\(([^)]+)\)/) {
            let target = found.output.1
            if target.hasPrefix("http") { continue }
            let parts = target.split(separator: "#", omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? file.path : resolved(parts[0], from: file.path)
            guard tree.contains(where: { $0.path == path || $0.path.hasPrefix("\(path)/") }) else {
                findings.append(file.finding(at: i + 1, "\(target): there is no \(path)"))
                continue
            }
            guard parts.count > 1, let page = tree.first(where: { $0.path == path }) else {
                continue
            }
            if !anchors(of: page).contains(String(parts[1])) {
                findings.append(file.finding(at: i + 1, "\(target): there is no such heading"))
            }
        }
    }
    return findings
}

/// A path from the root, for one that a file names.
private func resolved(_ link: Substring, from path: String) -> String {
    var parts = path.split(separator: "/").dropLast()
    for part in link.split(separator: "/") {
        if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
}

/// The headings of a page as GitHub names them in addresses.
private func anchors(of page: SourceFile) -> Set<String> {
    let headings = page.lines.filter { $0.hasPrefix("#") }.map { $0.drop { $0 == "#" }.dropFirst() }
    return Set(
        headings.map { heading in
            String(
                heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                    .map { $0 == " " ? "-" : $0 }
            )
        }
    )
}

/// A page that doesn't begin with a title and a sentence, which `lupin help` lists.
func openingFindings(in file: SourceFile) -> [Finding] {
    let lines = file.lines
    let isGood =
        lines.count > 3 && lines[0].hasPrefix("# ") && lines[1].isEmpty
        && lines[2].contains(" ")
    return isGood ? [] : [file.finding(at: 1, "a page is a title, an empty line and a sentence")]
}

struct ManualTests {
    private func file(_ path: String, _ text: String) -> SourceFile {
        SourceFile(path: path, text: text)
    }

    @Test func `a link that leads nowhere is found`() {
        let tree = [
            file("A/b.md", "# One two\n## Three: four\n"), file("c/d.txt", ""),
            file("A/e.md", "# E"),
        ]
        func count(_ text: String) -> Int {
            linkFindings(in: file("A/b.md", text), tree: tree).count
        }
        #expect(count("[e](e.md) [d](../c/d.txt) [c](../c) [t](b.md#three-four)") == 0)
        #expect(count("[x](https://a.example/) `[y]`\n```\n[z](z.md)\n```") == 0)
        #expect(count("[e](c.md)\n[d](../d.txt)\n[t](b.md#three)") == 3)
    }

    @Test func `a page without an opening is found`() {
        #expect(openingFindings(in: file("a.md", "# A\n\nWhat it is.\n")).isEmpty)
        #expect(openingFindings(in: file("a.md", "A page.\n")).count == 1)
        #expect(openingFindings(in: file("a.md", "# A\nWhat it is.\n\n")).count == 1)
    }

    @Test func `links in the README and the manual lead somewhere`() {
        let pages = realTree.filter { $0.path == "README.md" || $0.path.hasPrefix(manual) }
        #expect(pages.count > 10)
        report(pages.flatMap { linkFindings(in: $0, tree: realTree) })
    }

    @Test func `every page of the manual opens with a title and a sentence`() {
        report(realTree.filter { $0.path.hasPrefix(manual) }.flatMap(openingFindings))
    }

    @Test func `the README is short and leads to every page`() throws {
        let readme = try #require(realTree.first { $0.path == "README.md" })
        let text = readme.lines.joined(separator: "\n")
        #expect(readme.lines.count - 1 <= readmeLinesMax)
        for page in realTree.filter({ $0.path.hasPrefix(manual) }) {
            #expect(text.contains("](\(page.path))"), "\(page.path)")
        }
    }
}
