// `lupin check`: validates a rules file without starting anything.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRecords
import LupinRules

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a rules file and list its mistakes.",
        discussion: """
            Prints all problems at once, each with its line, column and a suggestion. The exit \
            code is 2 if there is an error, and 0 if there are only warnings. For each rule with \
            respond it says whether lupin must decrypt https for it. With --against it tells \
            instead what the file would have done with the exchanges of a log: which it would \
            refuse, answer, send elsewhere, decrypt or tunnel, and which were so before.

              lupin check                      the file that `lupin serve` would use
              lupin check try.yaml && lupin serve --rules try.yaml
              lupin check try.yaml --against lupin.jsonl
              lupin check try.yaml --against lupin.jsonl --since 1d 'host:*.acme.dev'

            A file that is named and lies elsewhere than lupin serve looks for it may be somebody \
            else's: of other files and of variables only the form is checked, and none is read. \
            With --trusted, or if LUPIN_RULES names it, all is read; with --untrusted nothing is.

              lupin check --untrusted download.yaml

            --format json is for editors, github for the annotations of a workflow; - reads the \
            file from standard input.

              lupin check --format json - < lupin.yaml

            A file can be as small as this:

              lupin: 1
              rules:
                - match: "*.api.example"
                  request:
                    - set: {X-Env: dev}

            Exit codes: 0 ok, 1 a log cannot be read, 2 the file has an error, 3 it would refuse \
            exchanges of the log that were not refused, 64 wrong command line.
            """
    )

    @Option(
        help: ArgumentHelp(
            "A log to rehearse; - is standard input. May be repeated, such as for lupin.jsonl.1.",
            valueName: "log"
        ),
        completion: .file()
    )
    var against: [String] = []

    @Option(help: ArgumentHelp("Only exchanges of that time, such as 1h.", valueName: "duration"))
    var since: String?

    @Flag(help: "Print what a rehearsal tells as one object in JSON.")
    var json = false

    @Flag(help: "Tell every group of exchanges, also what would be as before.")
    var all = false

    @Flag(help: "Read no other file and no variable: the rules file may be somebody else's.")
    var untrusted = false

    @Flag(help: "Read all that the rules file refers to, as lupin serve does, wherever it lies.")
    var trusted = false

    @Option(help: "How problems are printed: text, json or github.")
    var format = ProblemFormat.text

    @Option(rulesFile: "The rules file, too, as other commands take it.")
    var rulesFile: String?

    @Argument(
        help: "The rules file; without it the one that `lupin serve` would use.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?

    @Argument(help: ArgumentHelp("Which exchanges of the log count.", valueName: "filter"))
    var words: [String] = []

    /// A filter stands in the place of the file where none is given, or `--rules` gives it.
    private var isFileLeftOut: Bool {
        guard !against.isEmpty, let file else { return false }
        if rulesFile != nil { return true }
        return FilterWords.belongs(file) && FilterWords.namesKey(file)
            && FileStatus(path: file) == nil
    }

    private var path: String? {
        let path = rulesFile ?? (isFileLeftOut ? nil : file)
        return path == "-" ? "/dev/stdin" : path
    }

    private var filters: [String] { (isFileLeftOut ? file.map { [$0] } ?? [] : []) + words }

    /// What is read besides the file.
    private var reading: SecretReading {
        if untrusted { return .unread }
        if trusted { return .required }
        return path.map { LocatedRules.isUsual($0) ? .required : .unread } ?? .required
    }

    func validate() throws {
        if trusted, untrusted {
            throw ValidationError("--trusted and --untrusted exclude each other")
        }
        if format != .text, !against.isEmpty {
            throw ValidationError("--format is for a check without --against")
        }
        guard !against.isEmpty else {
            if let word = rulesFile == nil ? words.first : file {
                throw ValidationError("\"\(LogText.plain(word))\" is one word too many")
            }
            if since != nil || json || all {
                throw ValidationError("--since, --json and --all go with --against")
            }
            return
        }
        try ExchangeFilter.demandFilters(filters)
        _ = try ExchangeFilter(commandLine: filters, since: since)
    }

    func run() throws {
        guard !against.isEmpty else {
            return format == .text
                ? try CheckReport.print(explicit: path, reading)
                : try CheckReport.print(explicit: path, reading, as: format)
        }
        var run = CheckAgainst(
            rules: try LocatedRules(explicit: path, secrets: reading, trustOption: "--trusted"),
            lines: RecordedLines(
                logs: against,
                filter: try ExchangeFilter(commandLine: filters, since: since)
            ),
            isJSON: json,
            tellsAll: all
        )
        try run.run()
    }
}

