// `lupin log`: prints the latest exchanges as short lines, and follows new ones.
import ArgumentParser
import LupinIO
import LupinRecords

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print the last exchanges, one line each.",
        discussion: """
            Asks the running lupin. Exchanges that have not ended come last, with what they wait \
            for. If no lupin runs, the file of log.to in the rules file is read, or what lupin \
            exec left. Give a FILE to read that log, or - for standard input.

              lupin log
              lupin log -f 'host:*.acme.dev' status:5xx
              lupin log -n 5 rule:github outcome:error
              lupin log 'duration>1s or (status:404 and not host:localhost)'
              lupin log --json lupin.jsonl | jq .timing

            A filter compares: host:api.acme.dev, status:5xx, url~/v1/, duration>1s, rule:NAME, \
            outcome:WORD (ok, error, aborted, truncated or denied) and more. Join comparisons by \
            and, or, not and parentheses; lupin help filters lists all keys. The digits after \
            the status are the exchange's ID: pass them to lupin explain.
            """,
        aliases: ["tail"]
    )

    @Flag(name: .shortAndLong, help: "Wait for more, through rotation of a file.")
    var follow = false

    @Option(
        name: .customShort("n"),
        help: ArgumentHelp(
            "How many of the last ones; without it 50, and all of a FILE.",
            valueName: "count"
        )
    )
    var count: Int?

    @Option(help: "The same as host:NAME.")
    var host: String?

    @Option(help: "The same as status:NUMBER.")
    var status: String?

    @Option(help: "The same as rule:NAME.")
    var rule: String?

    @Option(help: "The same as outcome:WORD.")
    var outcome: String?

    @Flag(help: "Print the records as they are, in JSON.")
    var json = false

    @Flag(help: "List the fields that a record can have, and what they mean.")
    var fields = false

    @OptionGroup var admin: AdminOptions

    @Argument(help: ArgumentHelp("Filters, and a log: FILE or -.", valueName: "filter"))
    var words: [String] = []

    private static let usualCount = 50

    /// The words that aren't filters: names of files.
    private var files: [String] { words.filter(Self.isFile) }

    /// A word that looks like a comparison, but of no key that exists, may be a file.
    static func isFile(_ word: String) -> Bool {
        !FilterWords.belongs(word)
            || !FilterWords.namesKey(word) && FileStatus(path: word) != nil
    }

    func validate() throws {
        if let count, count < 0 { throw ValidationError("-n takes a count") }
        if files.count > 1 {
            throw ValidationError(
                "\"\(files[1])\" is no filter, such as host:NAME, and one FILE can be read"
            )
        }
        _ = try makeFilter()
    }

    func run() throws {
        if fields { return StandardOutput.print(Self.fieldList) }
        let printer = try makePrinter()
        if let file = files.first {
            var log = LogFile(path: file, count: count, printer: printer)
            return try log.print(follows: follow)
        }
        let running = RunningLog(admin: admin, count: count ?? Self.usualCount, keepsJSON: json)
        if try running.print(printer, follows: follow) { return }
        let path = try LocatedLog.path(
            rulesFile: admin.rulesFile,
            ways: "--socket, --rules or a FILE"
        )
        var log = LogFile(path: path, count: count ?? Self.usualCount, printer: printer)
        try log.print(follows: follow)
    }

    private func makePrinter() throws -> RecordPrinter {
        let now = SystemCall.wallMicroseconds()
        return RecordPrinter(
            filter: try makeFilter(),
            keepsJSON: json,
            text: SummaryText(
                isColoured: Terminal.isStandardOutput && !LocatedLog.isColourRefused,
                columns: Terminal.isStandardOutput ? LocatedLog.columns : nil,
                utcOffsetSeconds: Terminal.utcOffsetSeconds(at: now),
                now: now
            ),
            clock: SystemCall.wallMicroseconds
        )
    }

    private func makeFilter() throws -> ExchangeFilter {
        let options = [
            (FilterKey.host, host), (.status, status), (.rule, rule), (.outcome, outcome),
        ]
        let given = options.compactMap { key, value in
            value.map { ExchangeFilter.comparison(key, $0, isExact: key == .rule) }
        }
        let words = words.filter { !Self.isFile($0) }
        // All options must hold, whatever the words say.
        guard !given.isEmpty, !words.isEmpty else {
            return try ExchangeFilter(commandLine: given + words)
        }
        _ = try ExchangeFilter(commandLine: words)
        return try ExchangeFilter(commandLine: given + ["("] + words + [")"])
    }

    private static var fieldList: String {
        let attempts = AttemptField.allCases.map { field in
            (path: "attempts[].\(field.row.path)", meaning: field.row.meaning)
        }
        let fields = RecordField.allCases.map { ($0.row.path, $0.row.meaning) } + attempts
        let width = fields.map(\.0.count).max() ?? 0
        return fields.map { path, meaning in
            path + String(repeating: " ", count: width + 2 - path.count) + meaning
        }.joined(separator: "\n")
    }
}
