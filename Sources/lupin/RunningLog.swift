// Prints the last exchanges from the memory of a running lupin, and those in progress.
import ArgumentParser
import LupinCore
import LupinIO

/// Prints the exchanges that a running lupin has in memory.
struct RunningLog {
    let place: AdminPlace
    let count: Int
    let keepsJSON: Bool

    /// The polling interval when following.
    private static let pauseMilliseconds: Int32 = 250

    /// Prints the last exchanges and, when it `follows`, new ones.
    /// - Returns: Whether a lupin answered that keeps exchanges in memory.
    func print(_ printer: RecordPrinter, follows: Bool) throws -> Bool {
        var printer = printer
        guard var lines = lines(after: nil, limit: max(count, 1)) else { return false }
        var output = try StandardOutput()
        var seen = Self.lastID(in: lines)
        if count == 0 { lines = [] }
        guard output.write(printer.take(from: &lines)) else { return true }
        guard follows else {
            if !keepsJSON { _ = output.write(underWay(printer)) }
            return true
        }
        while true {
            TailedFile.pause(milliseconds: Self.pauseMilliseconds)
            guard var more = self.lines(after: seen, limit: 1_000_000) else {
                throw ValidationError("the lupin that was followed has ended")
            }
            seen = Self.lastID(in: more) ?? seen
            guard output.write(printer.take(from: &more)) else { return true }
        }
    }

    /// Returns the id in the last line.
    private static func lastID(in lines: [UInt8]) -> String? {
        let last = lines.dropLast().lastIndex(of: 0x0A).map { lines[($0 + 1)...] } ?? lines[...]
        let bytes = Array(last.prefix { $0 != 0x0A })
        return JSONValue(parsing: bytes.span)?[field: .id]?.string
    }

    /// Fetches JSON lines, the oldest first; nil when no lupin answers that keeps exchanges.
    private func lines(after id: String?, limit: Int) -> [UInt8]? {
        let after = id.map { "&after=\($0)" } ?? ""
        let path = "/v1/exchanges?format=lines&limit=\(limit)\(after)"
        guard let reply = ask(path), reply.isSuccess else { return nil }
        if id == nil, reply.body.isEmpty, !keepsExchanges { return nil }
        return reply.body
    }

    private var keepsExchanges: Bool {
        guard let body = ask("/v1/status")?.body else { return false }
        return JSONValue(parsing: body.span)?["history", "limit"]?.count ?? 0 > 0
    }

    private func underWay(_ printer: RecordPrinter) -> [UInt8] {
        guard let body = ask("/v1/exchanges/live")?.body,
            let live = JSONValue(parsing: body.span)?["exchanges"]?.list
        else { return [] }
        return live.map(LiveLine.init).filter { printer.filter.matches($0.summary) }
            .flatMap { Array("\($0.text)\n".utf8) }
    }

    private func ask(_ path: String) -> AdminReply? {
        AdminClient.answer("GET", path, socket: place.socket, rulesFile: place.rulesFile)
    }
}

/// An exchange in progress, as a line for users.
struct LiveLine {
    let summary: RecordSummary
    private let elapsedMicroseconds: Int64
    private let phase: String

    /// Reads an element of `/v1/exchanges/live`.
    init(_ json: JSONValue) {
        var summary = RecordSummary()
        summary.id = String((json["id"]?.string ?? "").prefix(ExchangeID.shortDigits))
        summary.method = json["method"]?.string ?? ""
        summary.url = json["url"]?.string ?? ""
        summary.host = HTTPURL(summary.url)?.origin.host.text ?? ""
        summary.rules = json["rules", "matched"]?.list?.compactMap(\.string) ?? []
        self.summary = summary
        elapsedMicroseconds = json["elapsed"]?.microseconds ?? 0
        phase = (json["waits_for"]?.string ?? "").replacing("_", with: " ")
    }

    /// `… 6f1c0e0b GET https://api.acme.dev/: waiting 12.0s for the response head`.
    var text: String {
        let what = [summary.id, summary.method, summary.url].filter { !$0.isEmpty }
        let place = LogText.plain(what.joined(separator: " "))
        let time = SummaryText.duration(elapsedMicroseconds)
        return "… \(place): waiting \(time) for the \(phase)"
    }
}