enum CheckReport {
    /// Checks a rules file, the given one or that of `lupin serve`, and prints the result.
    /// - Throws: `ExitCode.badRulesFile` when there is any error.
    static func print(explicit file: String?, _ reading: SecretReading = .required) throws {
        if reading == .required,
            let path = RulesFile.locate(explicit: file, environment: LocatedRules.environment)
        {
            LocatedRules.held(path)?.tellDiffering(from: LocatedRules.environment)
        }
        let rules = try LocatedRules(
            explicit: file,
            secrets: reading,
            trustOption: "--trusted"
        )
        guard let path = rules.path else {
            return StandardOutput.print("there is no rules file: lupin runs with its defaults")
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
        StandardOutput.print(line(path, rules: count, warnings: warnings))
        for line in answers(rules.configuration) { StandardOutput.print(line) }
    }

    /// The same for a reader that is no person: nothing but the problems.
    static func print(
        explicit file: String?,
        _ reading: SecretReading,
        as format: ProblemFormat
    ) throws {
        let environment = LocatedRules.environment
        let path = RulesFile.locate(explicit: file, environment: environment)
        let result = path.map {
            RulesFile.load(path: $0, environment: environment, secrets: reading, tls: .openSSL)
        }
        let problems = (result?.errors ?? []) + (result?.warnings ?? [])
        StandardOutput.print(code: format.text(of: problems, in: path ?? ""), terminator: "")
        if result?.errors.isEmpty == false { throw ExitCode.badRulesFile }
    }

    /// `lupin.yaml: ok, 12 rules, 1 warning`.
    static func line(_ path: String, rules: Int, warnings: Int) -> String {
        var line = "\(path): ok, \(rules) \(rules == 1 ? "rule" : "rules")"
        if warnings > 0 { line += ", \(warnings) \(warnings == 1 ? "warning" : "warnings")" }
        return line
    }

    /// A line for each rule that answers https: whether it needs decryption for that.
    static func answers(_ configuration: Configuration) -> [String] {
        let rules = configuration.rules.rules
        var refusals = ConnectRefusals(configuration.rules)
        return rules.indices.compactMap { index in
            let rule = rules[index]
            switch rule.answersInside(by: configuration.settings.intercept) {
            case true:
                return refused(index, rules, &refusals, "answers")
                    ?? "  \(rule.reference) decrypts https to answer the requests inside"
            case false:
                return "  \(rule.reference) answers the CONNECT of https without decrypting it"
            case nil where rule.respond == nil && rule.mayNeedInterception:
                return refused(index, rules, &refusals, "acts on")
            case nil: return nil
            }
        }
    }

    /// That a rule never does what it says for https, since another one refuses the CONNECT; nil
    /// where that isn't certain.
    private static func refused(
        _ index: Int,
        _ rules: [Rule],
        _ refusals: inout ConnectRefusals,
        _ verb: String
    ) -> String? {
        guard let refusing = refusals.refusing(before: index) else { return nil }
        return "  \(rules[index].reference) never \(verb) https: "
            + "\(rules[refusing].reference) refuses the CONNECT first; with intercept: true "
            + "it refuses the requests inside instead"
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
