// `lupin tail`: prints records of the log for people, and waits for more.
import ArgumentParser
import LupinCore
import LupinIO

struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Print records of the log as short lines, filtered.",
        discussion: "Reads the JSON lines that lupin writes, attempts and stages among them where "
            + "`log.level` asks for them. Without FILE it reads the file that `log.to` names in "
            + "the rules file."
    )

    @Flag(name: .shortAndLong, help: "Wait for more records, through rotation of the file.")
    var follow = false

    @Option(help: "Only exchanges with this host; * stands for anything.")
    var host: String?

    @Option(help: "Only this status: 404, 5xx or 200-299.")
    var status: String?

    @Option(help: "Only exchanges that this rule matched.")
    var rule: String?

    @Option(help: "Only this outcome: ok, error, aborted, truncated or denied.")
    var outcome: String?

    @Flag(help: "Print the records as they are, in JSON.")
    var json = false

    @Flag(help: "List the fields that a record can have, and what they mean.")
    var fields = false

    @Option(name: .customLong("rules"), help: "The rules file to ask for the log.")
    var rulesFile: String?

    @Argument(help: "The log; - is standard input.")
    var file: String?

    func run() throws {
        if fields { return print(Self.fieldList) }
        let filter = try makeFilter()
        let path = try file ?? LocatedLog.path(rulesFile: rulesFile)
        var tail = try open(path)
        var output = try StandardOutput()
        var printer = RecordPrinter(
            filter: filter,
            keepsJSON: json,
            text: SummaryText(
                isColoured: Terminal.isStandardOutput && !LocatedLog.isColourRefused,
                columns: Terminal.isStandardOutput ? LocatedLog.columns : nil,
                utcOffsetSeconds: Terminal.utcOffsetSeconds(at: SystemCall.wallMicroseconds())
            )
        )
        var input: [UInt8] = []
        while true {
            if try tail.read(into: &input) {
                guard output.write(printer.take(from: &input)) else { return }
                continue
            }
            // Standard input ends when its writer does; only a file can grow again.
            guard follow, path != "-" else { break }
            if tail.hasRotated {
                while try tail.read(into: &input) {}
                guard output.write(printer.take(from: &input)),
                    output.write(printer.finish(&input))
                else { return }
                try tail.reopen()
            } else {
                TailedFile.pause(milliseconds: 200)
            }
        }
        _ = output.write(printer.finish(&input))
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

    private func makeFilter() throws -> RecordFilter {
        do throws(RecordFilter.Problem) {
            return try RecordFilter(host: host, status: status, rule: rule, outcome: outcome)
        } catch {
            throw ValidationError(error.description)
        }
    }

    private func open(_ path: String) throws -> TailedFile {
        do throws(SystemError) {
            return try TailedFile(path: path == "-" ? nil : path)
        } catch {
            throw ValidationError("cannot open \(path): \(error.message)")
        }
    }
}

/// Standard output for whole pieces of text.
private struct StandardOutput: ~Copyable {
    private var file: AppendFile

    init() throws { file = try AppendFile(.standardOutput) }

    /// False when nobody reads any more.
    mutating func write(_ bytes: [UInt8]) -> Bool {
        file.write(bytes.span) { true }.error == nil
    }
}
