// The log line about a change of the rules, or about a rejected one.
import LupinCore
import LupinIO
import LupinRecords

/// A change of the rules, logged so that the `rules.version` of a record can be looked up.
struct ConfigurationEvent: Sendable {
    let microseconds: Int64
    /// The version in force from now on.
    let version: String
    let result: ReloadResult

    /// The log line; empty when none is due.
    func line(_ style: RecordStyle, isOff: Bool, _ redactor: Redactor) -> [UInt8] {
        switch (result, style) {
        case (.unchanged, _): return []
        // `log: off` still logs lupin's own failures.
        case (.loaded, _) where isOff: return []
        case (_, .json): return json(redactor)
        case (_, .text(_, _, let utcOffsetSeconds)): return text(redactor, utcOffsetSeconds)
        }
    }

    private func json(_ redactor: Redactor) -> [UInt8] {
        var line = JSONLine()
        line.openObject()
        line.add("schema", RecordFormat.schema)
        var time: [UInt8] = []
        var timestamp = TimestampText()
        timestamp.append(date: microseconds, to: &time)
        line.add("ts", text: time.span)
        line.add("event", literal: "config")
        switch result {
        case .loaded(_, let warnings):
            line.add("outcome", literal: "loaded")
            add(warnings, to: &line, as: "warnings", redactor)
        case .rejected(let errors):
            line.add("outcome", literal: "rejected")
            line.openObject("error")
            line.add("type", literal: "config_rejected")
            line.add("side", literal: ErrorSide.config.rawValue)
            line.closeObject()
            add(errors, to: &line, as: "errors", redactor)
        case .unchanged: break
        }
        line.openObject("rules")
        line.add("version", text: version)
        line.closeObject()
        line.closeObject()
        line.endLine()
        return line.bytes
    }

    private func text(_ redactor: Redactor, _ utcOffsetSeconds: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        var timestamp = TimestampText(utcOffsetSeconds: utcOffsetSeconds)
        timestamp.append(timeOfDay: microseconds, to: &bytes)
        let words: String =
            switch result {
            case .loaded(let version, _): " --- rules \(version) loaded"
            case .unchanged(let version): " --- rules \(version) unchanged"
            case .rejected(let errors):
                " --- rules rejected, \(version) stays: \(Self.sentence(errors.first ?? ""))"
            }
        LogText.append(redactor.cleaned(words), as: .plain, to: &bytes)
        bytes.append(0x0A)
        return bytes
    }

    private func add(
        _ texts: [String],
        to line: inout JSONLine,
        as key: String,
        _ redactor: Redactor
    ) {
        guard !texts.isEmpty else { return }
        let shown = texts.prefix(Self.textsMax)
        line.add(key, list: shown.map { redactor.cleaned(Self.sentence($0)) })
    }

    private static let textsMax = 20

    /// Place, problem and code without the quoted line of the file, which may hold a secret that no
    /// redactor knows yet.
    static func sentence(_ text: String) -> String {
        String(text.prefix { $0 != "\n" })
    }
}
