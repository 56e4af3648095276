// That every text of the repository speaks of lupin alone, and says each list once.

import Testing

/// Folders of one machine; nobody else has them.
private let machinePaths = ["work", "root", "home"].map { "/\($0)/" }

/// Absolute paths of the machine that a text was written on.
func machinePathFindings(in file: SourceFile) -> [Finding] {
    var findings: [Finding] = []
    for (i, line) in file.lines.enumerated() {
        for path in machinePaths where line.contains(path) && standsAlone(path, in: line) {
            findings.append(file.finding(at: i + 1, "\(path)… is a folder of one machine"))
        }
    }
    return findings
}

/// Whether `path` opens a path in `line`, rather than going on from a name (`example.com/home/`).
private func standsAlone(_ path: String, in line: Substring) -> Bool {
    line.ranges(of: path).contains { range in
        guard range.lowerBound > line.startIndex else { return true }
        let before = line[line.index(before: range.lowerBound)]
        return !before.isLetter && !before.isNumber && !"~.-_}/*".contains(before)
    }
}

/// System packages installed elsewhere than by the one script that lists them.
func packageListFindings(in file: SourceFile) -> [Finding] {
    guard file.path != "docker/install-packages.sh" else { return [] }
    let command = "apt-get" + " install"
    return file.lines.enumerated().filter { $0.element.contains(command) }.map {
        file.finding(at: $0.offset + 1, "docker/install-packages.sh is the one list of packages")
    }
}

struct WordingTests {
    private func file(_ text: String) -> SourceFile { SourceFile(path: "a.md", text: text) }

    @Test(arguments: machinePaths)
    func `a folder of one machine is found`(path: String) {
        #expect(machinePathFindings(in: file("see\n`\(path)main/README.md`")).count == 1)
        #expect(machinePathFindings(in: file("\(path)main")).count == 1)
    }

    @Test(arguments: [
        "docker/root/", "https://x.dev/home/a", "~/root/", "work/ is done", "/workers/",
    ])
    func `other paths pass`(text: String) {
        #expect(machinePathFindings(in: file(text)) == [])
    }

    @Test func `a second list of packages is found`() {
        #expect(packageListFindings(in: file("RUN apt-get" + " install libssl-dev")).count == 1)
        #expect(packageListFindings(in: file("RUN docker/install-packages.sh")) == [])
    }

    @Test func `the tree names no folder of one machine`() {
        report(realTree.flatMap(machinePathFindings))
    }

    @Test func `system packages are listed once`() {
        report(realTree.flatMap(packageListFindings))
    }
}
