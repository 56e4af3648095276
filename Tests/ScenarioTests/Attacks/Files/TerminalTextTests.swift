// Texts of other people that commands print: none acts on the terminal of who looks at them.
import Foundation
import LupinCore
import LupinTestKit
import Testing

struct TerminalTextTests {
    /// What terminals obey, or what hides or reorders the text around it.
    static let marks = [
        "\u{1B}]0;owned\u{07}", "\u{1B}[2J", "\u{9B}31m", "\u{90}x\u{9C}", "\u{7F}", "\u{202E}",
        "\u{2066}", "\u{200F}", "\u{061C}", "\u{200B}", "\u{FEFF}", "\u{E0041}", "\u{2028}", "\r",
    ]

    private func expectHarmless(_ result: Lupin.Result, _ what: String) {
        let text = (result.output + result.errors).replacing("\n", with: "")
        #expect(LogText.isHarmless(text), "\(what): \(LogText.plain(text))")
    }

    /// Rules files with a mark in the place of `MARK`, in double quotes or in a comment.
    private static let files = [
        "lupin: 1\nrules: [{name: \"a MARK b\", match: a.test, respond: {status: 403}}]\n",
        "lupin: 1\n\"ke MARK y\": 1\n", "lupin: 1\nlog: {level: \"MARK\"}\n",
        "lupin: 1\ntokens: {\"t MARK\": {bearer: tttttt}}\n",
        "lupin: 1\nrules: [{match: \"a MARK.test\", respnd: 1}] # MARK\n",
        "lupin: 1\nrules: [{match: a.test, respond: {status: 200, body: \"MARK\"}}]\n",
    ]

    @Test(arguments: marks)
    func `check, rules and explain show a rules file without its controls`(mark: String) throws {
        let folder = try Folder()
        for (i, text) in Self.files.enumerated() {
            for form in [mark, Self.escaped(mark)] {
                let file = try folder.write("r\(i).yaml", text.replacing("MARK", with: form))
                for words in [
                    ["check", file], ["rules", "--rules", file],
                    ["rules", "--effective", "--rules", file],
                    ["explain", "--rules", file, "http://a.test/"],
                ] {
                    expectHarmless(try Lupin.run(words), "\(words) of \(i)")
                }
            }
        }
    }

    @Test(arguments: marks.filter { !$0.contains("\r") })
    func `names of files and words of the command line are shown without controls`(
        mark: String
    ) throws {
        for words in [
            ["check", "/nowhere/\(mark).yaml"], ["log", "/nowhere/\(mark)"],
            ["explain", "\(mark)"], ["explain", "--rules", "/x\(mark)", "http://a.test/"],
            ["curl", "\(mark)"], ["nonsense\(mark)"], ["check", "a", "b\(mark)"],
            ["har", "show", "/nowhere/\(mark)"],
        ] {
            expectHarmless(try Lupin.run(words), "\(words[0])")
        }
    }

    @Test(arguments: marks)
    func `a log of somebody else is shown without its controls`(mark: String) throws {
        let folder = try Folder()
        let line = """
            {"time":"2026-01-01T00:00:00.000Z","id":"0123456789abcdef0123456789abcdef",\
            "client":{"address":"127.0.0.1"},"http":{"request":{"method":"GET","version":"1.1",\
            "header":{"x-MARK":["MARK"],"user-agent":["MARK"]}},"response":{"status_code":200}},\
            "url":{"full":"http://a.test/MARK"},"outcome":"MARK","rules":{"matched":["MARK"]},\
            "error":{"type":"MARK","message":"MARK"}}

            """
        for form in [mark, Self.escaped(mark)] {
            let file = try folder.write("log.jsonl", line.replacing("MARK", with: form))
            for words in [
                ["log", file], ["log", "--json", file], ["explain", "--log", file, "last"],
                ["curl", "--log", file, "last"], ["har", "export", "--log", file],
                ["suggest", "--log", file], ["check", "--trusted", "/dev/null", "--against", file],
            ] where words[0] != "har" {
                expectHarmless(try Lupin.run(words), "\(words)")
            }
        }
    }

    /// The same characters as escapes of YAML and JSON.
    private static func escaped(_ mark: String) -> String {
        mark.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
