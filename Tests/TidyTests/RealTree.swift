// The checkout that the tests were built from: which of its files the checks read.

import Foundation
import Testing

/// Every text file of the checkout that belongs to lupin, read once.
let realTree: [SourceFile] = {
    let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let places = [
        ".ci", ".gitignore", ".swift-format", "Package.swift", "README.md", "Sources", "Tests",
        "config", "docker",
    ]
    let inside = places.flatMap { place in
        let names = try? FileManager.default.subpathsOfDirectory(
            atPath: root.appending(path: place).path
        )
        return names.map { $0.sorted().map { "\(place)/\($0)" } } ?? []
    }
    // Folders and whatever isn't text fail to be read, and are left out.
    return (places + inside).compactMap { path in
        let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8)
        return text.map { SourceFile(path: path, text: $0) }
    }
}()

/// Fails the running test once for each finding.
func report(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings {
        Issue.record(Comment(rawValue: finding.description), sourceLocation: sourceLocation)
    }
}

struct RealTreeTests {
    @Test func `the tree is found and read`() {
        let paths = Set(realTree.map(\.path))
        #expect(paths.contains("Package.swift"))
        #expect(paths.contains("Tests/TidyTests/RealTree.swift"))
        #expect(paths.contains("Sources/README.md"))
    }
}
