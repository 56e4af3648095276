// What the tests of rehearsals share: rules as people write them.

import LupinRules

/// Decodes a file that holds `lupin: 1` on its first line and `body` below.
func decode(_ body: String) -> LoadResult { decodeWhole("lupin: 1\n" + body) }

/// Decodes a file that holds `text` and nothing else.
func decodeWhole(_ text: String) -> LoadResult {
    let surroundings = Surroundings(
        environment: [:],
        home: "/users/ann",
        directory: "/etc/lupin",
        readFile: { _ throws(FileProblem) in throw FileProblem("there is no such file") }
    )
    return RulesFile.decode(text: text, fileName: "lupin.yaml", surroundings: surroundings)
}
