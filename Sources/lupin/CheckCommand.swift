// `lupin check`: validates a rules file without starting anything.
import ArgumentParser
import LupinCore

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a rules file and list its mistakes.",
        discussion: """
            Prints all problems at once, each with its line, column and a suggestion. The exit \
            code is 2 if there is an error, and 0 if there are only warnings. For each rule with \
            respond it says whether lupin must decrypt https for it.

              lupin check                      the file that `lupin serve` would use
              lupin check try.yaml && lupin serve --rules try.yaml

            A file can be as small as this:

              lupin: 1
              rules:
                - match: "*.api.example"
                  request:
                    - set: {X-Env: dev}
            """
    )

    @Argument(
        help: "The rules file; without it the one that `lupin serve` would use.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?

    func run() throws { try CheckReport.print(explicit: file) }
}

enum CheckReport {
    /// Checks a rules file, the given one or that of `lupin serve`, and prints the result.
    /// - Throws: `ExitCode.badRulesFile` when there is any error.
    static func print(explicit file: String?) throws {
        let rules = try LocatedRules(explicit: file)
        guard let path = rules.path else {
            return Swift.print("there is no rules file: lupin runs with its defaults")
        }
        if checksNamesOnly(rules.configuration) {
            StandardError.print(
                """
                \(path): note: behind a parent proxy access.deny_targets is asked about the host \
                that a request names, not about the addresses it resolves to
                """
            )
        }
        let (count, warnings) = (rules.configuration.rules.rules.count, rules.warnings.count)
        Swift.print(line(path, rules: count, warnings: warnings))
        for line in answers(rules.configuration) { Swift.print(line) }
    }

    /// `lupin.yaml: ok, 12 rules, 1 warning`.
    static func line(_ path: String, rules: Int, warnings: Int) -> String {
        var line = "\(path): ok, \(rules) \(rules == 1 ? "rule" : "rules")"
        if warnings > 0 { line += ", \(warnings) \(warnings == 1 ? "warning" : "warnings")" }
        return line
    }

    /// A line for each rule that answers https: whether it needs decryption for that.
    static func answers(_ configuration: Configuration) -> [String] {
        configuration.rules.rules.compactMap { rule in
            switch rule.answersInside(by: configuration.settings.intercept) {
            case true: "  \(rule.reference) decrypts https to answer the requests inside"
            case false: "  \(rule.reference) answers the CONNECT of https; nothing is decrypted"
            case nil: nil
            }
        }
    }

    /// Whether rules deny addresses that only the parent proxy will resolve.
    static func checksNamesOnly(_ configuration: Configuration) -> Bool {
        let settings = configuration.settings
        let deniesAddresses = settings.access.denyTargets.contains {
            if case .host = $0 { false } else { true }
        }
        let proxies = [settings.upstream.proxy] + configuration.rules.rules.compactMap(\.proxy)
        return deniesAddresses && proxies.contains(where: hasParent)
    }

    private static func hasParent(_ proxy: UpstreamProxy) -> Bool {
        switch proxy {
        case .direct: false
        case .parent: true
        case .environment(let variables): variables.http != nil || variables.https != nil
        }
    }
}
