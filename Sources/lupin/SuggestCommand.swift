// `lupin suggest`: writes rules that allow what a log used, and nothing else.
import ArgumentParser
import LupinConsole
import LupinCore
import LupinIO
import LupinRecords

struct SuggestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suggest",
        abstract: "Write an allow list of what recorded exchanges used.",
        discussion: """
            Reads a log and writes a rules file that allows the hosts, ports and methods in it \
            and refuses everything else. Comments say how often and by which programs. Without \
            --log it reads the file of log.to in the rules file.

              lupin suggest --since 1h > allow.yaml
              lupin suggest --log build.jsonl program:pip > pip.yaml
              lupin check allow.yaml --against build.jsonl

            Methods of https are known, and limited, only for hosts that were decrypted; hosts \
            that were tunnelled stay so. Three or more hosts below a name of three labels \
            become a pattern such as *.eu.files.example, unless one of them was refused. What \
            failed or was refused is listed at the end as comments.

            Exit codes: 0 written, 1 a log cannot be read or names too much, 64 wrong command \
            line.
            """
    )

    @Option(
        help: ArgumentHelp(
            "A log to read; - is standard input. May be repeated, such as for lupin.jsonl.1.",
            valueName: "file"
        ),
        completion: .file()
    )
    var log: [String] = []

    @Option(help: ArgumentHelp("Only exchanges of that time, such as 1h.", valueName: "duration"))
    var since: String?

    @Option(rulesFile: "The rules file whose log.to is read.")
    var rulesFile: String?

    @Argument(help: ArgumentHelp("Which exchanges count.", valueName: "filter"))
    var words: [String] = []

    func validate() throws {
        if let word = words.first(where: LogCommand.isFile) {
            let name = LogText.plain(word)
            throw ValidationError(
                "\"\(name)\" is no filter, such as host:NAME; a log is read by --log \(name)"
            )
        }
        _ = try ExchangeFilter(commandLine: words, since: since)
        if rulesFile != nil, !log.isEmpty {
            throw ValidationError("--rules and --log exclude each other")
        }
    }

    func run() throws {
        var lines = RecordedLines(
            logs: log.isEmpty
                ? [try LocatedLog.path(rulesFile: rulesFile, ways: "--rules or --log")] : log,
            filter: try ExchangeFilter(commandLine: words, since: since)
        )
        var seen = SeenTargets()
        do throws(RecordProblem) {
            try lines.read { record throws(RecordProblem) in
                do throws(SeenProblem) {
                    try seen.add(record)
                } catch {
                    throw RecordProblem(message: error.sentence)
                }
            }
        } catch {
            StandardError.print("lupin: \(error.message)")
            throw ExitCode.failure
        }
        lines.tellBroken()
        if seen.exchanges == 0 {
            StandardError.print("lupin: warning: no exchange in the log counts")
        }
        var output = try StandardOutput()
        if let error = output.error(writing: AllowListText.text(of: seen)) {
            StandardError.print("lupin: cannot write the rules: \(error.message)")
            throw ExitCode.failure
        }
    }
}
