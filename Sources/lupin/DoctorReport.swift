// The results of the doctor, as a table for users and as JSON for programs.
import LupinCore

/// The outcome of one request by one tool.
struct DoctorOutcome: Equatable {
    enum Kind: String { case ok, failed, skipped }

    var kind: Kind
    /// The tool's last line of output, or why it was not run.
    var reason: String?
    /// The advice for the user.
    var fix: String?

    static let ok = DoctorOutcome(kind: .ok)
    static func skipped(_ reason: String) -> Self { Self(kind: .skipped, reason: reason) }

    /// It was ended; that says nothing of the tool's settings.
    static func late(_ timeout: Duration) -> Self {
        let seconds = timeout.components.seconds
        return Self(kind: .failed, reason: "no answer within \(seconds) s; is the machine busy?")
    }
}

/// The results for one tool.
struct DoctorFinding {
    let name: String
    let program: String
    let version: String
    let plain: DoctorOutcome
    let intercepted: DoctorOutcome

    var hasFailed: Bool { plain.kind == .failed || intercepted.kind == .failed }
}

struct DoctorReport {
    /// Whether lupin has a CA.
    let hasAuthority: Bool
    /// Whether `lupin exec --confine` works; nil where that was not asked.
    let confinement: DoctorOutcome?
    let findings: [DoctorFinding]
    /// Tools that are not on this machine.
    let absent: [String]

    /// One line per tool, followed by its failures.
    var table: String {
        let name = max(4, findings.map(\.name.count).max() ?? 0)
        let version = max(7, findings.map(\.version.count).max() ?? 0)
        func row(_ cells: [String]) -> String {
            let widths = [name, version, 7]
            let padded = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: max(0, width - cell.count))
            }
            return (padded + cells.dropFirst(3)).joined(separator: "  ")
        }
        var lines = [row(["tool", "version", "plain", "intercepted"])]
        for finding in findings {
            let (plain, intercepted) = (finding.plain, finding.intercepted)
            lines.append(
                row([finding.name, finding.version, plain.kind.rawValue, intercepted.kind.rawValue])
            )
            for (title, outcome) in [("plain", plain), ("intercepted", intercepted)]
            where outcome.kind == .failed {
                if let reason = outcome.reason { lines.append("    \(title): \(reason)") }
                if let fix = outcome.fix { lines.append("    to mend it: \(fix)") }
            }
        }
        if !absent.isEmpty { lines.append("not found: \(absent.joined(separator: ", "))") }
        if let confinement {
            lines.append("lupin exec --confine: \(confinement.kind.rawValue)")
            if let reason = confinement.reason { lines.append("    \(reason)") }
            if let fix = confinement.fix { lines.append("    to mend it: \(fix)") }
        }
        if !hasAuthority {
            lines.append("lupin has no CA yet, so nothing was intercepted")
        }
        return lines.joined(separator: "\n")
    }

    /// The report as JSON, in one line.
    var json: String {
        var json = JSONLine()
        json.openObject()
        json.add("absent", list: absent)
        if let confinement { confinement.write("confinement", to: &json) }
        json.openList("findings")
        for finding in findings { finding.write(to: &json) }
        json.closeList()
        json.add("hasAuthority", hasAuthority)
        json.closeObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension DoctorOutcome {
    fileprivate func write(_ key: String, to json: inout JSONLine) {
        json.openObject(key)
        if let fix { json.add("fix", text: fix) }
        json.add("kind", literal: kind.rawValue)
        if let reason { json.add("reason", text: reason) }
        json.closeObject()
    }
}

extension DoctorFinding {
    fileprivate func write(to json: inout JSONLine) {
        json.openObject()
        for (key, outcome) in [("intercepted", intercepted), ("plain", plain)] {
            outcome.write(key, to: &json)
        }
        json.add("name", text: name)
        json.add("program", text: program)
        json.add("version", text: version)
        json.closeObject()
    }
}
