// The line about an exchange for users: its content, and its layout on a terminal.

package import LupinCore
import LupinPolicy

/// The data that the text format shows of a record; `lupin log` reads it from a JSON line, lupin
/// itself from the record.
///
/// Texts are redacted already, and escaped only when they are printed.
package struct RecordSummary: Sendable, Equatable {
    package var startMicroseconds: Int64 = 0
    /// The first digits of the exchange's id.
    package var id = ""
    package var program = ""
    /// 0 when the client got no response.
    package var status: UInt64 = 0
    /// Whether the client used HTTP/2.
    package var isHTTP2 = false
    package var method = ""
    package var url = ""
    package var host = ""
    /// Bytes that the client got: of the body, or through the tunnel.
    package var sizeBytes: UInt64?
    package var totalMicroseconds: Int64?
    package var outcome = ""
    /// The error code with which the client's stream ended early.
    package var reset = ""
    package var errorType = ""
    package var errorDetail = ""
    package var rules: [String] = []
    /// Whether a rule answered.
    package var isAnswered = false
    /// What the cache did, as ``CacheWords`` says it; empty where it did nothing.
    package var cache = ""
    /// The alert with which the client caused its tunnel to bypass the rules.
    package var bypassCause = ""
    /// The token that was used, and the result.
    package var token = ""
    package var tokenAction = ""
    /// The condition of `validate:` that does not hold.
    package var failedCondition = ""
    /// The scheme of the client's login that goes on behind the response.
    package var loginStep = ""
    /// The number of redirects that were followed.
    package var redirects = 0
    package var attempts = 0
    package var dropped: UInt64 = 0

    package init() {}

    /// Reads the summary of `record`.
    package init(_ record: borrowing ExchangeRecord, dropped: Int, redactor: Redactor) {
        startMicroseconds = record.startMicroseconds
        id = record.id.short
        program = redactor.cleaned(record.client.program ?? "")
        status = UInt64(record.response?.status ?? 0)
        isHTTP2 = record.version == .http2
        if let origin = record.origin { host = redactor.cleaned(origin.host.text) }
        if let request = record.request {
            method = redactor.cleaned(request.method.token)
            if let origin = record.origin { url = redactor.recordedURL(of: request, at: origin) }
        } else if let origin = record.origin {
            url = redactor.cleaned(origin.hostAndPort)
        }
        sizeBytes = record.tunnel?.receivedBytes ?? record.responseBodyBytes
        totalMicroseconds = record.timing.total
        outcome = record.outcome.rawValue
        reset = record.reset?.code.name ?? ""
        if let error = record.error {
            errorType = error.kind.token
            errorDetail = redactor.cleaned(error.recordedDetail)
        }
        rules = record.rules.matched.map { redactor.cleaned($0) }
        isAnswered = record.rules.steps.contains { $0.hasPrefix(CannedResponse.stepName) }
        cache = record.cache.map(CacheWords.short) ?? ""
        bypassCause = record.bypass?.cause ?? ""
        if let authentication = record.authentication {
            token = redactor.cleaned(authentication.token)
            tokenAction = authentication.action.rawValue
        }
        failedCondition = redactor.cleaned(record.validation?.condition ?? "")
        loginStep = redactor.cleaned(record.loginStep ?? "")
        redirects = record.redirects.count
        attempts = record.attempts.count
        self.dropped = UInt64(max(0, dropped))
    }
}

