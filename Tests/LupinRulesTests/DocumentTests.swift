// Which YAML is read, and what is said of the rest.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct DocumentTests {
    @Test(arguments: [
        (
            "timeouts:\n\tidle: 5s",
            """
            lupin.yaml:3:1: a tab cannot indent  [E-SYNTAX]
                 idle: 5s
                ^  write spaces
            """
        ),
        (
            "workers: !!int 2",
            """
            lupin.yaml:2:10: tags such as !!int are not supported  [E-SYNTAX]
                workers: !!int 2
                         ^^^^^  leave it out: the key decides the type
            """
        ),
        (
            "timeouts: &t {idle: 5s}\nlimits: {<<: *t}",
            """
            lupin.yaml:3:10: merge keys are not supported  [E-SYNTAX]
                limits: {<<: *t}
                         ^^  write the keys out, or use a named policy
            """
        ),
        (
            "---\nworkers: 2",
            """
            lupin.yaml:2:1: a second document is not supported  [E-SYNTAX]
                ---
                ^  one file, one document
            """
        ),
        (
            "workers: *w",
            """
            lupin.yaml:2:10: the alias has no anchor before it  [E-SYNTAX]
                workers: *w
                         ^  quote a text that begins with *, or write &name at the first use
            """
        ),
        (
            "rules: [{match: *.example}]",
            """
            lupin.yaml:2:17: a text that begins with * or & is not quoted  [E-SYNTAX]
                rules: [{match: *.example}]
                                ^^^^^^^^^  write "*.example"
            """
        ),
        (
            "log: {to: \"stdout}",
            """
            lupin.yaml:2:11: a quote is not closed  [E-SYNTAX]
                log: {to: "stdout}
                          ^  write " behind the text
            """
        ),
        (
            "log: {to: stdout\nworkers: 2",
            """
            lupin.yaml:2:6: a map is not closed  [E-SYNTAX]
                log: {to: stdout
                     ^  write }
            """
        ),
        (
            "log:\n  to: stdout\n format: text",
            """
            lupin.yaml:4:2: the indentation does not fit the lines above  [E-SYNTAX]
                format: text
                ^
            """
        ),
        (
            "log: to: stdout",
            """
            lupin.yaml:2:8: a colon is not expected here  [E-SYNTAX]
                log: to: stdout
                       ^  quote the text, or check the indentation
            """
        ),
        (
            "rules:\n  - match: a.dev\n    retry safe\n    cache: off",
            """
            lupin.yaml:4:5: "retry safe" has no colon  [E-SYNTAX]
                retry safe
                ^^^^^^^^^^  write retry: safe
            """
        ),
        (
            "rules:\n  - retry safe\n    match: a.dev",
            """
            lupin.yaml:3:5: "retry safe" has no colon  [E-SYNTAX]
                - retry safe
                  ^^^^^^^^^^  write retry: safe
            """
        ),
        (
            "rules: [{match: a.dev, retry safe}]",
            """
            lupin.yaml:2:24: "retry safe" in "rules" has no colon  [E-KEY]
                rules: [{match: a.dev, retry safe}]
                                       ^^^^^^^^^^  write retry: safe
            """
        ),
        (
            "? [a, b]\n: 1",
            """
            lupin.yaml:2:3: a list or a map as a key is not supported  [E-SYNTAX]
                ? [a, b]
                  ^^^^^^
            """
        ),
        (
            "log: {to: \"a\u{7}b\"}",
            """
            lupin.yaml:2:13: a control character is not allowed  [E-SYNTAX]
                log: {to: "a\u{FFFD}b"}
                            ^
            """
        ),
    ])
    func `what YAML has and lupin has not is said`(body: String, report: String) {
        #expect(errors(body) == report)
    }

    @Test(arguments: [
        (
            "workers: 2\nlog: {}\nworkers: 3",
            """
            lupin.yaml:4:1: "workers" is written twice  [E-DUP]
                workers: 3
                ^^^^^^^  first on line 2
            """
        ),
        (
            "log: {to: stdout, \"to\": stderr}",
            """
            lupin.yaml:2:19: "to" is written twice  [E-DUP]
                log: {to: stdout, "to": stderr}
                                  ^^^^  first on line 2
            """
        ),
        (
            "rules:\n- name: a\n  match: {}\n  # match: {}\n  log: |\n    match: {}\n  match: {}",
            """
            lupin.yaml:6:8: expected a map, found "match: {}\u{FFFD}"  [E-TYPE]
                log: |
                     ^  write log: off
            lupin.yaml:8:3: "match" is written twice  [E-DUP]
                match: {}
                ^^^^^  first on line 4
            """
        ),
        (
            "log: {to: stdout, to: stderr}\ntimeouts:\n  idle: 1s\n  dns: 1s\n  idle: 2s\n  dns: x",
            """
            lupin.yaml:2:19: "to" is written twice  [E-DUP]
                log: {to: stdout, to: stderr}
                                  ^^  first on line 2
            lupin.yaml:6:3: "idle" is written twice  [E-DUP]
                idle: 2s
                ^^^^  first on line 4
            lupin.yaml:7:3: "dns" is written twice  [E-DUP]
                dns: x
                ^^^  first on line 5
            """
        ),
    ])
    func `equal keys are told with the line of the first`(body: String, report: String) {
        #expect(errors(body) == report)
    }

    @Test func `a comment does not end the search for an equal key`() {
        let problems = decode("log:\n  to: stdout\n# a remark\n\n  to: stderr").errors
        #expect(problems.map(\.line) == [6])
    }

    @Test func `anchors, aliases, one leading marker, block scalars and comments are fine`() throws
    {
        let result = decodeWhole(
            """
            ---
            # a remark
            lupin: 1
            timeouts: &slow {total: 90s}   # anchored
            rules:
              - match: &all {}
                timeouts: *slow
              - match: *all
                respond:
                  status: 403
                  body: |
                    not
                    here
            """
        )
        #expect(result.errors.report() == "")
        let rules = try #require(result.configuration).rules.rules
        #expect(rules.first?.timeouts.total == .some(.some(.seconds(90))))
        #expect(rules.last?.respond?.content == .text(Template("not\nhere")))
    }

    @Test(arguments: [
        "lupin: 1\r\nworkers: 3\r\nlog: {format: json}\r\n",
        "\u{FEFF}lupin: 1\nworkers: 3\nlog: {format: json}",
    ])
    func `line ends of Windows and a byte order mark are fine`(text: String) throws {
        let result = RulesFile.decode(bytes: Array(text.utf8), fileName: "lupin.yaml")
        let settings = try #require(result.configuration).settings
        #expect(settings.workers == 3)
        #expect(settings.log.format == .json)
    }

    @Test func `places in a file with line ends of Windows and a byte order mark are right`() {
        let text = "\u{FEFF}lupin: 2\r\nworkers: x\r\n"
        let result = RulesFile.decode(bytes: Array(text.utf8), fileName: "w.yaml")
        #expect(
            result.errors.report() == """
                w.yaml:1:8: version 2 of the format is not known  [E-RANGE]
                    lupin: 2
                           ^  write lupin: 1
                w.yaml:2:10: "x" is not a number  [E-TYPE]
                    workers: x
                             ^  write a number from 1 to 256
                """
        )
    }

    @Test func `a file that is not UTF-8 is refused with its place`() {
        let latin = Array("lupin: 1\n# caf".utf8) + [0xE9, 0x0A]
        #expect(
            RulesFile.decode(bytes: latin, fileName: "l.yaml").errors.report() == """
                l.yaml:2:6: the file is not UTF-8  [E-SYNTAX]
                    # caf\u{FFFD}
                         ^  save it as UTF-8
                """
        )
        #expect(
            RulesFile.decode(bytes: [0xFF, 0xFE, 0x6C, 0], fileName: "u.yaml").errors.report()
                == """
                u.yaml: the file is UTF-16  [E-SYNTAX]
                    save it as UTF-8
                """
        )
    }

    @Test(arguments: ["", "# nothing\n", "---\n"])
    func `an empty file lacks its version`(text: String) {
        let problems = decodeWhole(text).errors
        #expect(problems.map(\.code) == [.key])
        #expect(problems.first?.message == "the file does not say the version of its format")
    }

    @Test func `aliases that multiply end in an error and not in the memory`() {
        var body = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...12 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            body += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let problems = decode(body).errors.filter { $0.code == .syntax }
        #expect(problems.map(\.message) == ["aliases make the file too large"])
    }

    @Test(arguments: ["? *a11\n: 1", "*a11 : 1", "{*a11 : 1}", "[*a11, *a10] : 1"])
    func `aliases that multiply in a key are refused before they are compared`(key: String) {
        var body = "a0: &a0 [x]\n"
        for level in 1...11 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            body += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let problems = decode(body + "b:\n  c: 1\n  \(key)").errors
        #expect(problems.contains { $0.code == .syntax })
    }

    @Test func `nesting without end is refused`() {
        let deep = String(repeating: "[", count: 900) + String(repeating: "]", count: 900)
        let problems = decode("log: \(deep)").errors.filter { $0.code == .syntax }
        #expect(problems.map(\.message) == ["the file is nested too deeply"])
    }

    @Test func `aliases of aliases are nested as deep as what they stand for`() {
        func text(_ count: Int) -> String {
            let links = (1..<count).map { "  - &a\($0) [*a\($0 - 1)]\n" }.joined()
            return "log:\n  - &a0 [x]\n" + links
        }
        func problems(_ count: Int) -> [String] {
            decode(text(count)).errors.filter { $0.code == .syntax }.map(\.message)
        }
        // Without end, freeing such a tree would need a stack without end.
        #expect(problems(100_000).contains("the file is nested too deeply"))
        #expect(problems(300).contains("the file is nested too deeply"))
    }

    @Test func `any cut of a good file gives an answer`() {
        let text = SettingsDocument.exampleRules + "\nlog: {to: \"x\\u00e9\", headers: [a, 'b']}\n"
        let files = ["/etc/lupin/blocked.txt": FileContents(bytes: Array("ads.example".utf8))]
        var cut = "lupin: 1\n"
        for character in text {
            cut.append(character)
            if cut.utf8.count.isMultiple(of: 7) { _ = decodeWhole(cut, files: files) }
        }
        #expect(decodeWhole(cut, files: files).errors.report() == "")
    }
}
