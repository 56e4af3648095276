// Prints the last exchanges from the memory of a running lupin, and those in progress.
import ArgumentParser
import LupinCore
import LupinIO
import LupinRecords

/// Prints the exchanges that a running lupin has in memory.
struct RunningLog {
    let admin: AdminOptions
    let count: Int
    let keepsJSON: Bool

    /// The polling interval when following.
    private static let pauseMilliseconds: Int32 = 250

    /// Prints the last exchanges and, when it `follows`, new ones.
    /// - Returns: Whether a lupin answered that keeps exchanges in memory.
    func print(_ printer: RecordPrinter, follows: Bool) throws -> Bool {
        var printer = printer
        guard let reply = try fetch(printer.filter, after: nil, limit: count) else { return false }
        var (lines, seen) = (reply.body, reply.lastID)
        var output = try StandardOutput()
        guard output.write(painted: printer.take(from: &lines)) else { return true }
        guard follows else {
            if !keepsJSON { _ = output.write(painted: underWay(printer)) }
            return true
        }
        while true {
            TailedFile.pause(milliseconds: Self.pauseMilliseconds)
            guard let reply = try fetch(printer.filter, after: seen, limit: 1_000_000) else {
                throw ExitCode.failure("the lupin that was followed has ended")
            }
            seen = reply.lastID ?? seen
            var more = reply.body
            guard output.write(painted: printer.take(from: &more)) else { return true }
        }
    }

    /// Fetches JSON lines, the oldest first; nil when no lupin answers that keeps exchanges.
    private func fetch(
        _ filter: ExchangeFilter,
        after id: String?,
        limit: Int
    ) throws -> AdminReply? {
        let after = id.map { "&after=\($0)" } ?? ""
        let text = filter.text.percentEncoded { $0.isUnreserved }
        let path = "/v1/exchanges?format=lines&limit=\(limit)&filter=\(text)\(after)"
        guard let reply = ask(path) else { return nil }
        guard reply.isSuccess else { throw ExitCode.failure(reply.sentence) }
        guard reply.lastID != nil || reply.body.isEmpty else {
            throw ExitCode.failure("the running lupin is older than this command: restart it")
        }
        if id == nil, reply.lastID == nil, !keepsExchanges { return nil }
        return reply
    }

    private var keepsExchanges: Bool {
        guard let body = ask("/v1/status")?.body else { return false }
        return JSONValue(parsing: body.span)?["history", "limit"]?.count ?? 0 > 0
    }

    private func underWay(_ printer: RecordPrinter) -> [UInt8] {
        guard let body = ask("/v1/exchanges/live")?.body,
            let live = JSONValue(parsing: body.span)?["exchanges"]?.list
        else { return [] }
        return live.filter(printer.keeps).flatMap { Array("\(LiveLine($0).text)\n".utf8) }
    }

    private func ask(_ path: String) -> AdminReply? {
        AdminClient.answer(
            "GET",
            path,
            bytesMax: AdminClient.exchangesBytesMax,
            socket: admin.socket,
            rulesFile: admin.rulesFile
        )
    }
}

/// An exchange in progress, as a line for users.
struct LiveLine {
    private let names: [String]
    private let elapsedMicroseconds: Int64
    private let phase: String

    /// Reads an element of `/v1/exchanges/live`.
    init(_ json: JSONValue) {
        let id = String((json["id"]?.string ?? "").prefix(ExchangeID.shortDigits))
        names = [id, json["method"]?.string ?? "", json["url"]?.string ?? ""]
        elapsedMicroseconds = json["elapsed"]?.microseconds ?? 0
        phase = Self.words(of: json["waits_for"]?.string ?? "")
    }

    /// What an exchange waits for, as it reads behind "for the".
    static func words(of phase: String) -> String { phase.replacing("_", with: " ") }

    /// `… 6f1c0e0b GET https://api.acme.dev/: waiting 12.0s for the response head`.
    var text: String {
        let target = LogText.plain(names.filter { !$0.isEmpty }.joined(separator: " "))
        let time = SummaryText.duration(elapsedMicroseconds)
        return "… \(target): waiting \(time) for the \(LogText.plain(phase))"
    }
}