/// Writes summaries as lines for users.
package struct SummaryText: Sendable {
    package var isColoured: Bool
    /// The width of the terminal; longer URLs are shortened in the middle.
    ///
    /// nil: lines may have any length.
    package var columns: Int?
    var timestamp: TimestampText
    /// The day of the previous line.
    private var day: [UInt8]?

    /// With `now`, in microseconds since 1970, a date precedes the first line of another day.
    package init(
        isColoured: Bool,
        columns: Int? = nil,
        utcOffsetSeconds: Int64 = 0,
        now: Int64? = nil
    ) {
        self.isColoured = isColoured
        self.columns = columns
        timestamp = TimestampText(utcOffsetSeconds: utcOffsetSeconds)
        guard let now else { return }
        var today: [UInt8] = []
        timestamp.append(dayOf: now, to: &today)
        day = today
    }

    /// Appends `22:41:07.123 200 6f1c0e0b GET       5.0KiB  743ms https://api.acme.dev/ [acme]`.
    ///
    /// On a terminal, the text after the URL is aligned at the right margin; what does not fit,
    /// and what failed, gets a line of its own. Elsewhere all of it is one line.
    package mutating func append(_ summary: RecordSummary, to bytes: inout [UInt8]) {
        appendDay(of: summary.startMicroseconds, to: &bytes)
        let time = timeOfDay(of: summary.startMicroseconds)
        let id = LogText.plain(summary.id.isEmpty ? "--------" : summary.id)
        let facts = SummaryText.columns(of: summary)
        let notes = SummaryText.notes(on: summary)
        let failure = SummaryText.failure(of: summary)
        let lead = time.count + id.count + 6
        let room = columns.map { $0 - lead - facts.count - SummaryText.urlColumns - 1 }
        let areBeside = notes.isEmpty || room.map { $0 >= notes.count } ?? true
        let beside = areBeside ? notes : ""
        let taken = lead + facts.count + (beside.isEmpty ? 0 : beside.count + 1)
        add(time, .dim, to: &bytes)
        bytes.append(0x20)
        let status = summary.status > 0 ? String(summary.status) : "---"
        add(status, SummaryText.colour(ofStatus: summary.status), to: &bytes)
        bytes.append(0x20)
        add(id, .dim, to: &bytes)
        let url = fitted(LogText.plain(summary.url), taken: taken, isPadded: !beside.isEmpty)
        bytes.append(contentsOf: " \(facts)\(url)".utf8)
        add(behind: beside, .dim, to: &bytes)
        let indentation = "\n" + String(repeating: " ", count: lead - 1)
        if !areBeside {
            bytes.append(contentsOf: indentation.utf8)
            add(behind: notes, .dim, to: &bytes)
        }
        if columns != nil, !failure.isEmpty { bytes.append(contentsOf: indentation.utf8) }
        add(behind: failure, .red, to: &bytes)
        bytes.append(0x0A)
    }

    private mutating func timeOfDay(of microseconds: Int64) -> String {
        var time: [UInt8] = []
        timestamp.append(timeOfDay: microseconds, to: &time)
        return String(decoding: time, as: UTF8.self)
    }

    private func add(behind text: String, _ colour: Colour, to bytes: inout [UInt8]) {
        guard !text.isEmpty else { return }
        bytes.append(0x20)
        add(text, colour, to: &bytes)
    }

    /// Appends `--- 2026-11-23` when the day differs from that of the previous line.
    mutating func appendDay(of microseconds: Int64, to bytes: inout [UInt8]) {
        var day: [UInt8] = []
        timestamp.append(dayOf: microseconds, to: &day)
        defer { self.day = day }
        guard let last = self.day, last != day else { return }
        add("--- \(String(decoding: day, as: UTF8.self))", .dim, to: &bytes)
        bytes.append(0x0A)
    }

    /// What a URL keeps of a narrow terminal.
    private static let urlColumns = 24

    /// Method, size and duration, each in its column.
    private static func columns(of summary: RecordSummary) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let method = LogText.plain(summary.method)
        let size = summary.sizeBytes.map(SummaryText.size) ?? ""
        let total = summary.totalMicroseconds.map(SummaryText.duration) ?? ""
        return method + padded(size, max(0, 16 - method.count)) + " " + padded(total, 6) + " "
    }

    /// The text after the URL.
    private static func notes(on summary: RecordSummary) -> String {
        var parts: [String] = []
        if summary.isAnswered { parts.append("answered") }
        if !summary.cache.isEmpty { parts.append(summary.cache) }
        if summary.isHTTP2 { parts.append("h2") }
        if summary.attempts > 1 { parts.append("×\(summary.attempts)") }
        if summary.redirects > 0 {
            parts.append(summary.redirects == 1 ? "1 redirect" : "\(summary.redirects) redirects")
        }
        // The normal use of a credential is not shown.
        if !["", "none", "used"].contains(summary.tokenAction) {
            parts.append("\(summary.token) \(summary.tokenAction)")
        }
        if !summary.program.isEmpty { parts.append(summary.program) }
        if summary.bypassCause.isEmpty, !summary.rules.isEmpty {
            parts.append("[\(summary.rules.joined(separator: ", "))]")
        }
        if !summary.loginStep.isEmpty { parts.append("a step of the login (\(summary.loginStep))") }
        return LogText.plain(parts.joined(separator: " "))
    }

    /// What went wrong; empty where nothing did.
    private static func failure(of summary: RecordSummary) -> String {
        var parts: [String] = []
        if !summary.bypassCause.isEmpty {
            parts.append(
                "rules bypassed: the client refused the certificate (\(summary.bypassCause))"
            )
        }
        if !summary.failedCondition.isEmpty {
            parts.append("validate: \(summary.failedCondition)")
        }
        if summary.outcome != "ok" {
            parts.append(summary.outcome)
            if !summary.reset.isEmpty { parts.append(summary.reset) }
        }
        if !summary.errorType.isEmpty {
            let detail = summary.errorDetail.isEmpty ? "" : ": \(summary.errorDetail)"
            parts.append(summary.errorType + detail)
        }
        if summary.dropped > 0 { parts.append("(\(summary.dropped) lines lost before this one)") }
        return LogText.plain(parts.joined(separator: " "))
    }

    /// Fits `url` into the remaining width; a longer one is shortened in the middle with `…`.
    ///
    /// A URL keeps at least 24 columns; a shorter one `isPadded` up to what stands behind it.
    func fitted(_ url: String, taken: Int, isPadded: Bool = true) -> String {
        guard let columns else { return url }
        let room = max(SummaryText.urlColumns, columns - taken)
        guard url.count > room else {
            guard isPadded else { return url }
            return url + String(repeating: " ", count: min(room, columns) - url.count)
        }
        let end = (room - 1) / 3
        return "\(url.prefix(room - 1 - end))…\(url.suffix(end))"
    }

    /// `512B`, `5.0KiB`, `1.2GiB`.
    package static func size(_ bytes: UInt64) -> String {
        if bytes < 1024 { return "\(bytes)B" }
        var unit = 0
        var tenths = bytes
        while tenths >= 1024 << 10, unit < 4 {
            tenths >>= 10
            unit += 1
        }
        // `tenths` is below 1 MiB unless the last unit is reached, so nothing overflows.
        tenths = tenths < 1 << 50 ? tenths * 10 / 1024 : tenths / 1024 * 10
        return "\(tenths / 10).\(tenths % 10)" + ["KiB", "MiB", "GiB", "TiB", "PiB"][unit]
    }

    /// `743ms`, `12.3s`, `5m03s`.
    package static func duration(_ microseconds: Int64) -> String {
        let milliseconds = max(0, microseconds) / 1000
        if milliseconds < 10_000 { return "\(milliseconds)ms" }
        let seconds = milliseconds / 1000
        if seconds < 100 { return "\(seconds).\(milliseconds % 1000 / 100)s" }
        return "\(seconds / 60)m\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)s"
    }

    enum Colour: String {
        case dim = "2", red = "31", green = "32", yellow = "33", cyan = "36"
    }

    static func colour(ofStatus status: UInt64) -> Colour {
        switch status {
        case 200..<300: .green
        case 300..<400: .cyan
        case 400..<500: .yellow
        case 100..<200: .dim
        default: .red
        }
    }

    func add(_ text: String, _ colour: Colour, to bytes: inout [UInt8]) {
        guard isColoured, !text.isEmpty else {
            bytes.append(contentsOf: text.utf8)
            return
        }
        bytes.append(contentsOf: "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m".utf8)
    }
}
