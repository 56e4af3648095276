// The README and the pages of the manual as tests see them: their blocks, and the commands in them.
import Foundation
import Testing

/// A fenced block of a page.
struct PageBlock: Sendable, CustomTestStringConvertible {
    let page: String
    /// Of the opening fence.
    let line: Int
    /// The words behind the fence, such as `yaml` and `rules`.
    let info: [String]
    /// The text of the nearest heading above it.
    let heading: String
    /// What a comment `<!-- with:` directly above it adds.
    let addition: String
    let text: String

    var testDescription: String { "\(page):\(line)" }

    /// The whole rules file that a block of YAML stands for.
    ///
    /// `yaml` is a whole file, and so is `yaml rejected`. `yaml settings` lacks `lupin: 1`, and
    /// `yaml rules` is items of `rules:`.
    var rulesFile: String {
        switch info.dropFirst().first {
        case "settings": "lupin: 1\n\(addition)\(text)"
        case "rules": "lupin: 1\n\(addition)rules:\n\(text)"
        default: text
        }
    }
}

/// A command of lupin in a page: in a block of shell, or in the text.
struct PageCommand: Sendable, CustomTestStringConvertible {
    let place: String
    let text: String

    var testDescription: String { "\(place): \(text)" }
}

struct ManualPage: Sendable {
    let name: String
    let text: String

    static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "../../..").standardizedFileURL

    /// The pages that the program has, by their names without `.md`.
    static let manual: [ManualPage] = {
        let folder = root.appending(path: "Sources/lupin/lupin.docc")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().compactMap { name in
            let text = try? String(contentsOf: folder.appending(path: name), encoding: .utf8)
            return text.map { ManualPage(name: String(name.dropLast(3)), text: $0) }
        }
    }()

    static let readme = ManualPage(
        name: "README",
        text: (try? String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)) ?? ""
    )

    static let blocks = ([readme] + manual).flatMap(\.blocks)

    /// Each command once, at its first place.
    static let commands = {
        var known: Set<String> = []
        return ([readme] + manual).flatMap(\.commands).filter { known.insert($0.text).inserted }
    }()

    /// The block in that language below a heading.
    static func block(_ language: String, under heading: String, of page: String) -> PageBlock? {
        blocks.first { $0.page == page && $0.heading == heading && $0.info.first == language }
    }

    var headings: [String] {
        proseLines.map(\.text).filter { $0.hasPrefix("#") }.map { line in
            line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
        }
    }

    var blocks: [PageBlock] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var blocks: [PageBlock] = []
        var heading = ""
        var addition = ""
        var i = 0
        while i < lines.count {
            let line = lines[i]
            if line.hasPrefix("```") {
                let body = lines[(i + 1)...].prefix { !$0.hasPrefix("```") }
                blocks.append(
                    PageBlock(
                        page: name,
                        line: i + 1,
                        info: line.dropFirst(3).split(separator: " ").map(String.init),
                        heading: heading,
                        addition: addition,
                        text: body.map { $0 + "\n" }.joined()
                    )
                )
                addition = ""
                i += body.count + 1
            } else if line == "<!-- with:" {
                let body = lines[(i + 1)...].prefix { $0 != "-->" }
                addition = body.map { $0 + "\n" }.joined()
                i += body.count + 1
            } else if line.hasPrefix("#") {
                heading = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
            }
            i += 1
        }
        return blocks
    }

    /// Every `lupin …` where a shell would run it.
    var commands: [PageCommand] {
        let shell = blocks.filter { $0.info.first == "sh" }.flatMap { block in
            block.text.split(separator: "\n").map { (block.testDescription, String($0)) }
        }
        let spans = proseLines.flatMap { line in
            line.text.matches(of: /`([^`]+)`/).map {
                ("\(name):\(line.number)", String($0.output.1))
            }
        }
        return (shell + spans).flatMap { place, line in
            // Behind ` #` is a comment; `[FILE]` is an argument that can be left out.
            let code = line.firstRange(of: " #").map { String(line[..<$0.lowerBound]) } ?? line
            let plain = code.replacing("[", with: "").replacing("]", with: "")
            // What is quoted is one argument, whatever is in it.
            let command =
                /(?:^|\$\(|[|;&]) *(lupin(?: (?:[^|;&)>'"]|'[^']*'|"[^"]*")*)?)(?:$|[|;&)>])/
            return plain.matches(of: command).map {
                PageCommand(place: place, text: String($0.output.1))
            }
        }
    }

    /// Lines outside blocks.
    private var proseLines: [(number: Int, text: Substring)] {
        var isCode = false
        var lines: [(number: Int, text: Substring)] = []
        for (i, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if !isCode {
                lines.append((i + 1, line))
            }
        }
        return lines
    }
}
