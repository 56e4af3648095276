// `lupin check FILE --against LOG`: what a rules file would have done with recorded exchanges.
import ArgumentParser
import LupinConsole
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

/// Rehearses the exchanges of logs.
struct CheckAgainst {
    let rules: LocatedRules
    var lines: RecordedLines
    let isJSON: Bool
    let tellsAll: Bool

    /// Prints what would change.
    /// - Throws: `ExitCode.refusesMore` when exchanges would be refused that were not.
    mutating func run() throws {
        let replay = LogReplay(rules.configuration)
        var report = ReplayReport()
        do throws(RecordProblem) {
            try lines.read { record throws(RecordProblem) in
                report.add(replay.replay(record), of: record)
            }
        } catch {
            StandardError.print("lupin: \(error.message)")
            throw ExitCode.failure
        }
        lines.tellBroken()
        var output = try StandardOutput()
        let text = isJSON ? json(report) : text(report, replay.notes)
        if let error = output.error(writing: text) {
            StandardError.print("lupin: cannot write the report: \(error.message)")
            throw ExitCode.failure
        }
        if report.refusesMore { throw ExitCode.refusesMore }
    }

    private var file: String { rules.path ?? "the defaults" }

    private func text(_ report: ReplayReport, _ notes: [String]) -> String {
        let logs = lines.logs.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
        let count = report.exchanges == 1 ? "1 exchange" : "\(report.exchanges) exchanges"
        let lines =
            ["\(file) against \(logs): \(count)"] + report.lines(tellsAll: tellsAll)
            + notes.map { "note: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private func json(_ report: ReplayReport) -> String {
        var line = JSONLine()
        line.openObject()
        if let path = rules.path { line.add("file", text: path) }
        line.add("version", text: rules.configuration.version)
        line.add("logs", list: lines.logs)
        line.add("broken", UInt64(lines.broken))
        report.add(to: &line)
        line.closeObject()
        line.endLine()
        return String(decoding: line.bytes, as: UTF8.self)
    }
}

extension ExitCode {
    /// Exchanges of a log would be refused that were not.
    static let refusesMore = ExitCode(3)
}
