// `lupin rules`: lists the rules of a file, or prints the whole file with every effective value.
import ArgumentParser
import LupinPolicy
import LupinRules

struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "List the rules, or print the file with all defaults.",
        discussion: """
            Without a flag: each rule with its line, its match and its keys. If a lupin runs, \
            these are its rules in force.

            With --effective: a complete rules file that means the same as yours. Values that \
            you wrote have their line behind them, all others are defaults. References such as \
            ${env:NAME} stay; a secret that is written in the file becomes REDACTED.

              lupin rules
              lupin rules --effective | less
            """
    )

    @Flag(help: "Print the file with every value that holds.")
    var effective = false

    @Option(rulesFile: "The rules file.")
    var rulesFile: String?

    func run() throws {
        let located = try LocatedRules.toRead(explicit: rulesFile)
        guard let path = located.path else {
            if effective {
                StandardOutput.print(WrittenFile.defaults.effectiveYAML, terminator: "")
            } else {
                StandardOutput.print("there is no rules file: lupin runs with its defaults")
            }
            return
        }
        let written = WrittenFile(of: located.configuration)
        if effective {
            StandardOutput.print(written.effectiveYAML, terminator: "")
        } else {
            StandardOutput.print(RuleList.text(located.configuration.rules.rules, written, path))
        }
    }
}

enum RuleList {
    /// Formats one paragraph per rule.
    static func text(_ rules: [Rule], _ written: WrittenFile, _ path: String) -> String {
        if rules.isEmpty { return "\(path) has no rules" }
        return zip(rules, written.rules).map { rule, written in
            var lines = ["\(rule.name)  # \(path):\(rule.line)"]
            let match = written.value(of: "match")?.text ?? ""
            lines.append("  match: \(match == "{}" ? "everything" : match)")
            let keys = written.keys.map { "\($0.key)" }.filter { $0 != "name" && $0 != "match" }
            lines.append("  keys:  \(keys.isEmpty ? "none" : keys.joined(separator: ", "))")
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
