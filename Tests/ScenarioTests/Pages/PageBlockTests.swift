// That what the README and the manual tell people to write and to type is taken by lupin.
import Foundation
import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct PageBlockTests {
    private static func blocks(_ language: String) -> [PageBlock] {
        ManualPage.blocks.filter { $0.info.first == language }
    }

    @Test func `every block says what it is`() {
        for block in ManualPage.blocks {
            let info = block.info.joined(separator: " ")
            // The README's picture has no language.
            let known: Set = [
                "yaml", "yaml settings", "yaml rules", "yaml rejected", "sh", "json", "swift",
                "text",
            ]
            #expect(
                known.contains(info) || block.page == "README" && info.isEmpty,
                "\(block.testDescription): \(info)"
            )
        }
    }

    @Test(arguments: blocks("yaml"))
    func `lupin check takes the YAML of a page`(block: PageBlock) throws {
        let fixture = try PageFixture(block)
        let result = try fixture.check()
        let isRejected = block.info.contains("rejected")
        #expect(result.code == (isRejected ? 2 : 0), "\(result.errors)")
        // What is recommended has nothing to be warned of.
        if !isRejected { #expect(!result.output.contains("warning"), "\(result.errors)") }
    }

    @Test(arguments: blocks("sh"))
    func `a shell takes the commands of a page`(block: PageBlock) throws {
        let result = try Lupin.run(program: "/bin/sh", ["-n", "-c", block.text])
        #expect(result == Lupin.Result(code: 0, output: "", errors: ""))
    }

    /// The parser is given one option too many: what it complains of is that one alone, and nothing
    /// is run.
    @Test(arguments: ManualPage.commands)
    func `lupin knows the arguments in a page`(command: PageCommand) throws {
        let script = "lupin() { printf '%s\\n' \"$@\"; }\n\(command.text)"
        let words = try Lupin.run(program: "/bin/sh", ["-c", script])
        #expect(words.code == 0)
        let id = "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b"
        let arguments = words.output.split(separator: "\n").map { $0 == "ID" ? id : String($0) }
        #expect(Self.isCommand(arguments, below: try Self.tree.get()))
        if arguments.first == "exec" {
            // All behind its options belongs to the command that it runs, unknown options too.
            let help = try Self.helpOfExec.get()
            for option in arguments.prefix(while: { $0 != "--" }) where option.hasPrefix("-") {
                #expect(help.contains("\n  \(option) "))
            }
            return
        }
        let result = try Lupin.run(arguments + ["--no-such-option"])
        #expect(result.code == 64)
        let isGood = result.errors.hasPrefix("Error: Unknown option '--no-such-option'\n")
        // In the text a name may stand for a command.
        let isName = command.text.allSatisfy { $0.isLetter || $0 == " " }
        #expect(isGood || isName && result.errors.hasPrefix("Error: Missing expected argument '"))
    }

    /// What ArgumentParser tells of the commands.
    private struct Node: Decodable, Sendable {
        var commandName: String
        var subcommands: [Node]?
    }

    private static let tree = Result {
        struct Dump: Decodable { var command: Node }
        let text = try finish(Lupin.process(Lupin.path, ["--experimental-dump-help"], in: nil))
            .output
        return try JSONDecoder().decode(Dump.self, from: Data(text.utf8)).command
    }

    private static let helpOfExec = Result { try Lupin.run("help", "exec").output }

    /// Whether the words that stand where subcommands do are some.
    private static func isCommand(_ words: [String], below node: Node) -> Bool {
        guard let children = node.subcommands, let word = words.first, !word.hasPrefix("-") else {
            return true
        }
        return children.contains {
            $0.commandName == word && isCommand(Array(words.dropFirst()), below: $0)
        }
    }

    @Test(arguments: blocks("json"))
    func `the JSON of a page is JSON`(block: PageBlock) throws {
        #expect(throws: Never.self) {
            try JSONSerialization.jsonObject(with: Data(block.text.utf8))
        }
    }

    @Test func `the reference has every key of a rule with an example`() throws {
        let page = try #require(ManualPage.manual.first { $0.name == "rules-reference" })
        let keys =
            RuleKeyTable.match.map { "match.\($0.key)" } + RuleKeyTable.step.map(\.key)
            // Those have a part of the page each.
            + RuleKeyTable.rule.map(\.key).filter {
                !["match", "request", "response"].contains($0)
            }
        for key in keys {
            #expect(page.headings.contains(key), "\(key) has no heading")
            // The name of a rule stands in the first example.
            if key == "name" { continue }
            let block = ManualPage.block("yaml", under: key, of: page.name)
            let word = key.split(separator: ".").last ?? ""
            #expect(block?.text.contains("\(word):") == true, "\(key) has no example")
        }
        for key in ["match", "Steps"] { #expect(page.headings.contains(key)) }
    }
}

/// Runs a process to its end, however much it prints on standard output.
private func finish(_ process: ChildProgram) throws -> Lupin.Result {
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let texts = [output, errors].map {
        String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    process.waitUntilExit()
    return Lupin.Result(code: process.terminationStatus, output: texts[0], errors: texts[1])
}

/// A home with all that a block names: variables, secrets, certificates, lists of hosts.
private final class PageFixture {
    private let folder: Folder
    private let file: String
    private var environment = ["PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": Lupin.noSettings]

    init(_ block: PageBlock) throws {
        folder = try Folder()
        // `~` is the home that the system knows, and no test writes there.
        let text = block.rulesFile.replacing("~/", with: "\(folder.path)/")
        file = try folder.write("lupin.yaml", text)
        for found in text.matches(of: /\${(?:env|secret):(\w+)/) {
            environment[String(found.output.1)] = "a value of \(found.output.1)"
        }
        for found in text.matches(of: /\${file:([^}]+)}/) {
            try write("quite-a-long-secret", found.output.1)
        }
        for found in text.matches(of: /{file: ([^}]+)}/) {
            try write(block.text.contains("basic:") ? Self.password : "a.example", found.output.1)
        }
        for found in text.matches(of: /{folder: ([^}]+)}/) {
            try write("<p>", "\(found.output.1)/index.html")
        }
        for found in text.matches(of: /command: \[([\w-]+)/) {
            try write("#!/bin/sh\n", "bin/\(found.output.1)", permissions: 0o700)
            environment["PATH"] = "\(folder.path)/bin:/usr/bin:/bin"
        }
        let identity = try TestAuthority.identityFiles("a.example")
        for found in text.matches(of: /[\w\/.-]+\.(?:pem|key)/) {
            let bytes = found.output.hasSuffix("key") ? identity.key : identity.pem
            try write(String(decoding: bytes, as: UTF8.self), found.output)
        }
    }

    /// As `htpasswd` writes it.
    private static let password = "alice:$2y$05$" + String(repeating: "a", count: 53)

    func check() throws -> Lupin.Result {
        let process = Lupin.process(Lupin.path, ["check", "--trusted", file], in: nil)
        process.environment = environment
        return try finish(process)
    }

    private func write(
        _ text: String,
        _ name: some StringProtocol,
        permissions: Int = 0o600
    ) throws {
        let file = URL(filePath: name.hasPrefix("/") ? "\(name)" : "\(folder.path)/\(name)")
        let manager = FileManager.default
        try manager.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        _ = manager.createFile(
            atPath: file.path,
            contents: Data(text.utf8),
            attributes: [.posixPermissions: permissions]
        )
    }
}
