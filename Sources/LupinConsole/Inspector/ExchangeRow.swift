// A row of the inspector's list: what it shows of an exchange, and in which columns.
package import LupinCore
import LupinRecords

/// An exchange in the list; texts are cleaned when they are drawn.
package struct ExchangeRow: Sendable, Equatable {
    /// The whole ID.
    package var id = ""
    package var startMicroseconds: Int64 = 0
    package var method = ""
    /// 0 without a response.
    package var status: UInt64 = 0
    package var url = ""
    package var host = ""
    /// So far, of one under way.
    package var durationMicroseconds: Int64?
    package var sizeBytes: UInt64?
    package var rules: [String] = []
    package var outcome = ""
    /// What it waits for; nil when it has ended.
    package var waitsFor: String?

    package var isLive: Bool { waitsFor != nil }

    /// Reads a line of the log; nil when it is not an exchange's.
    package init?(record: JSONValue) {
        guard let summary = RecordSummary(record), let id = record[field: .id]?.string else {
            return nil
        }
        self.id = id
        startMicroseconds = summary.startMicroseconds
        method = summary.method
        status = summary.status
        url = summary.url
        host = summary.host
        durationMicroseconds = summary.totalMicroseconds
        sizeBytes = summary.sizeBytes
        rules = summary.rules
        outcome = summary.outcome
    }

    /// Reads the description of an exchange under way.
    package init?(live: JSONValue) {
        guard let id = live["id"]?.string else { return nil }
        self.id = id
        startMicroseconds = live["ts"]?.string.flatMap(RecordSummary.microseconds(ofDate:)) ?? 0
        method = live["method"]?.string ?? ""
        url = live["url"]?.string ?? live["host"]?.string ?? ""
        host = live["host"]?.string ?? ""
        durationMicroseconds = live["elapsed"]?.microseconds
        sizeBytes = live["bytes", "client_out"]?.count
        rules = live["rules", "matched"]?.list?.compactMap(\.string) ?? []
        waitsFor = (live["waits_for"]?.string ?? "").replacing("_", with: " ")
    }

    /// Host, path and query, without the scheme.
    var target: String {
        for scheme in ["https://", "http://"] where url.hasPrefix(scheme) {
            return String(url.dropFirst(scheme.count))
        }
        return url
    }

    /// Whether something went wrong with it.
    var isBad: Bool { !isLive && outcome != "ok" }
}

/// The columns of the list for a width; the least important ones are left out first.
struct RowColumns {
    var time = 0
    var method = 7
    var status = 3
    var target: Int
    var duration = 0
    var size = 0
    var rules = 0

    init(columns: Int) {
        if columns >= 50 { time = 8 }
        if columns >= 110 { time = 12 }
        if columns >= 30 { duration = 6 }
        if columns >= 60 { size = 6 }
        if columns >= 72 { rules = max(10, min(30, columns / 6)) }
        let fixed = [time, method, status, duration, size, rules].filter { $0 > 0 }
        // A space in front of the host, and one behind each other column.
        target = max(1, columns - fixed.reduce(0, +) - fixed.count)
    }

    /// The line above the rows.
    var title: ScreenLine {
        var line = ScreenLine()
        add(
            to: &line,
            time: ("time", .dim),
            method: "method",
            status: ("", .dim),
            target: ("host and path", .dim),
            duration: "took",
            size: "size",
            rules: "rules",
            style: .dim
        )
        return line
    }

    /// The line of an exchange.
    func line(_ row: ExchangeRow, time timestamp: inout TimestampText) -> ScreenLine {
        var line = ScreenLine()
        var start: [UInt8] = []
        timestamp.append(timeOfDay: row.startMicroseconds, to: &start)
        let status = row.isLive ? "…" : row.status > 0 ? "\(row.status)" : "---"
        add(
            to: &line,
            time: (String(decoding: start.prefix(time), as: UTF8.self), .dim),
            method: row.method,
            status: (status, Self.style(ofStatus: row)),
            target: (ScreenText.shortened(row.target, columns: target), row.isBad ? .red : .plain),
            duration: row.durationMicroseconds.map { SummaryText.duration($0) } ?? "",
            size: row.sizeBytes.map(Self.size) ?? "",
            rules: row.rules.joined(separator: ","),
            style: row.isLive ? .cyan : .dim
        )
        return line
    }

    private func add(
        to line: inout ScreenLine,
        time: (String, ScreenStyle),
        method: String,
        status: (String, ScreenStyle),
        target: (String, ScreenStyle),
        duration: String,
        size: String,
        rules: String,
        style: ScreenStyle
    ) {
        if self.time > 0 {
            line.append(time.0, columns: self.time, time.1)
            line.append(" ")
        }
        line.append(status.0, columns: self.status, status.1)
        line.append(" ")
        line.append(method, columns: self.method, style == .cyan ? .cyan : .plain)
        line.append(" ")
        line.append(target.0, columns: self.target, style == .cyan ? .cyan : target.1)
        if self.duration > 0 {
            line.append(" ")
            line.append(duration, columns: self.duration, isRight: true, style)
        }
        if self.size > 0 {
            line.append(" ")
            line.append(size, columns: self.size, isRight: true, style)
        }
        if self.rules > 0 {
            line.append(" ")
            line.append(rules, columns: self.rules, style)
        }
    }

    static func style(ofStatus row: ExchangeRow) -> ScreenStyle {
        if row.isLive { return .cyan }
        return switch row.status {
        case 200..<300: .green
        case 300..<400: .cyan
        case 400..<500: .yellow
        case 100..<200: .dim
        default: .red
        }
    }

    /// `512B`, `5.0K`, `1.2G`: at most six columns.
    static func size(_ bytes: UInt64) -> String {
        let text = SummaryText.size(bytes)
        guard text.hasSuffix("iB") else { return text }
        let short = text.dropLast(2)
        // `1023.9K` has a digit too many.
        guard short.utf8.count > 6, let point = short.firstIndex(of: ".") else {
            return String(short)
        }
        return String(short[..<point]) + short.suffix(1)
    }
}
