// Writes diagnostics to standard error, for users and for journals, without blocking for long.
import Logging
import LupinCore
import LupinIO
import LupinRules

enum StandardError {
    /// Writes a text and a newline in one piece; nothing in it can act on a terminal.
    ///
    /// When the reader takes nothing for a second the rest is dropped: a paused terminal must not
    /// block a worker.
    static func print(_ text: String) { write(LogText.lines(text)) }

    /// Prints problems of a rules file; on a terminal the word `warning` is yellow, to tell them
    /// from the errors that keep lupin from starting.
    static func print(problems: [Diagnostic]) {
        let report = LogText.lines(problems.report())
        guard Terminal.isStandardError, !LocatedLog.isColourRefused else { return write(report) }
        write(report.replacing(": warning: ", with: ": \u{1B}[33mwarning:\u{1B}[0m "))
    }

    private static func write(_ text: String) {
        guard var file = try? AppendFile(.standardError) else { return }
        _ = file.write(Array("\(text)\n".utf8).span) { false }
    }
}

/// Diagnostics as `lupin: warning: …`, preceded by the time unless a terminal shows them.
struct StandardErrorLog: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let hasTime: Bool

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line: [UInt8] = []
        if hasTime {
            var time = TimestampText()
            time.append(date: SystemCall.wallMicroseconds(), to: &line)
            line.append(0x20)
        }
        line.append(contentsOf: "lupin: \(Self.prefix(of: event.level))".utf8)
        LogText.append("\(event.message)", as: .plain, to: &line)
        let values = metadata.merging(event.metadata ?? [:]) { _, own in own }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            LogText.append(" \(key)=\(value)", as: .plain, to: &line)
        }
        StandardError.print(String(decoding: line, as: UTF8.self))
    }

    private static func prefix(of level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "debug: "
        case .info, .notice: ""
        case .warning: "warning: "
        case .error, .critical: "error: "
        }
    }
}

/// The levels of `--log-level`, lowest first.
enum DiagnosticLevel: String, CaseIterable {
    case debug, notice, warning, error

    var level: Logger.Level {
        switch self {
        case .debug: .debug
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
