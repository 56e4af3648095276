// `lupin help`: subcommands as before, and the pages of the manual out of the program itself.
import Foundation
import Testing

@Suite(.waitsForPrograms)
struct HelpCommandTests {
    private func help(_ name: String, columns: Int = 80) throws -> String {
        let process = Lupin.process(Lupin.path, ["help", name], in: "/")
        process.environment?["COLUMNS"] = "\(columns)"
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text
    }

    @Test func `help lists every subcommand and every page`() throws {
        let text = try Lupin.run("help").output
        #expect(text.contains("\nSUBCOMMANDS:\n"))
        let pages = try #require(text.firstRange(of: "\nPAGES:\n"))
        for page in ManualPage.manual {
            #expect(text[pages.upperBound...].contains("  \(page.name) "))
        }
        #expect(text.hasSuffix("See 'lupin help <page>' to read one.\n"))
    }

    /// The text in the program is that of the file, word for word.
    @Test(arguments: ManualPage.manual.map(\.name))
    func `help prints a page`(name: String) throws {
        let page = try #require(ManualPage.manual.first { $0.name == name })
        let text = try help(name, columns: 1000)
        for heading in page.headings { #expect(text.contains("\(heading)\n")) }
        for block in page.blocks {
            for line in block.text.split(separator: "\n") {
                #expect(text.contains("\n    \(line)\n"), "\(block.testDescription): \(line)")
            }
        }
        let words = { (text: String) in Set(text.split { !$0.isLetter }.map(String.init)) }
        let plain = page.text.replacing(/<!--(?s:.*?)-->/, with: "")
            .replacing(/\]\([^)]*\)/, with: "]")
        let missing = words(plain).subtracting(words(text)).filter { $0.count > 4 }
        // What stands behind a fence is markup.
        #expect(missing.isSubset(of: ["rules", "settings", "rejected"]))
    }

    @Test(arguments: [50, 80, 132])
    func `a page is wrapped to the width`(columns: Int) throws {
        for page in ManualPage.manual {
            for line in try help(page.name, columns: columns).split(separator: "\n") {
                // Code and the words of tables stay whole.
                if line.hasPrefix("    ") || line.contains("  ") { continue }
                #expect(line.count <= columns || !line.dropFirst(2).contains(" "), "\(line)")
            }
        }
    }

    @Test func `markup becomes plain text`() throws {
        let text = try help("retries", columns: 60)
        #expect(text.hasPrefix("Retries\n=======\n\nWhich failed requests "))
        #expect(text.contains("\n\nPolicies\n--------\n\nPolicy "))
        #expect(text.contains("\n`none`             nothing\n"))
        #expect(text.contains("shows all of them"))
        #expect(!text.contains("]("))
        #expect(try help("credentials").contains("- Single flight. However many"))
        #expect(!text.contains("```"))
        #expect(try help("rules-reference").contains("\n\nmatch.port\n~~~~~~~~~~\n\nPorts "))
        let file = try help("rules-file", columns: 200)
        #expect(file.contains("\n- All matching rules apply, from top to bottom. The steps"))
        #expect(file.contains("see HTTPS (lupin help https)."))
        #expect(file.contains("\n1. `--rules FILE`\n2. `$LUPIN_RULES`\n"))
        #expect(!(try help("rules-reference")).contains("<!--"))
    }

    @Test func `help of a subcommand stays, and names its page`() throws {
        let cache = try Lupin.run("help", "cache")
        #expect(cache.code == 0)
        #expect(cache.output.contains("USAGE: lupin cache <subcommand>"))
        #expect(cache.output.hasSuffix("  See 'lupin help caching' for the page of the manual.\n"))
        let install = try Lupin.run("help", "ca", "install")
        #expect(install.output.contains("USAGE: lupin ca install"))
        #expect(try Lupin.run("help", "help").output.contains("USAGE: lupin help"))
    }

    @Test(arguments: [
        ("cashing", "Nearest: caching"), ("retry", "Nearest: retries"),
        ("Rules-Refrence", "Nearest: rules-reference"), ("stat", "Nearest: status"),
        ("hedge", "Pages that mention it: retries"),
    ])
    func `an unknown page names the nearest`(sample: (name: String, hint: String)) throws {
        let result = try Lupin.run("help", sample.name)
        #expect(result.code == 64)
        #expect(result.output == "")
        #expect(result.errors.contains("There is no subcommand or page \"\(sample.name)\"."))
        #expect(result.errors.contains(sample.hint))
    }
}
