// Which recorded exchanges a command reads: of which logs, since when, and by which filter.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords

/// Recorded exchanges, one after the other.
struct RecordedLines {
    /// `-` is standard input.
    let logs: [String]
    let filter: ExchangeFilter

    /// Lines that are no JSON, such as of a file that was cut.
    private(set) var broken = 0

    init(logs: [String], filter: ExchangeFilter) {
        self.logs = logs
        self.filter = filter
    }

    /// Passes the line of every exchange to `body`, without those that the filter excludes.
    mutating func read(
        _ body: (JSONValue) throws(RecordProblem) -> Void
    ) throws(RecordProblem) {
        // One time for all lines: what `--since` leaves out doesn't depend on how long it takes.
        let now = SystemCall.wallMicroseconds()
        var broken = 0
        for log in logs {
            try LogLines.read(log) { line throws(RecordProblem) in
                // Lines of stages, attempts and configurations are of no use here.
                let bytes = Array(line)
                guard let record = JSONValue(parsing: bytes.span) else {
                    broken += 1
                    return
                }
                guard ["exchange", "tunnel"].contains(record[field: .event]?.string),
                    record[field: .outcome] != nil, filter.matches(record, now: now)
                else { return }
                try body(record)
            }
        }
        self.broken = broken
    }

    /// Tells of lines that could not be read.
    func tellBroken() {
        guard broken > 0 else { return }
        let count = broken == 1 ? "1 line is" : "\(broken) lines are"
        StandardError.print("lupin: warning: \(count) no JSON and left out")
    }
}

extension ExchangeFilter {
    /// The filter that words make up, for exchanges that began within `since`, such as `1h`.
    init(commandLine words: [String], since: String?) throws {
        guard let since else {
            try self.init(commandLine: words)
            return
        }
        do throws(Units.Problem) {
            _ = try Units.duration(since)
        } catch {
            let hint = error.hint.map { "; \($0)" } ?? ""
            throw ValidationError("--since: \(error.message)\(hint)")
        }
        let age = "\(FilterKey.age.rawValue)<=\(since)"
        guard !words.isEmpty else {
            try self.init(commandLine: [age])
            return
        }
        // By themselves first, so that a mistake is shown in the user's own words.
        _ = try ExchangeFilter(commandLine: words)
        try self.init(commandLine: [age, "("] + words + [")"])
    }

    /// Refuses words that are no filter.
    static func demandFilters(_ words: [String]) throws {
        guard let other = words.first(where: { !FilterWords.belongs($0) }) else { return }
        throw ValidationError(
            "\"\(LogText.plain(other))\" is no filter, such as host:NAME (lupin help filters)"
        )
    }
}
