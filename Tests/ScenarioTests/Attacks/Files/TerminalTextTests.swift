// Texts of other people that commands print: none acts on the terminal of who looks at them.
import Foundation
import LupinCore
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct TerminalTextTests {
    /// What terminals obey, or what hides or reorders the text around it.
    private static let marks = [
        "\u{1B}]0;owned\u{07}", "\u{1B}[2J", "\u{9B}31m", "\u{90}x\u{9C}", "\u{7F}", "\u{202E}",
        "\u{2066}", "\u{200F}", "\u{061C}", "\u{200B}", "\u{FEFF}", "\u{E0041}", "\u{2028}", "\r",
    ]

    /// All marks in one text, as they are and as escapes; and without those at which a reader of
    /// JSON or YAML has done with the file.
    private static let forms = [
        marks.joined(), text { $0 >= 0x20 }, text { $0 >= 0xA0 && $0 != 0x2028 },
        escaped(text { $0 < 0x1_0000 }), escaped(text { $0 >= 0x1_0000 }),
    ]

    /// The marks of which each scalar is one of those.
    private static func text(_ isOne: (UInt32) -> Bool) -> String {
        marks.filter { $0.unicodeScalars.allSatisfy { isOne($0.value) } }.joined()
    }

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

    @Test func `check, rules and explain show a rules file without its controls`() throws {
        let folder = try Folder()
        for (i, text) in Self.files.enumerated() {
            for form in Self.forms {
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

    @Test func `names of files and words of the command line are shown without controls`() throws {
        let mark = Self.marks.filter { !$0.contains("\r") }.joined()
        for words in [
            ["check", "/nowhere/\(mark).yaml"], ["log", "/nowhere/\(mark)"],
            ["explain", "\(mark)"], ["explain", "--rules", "/x\(mark)", "http://a.test/"],
            ["curl", "\(mark)"], ["nonsense\(mark)"], ["check", "a", "b\(mark)"],
            ["har", "show", "/nowhere/\(mark)"],
        ] {
            expectHarmless(try Lupin.run(words), "\(words[0])")
        }
    }

    @Test func `a log of somebody else is shown without its controls`() throws {
        let folder = try Folder()
        let own = try folder.write(
            "own.yaml",
            "lupin: 1\nrules: [{name: none, match: {}, respond: {status: 403}}]\n"
        )
        for event in ["exchange", "tunnel"] {
            let line = Self.line.replacing("EVENT", with: event)
            for form in Self.forms {
                let file = try folder.write("log.jsonl", line.replacing("MARK", with: form))
                for words in [
                    ["log", file], ["log", "--json", file], ["explain", "--log", file, "last"],
                    ["curl", "--log", file, "last"], ["suggest", "--log", file],
                    ["har", "export", "--log", file],
                    ["check", "--trusted", own, "--all", "--against", file],
                ] {
                    let result = try Lupin.run(words)
                    // JSON has no raw controls: such a line is none.
                    let isLine = !form.unicodeScalars.contains { $0.value < 0x20 }
                    #expect(!isLine || !(result.output + result.errors).isEmpty, "\(words)")
                    expectHarmless(result, "\(words)")
                }
            }
        }
    }

    /// An exchange, with a mark in the place of `MARK` in whatever may be any text.
    private static let line = """
        {"schema":1,"ts":"2026-01-01T00:00:00.000000Z","event":"EVENT",\
        "id":"0123456789abcdef0123456789abcdef","outcome":"ok","mode":"http",\
        "client":{"address":"127.0.0.1MARK","program":"MARK","user":"MARK"},\
        "http":{"request":{"method":"_OTHER","method_original":"MARK",\
        "header":{"x-MARK":["MARK"],"user-agent":["MARK"]}},\
        "response":{"status_code":200,"header":{"x-MARK":["MARK"]}}},\
        "url":{"domain":"aMARK.test","port":80,"scheme":"http","full":"http://aMARK.test/MARK"},\
        "rules":{"matched":["MARK"],"steps":["MARK"]},"cache":{"status":"MARK"},\
        "error":{"type":"MARK","message":"MARK","detail":"MARK"},\
        "attempts":[{"n":1,"why":"MARK","url":"http://MARK.test/","peer":"MARK"}],\
        "redirects":[{"status":302,"location":"MARK"}],"auth":{"token":"MARK"},\
        "tunnel":{"sent":1,"received":1,"sni":"MARK"}}

        """

    /// The same characters as escapes of YAML and JSON.
    private static func escaped(_ mark: String) -> String {
        mark.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
