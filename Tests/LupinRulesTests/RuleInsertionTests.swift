// That a rule goes behind the last one, and nothing else of the file changes.

import LupinCore
import LupinRules
import Testing

struct RuleInsertionTests {
    private let rule = "- match: b.example\n  respond: {status: 403}\n"

    private func result(_ text: String) throws -> String {
        try RuleInsertion(rule, into: text).text
    }

    @Test func `it goes behind the last rule, as far in as the others`() throws {
        let text = """
            lupin: 1
            rules:
                # The first.
                - match: a.example
                  stop: true
                  # its end

            # What follows.
            log: off

            """
        let insertion = try RuleInsertion(rule, into: text)
        #expect(
            insertion.text == """
                lupin: 1
                rules:
                    # The first.
                    - match: a.example
                      stop: true
                      # its end
                    - match: b.example
                      respond: {status: 403}

                # What follows.
                log: off

                """
        )
        #expect(insertion.added == 6..<8)
    }

    @Test(arguments: [
        ("", "lupin: 1\nrules:\n  NEW"),
        ("# mine\n", "# mine\nlupin: 1\nrules:\n  NEW"),
        ("lupin: 1\nlog: off", "lupin: 1\nlog: off\nrules:\n  NEW"),
        ("lupin: 1\nrules:\n- match: a", "lupin: 1\nrules:\n- match: a\nNEW"),
        ("lupin: 1\nrules:\n- match: a\nlog: off", "lupin: 1\nrules:\n- match: a\nNEWlog: off\n"),
        ("lupin: 1\nrules: []  # none", "lupin: 1\nrules: # none\n  NEW"),
        ("rules:\nlupin: 1", "rules:\n  NEWlupin: 1\n"),
        ("rules:\n  -\n    match: a\nlupin: 1", "rules:\n  -\n    match: a\n  NEWlupin: 1\n"),
    ])
    func `any layout of the list will do`(sample: (text: String, result: String)) throws {
        let margin = sample.result.contains("  NEW") ? "  " : ""
        let new = "- match: b.example\n\(margin)  respond: {status: 403}\n"
        #expect(try result(sample.text) == sample.result.replacing("NEW", with: new))
    }

    @Test func `line ends stay as they are`() throws {
        let text = "lupin: 1\r\nrules:\r\n  - match: a.example\r\n"
        #expect(try result(text).split(separator: "\r\n").count == 5)
        #expect(!(try result(text)).contains("\n\n"))
    }

    @Test func `a rule in a deeper snippet moves to its place`() throws {
        let insertion = try RuleInsertion(
            "\n     - match: b.example\n\n       stop: true\n\n",
            into: "lupin: 1\nrules:\n  - match: a.example\n"
        )
        #expect(
            insertion.text
                == "lupin: 1\nrules:\n  - match: a.example\n"
                + "  - match: b.example\n\n    stop: true\n"
        )
    }

    @Test(arguments: [
        ("", "rules:", RuleInsertion.Problem.empty),
        ("match: a.example", "rules:", .notAnItem),
        ("- match: a.example", "lupin: 1\nrules: [{match: b.example}]", .inOneLine(2)),
        ("- match: a.example", "lupin: 1\nrules: &x", .inOneLine(2)),
    ])
    func `what can't be added is told`(
        sample: (snippet: String, text: String, problem: RuleInsertion.Problem)
    ) {
        #expect(throws: sample.problem) {
            try RuleInsertion(sample.snippet, into: sample.text)
        }
        #expect(!sample.problem.sentence.isEmpty)
    }
}
