// Filters records, and reads their summaries from JSON lines of the log.

/// The filter of `lupin log`: every given condition must hold.
package struct RecordFilter: Sendable {
    /// An invalid option; the text says what would be valid.
    package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    private let hosts: NameSet?
    private let statuses: ClosedRange<UInt64>?
    private let rule: String?
    private let outcome: String?

    /// Creates a filter from the texts of options; nil means no condition.
    ///
    /// - Parameters:
    ///   - host: A host name in which `*` stands for any run of characters.
    ///   - status: `404`, `5xx` or `200-299`.
    ///   - rule: The name of a rule that matched.
    ///   - outcome: One of the words of ``ExchangeRecord/Outcome``.
    /// - Throws: The invalid option, with what would be valid.
    package init(
        host: String? = nil,
        status: String? = nil,
        rule: String? = nil,
        outcome: String? = nil
    ) throws(Problem) {
        hosts = host.map { NameSet([$0]) }
        self.rule = rule
        self.outcome = outcome
        if let status {
            guard let range = RecordFilter.statuses(status) else {
                throw Problem(
                    description: "unknown status \"\(status)\"; write 404, 5xx or 200-299"
                )
            }
            statuses = range
        } else {
            statuses = nil
        }
        if let outcome, ExchangeRecord.Outcome(rawValue: outcome) == nil {
            let known = ExchangeRecord.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(description: "unknown outcome \"\(outcome)\"; known are \(known)")
        }
    }

    package func matches(_ summary: RecordSummary) -> Bool {
        if let hosts, !hosts.contains(summary.host.utf8Span.span) { return false }
        if let statuses, !statuses.contains(summary.status) { return false }
        if let rule, !summary.rules.contains(rule) { return false }
        if let outcome, summary.outcome != outcome { return false }
        return true
    }

    /// Whether the line of a stage matches all given conditions.
    package func matches(_ stage: StageRecord) -> Bool {
        if let hosts, !hosts.contains(stage.host.utf8Span.span) { return false }
        if let statuses, !statuses.contains(UInt64(stage.status)) { return false }
        if let rule, !stage.rules.contains(rule) { return false }
        if let outcome, stage.outcome != outcome { return false }
        return true
    }

    private static func statuses(_ text: String) -> ClosedRange<UInt64>? {
        let bytes = Array(text.utf8)
        if bytes.count == 3, 0x31...0x35 ~= bytes[0], bytes[1] | 0x20 == 0x78,
            bytes[2] | 0x20 == 0x78
        {
            // Bounded: by one digit.
            let first = UInt64(bytes[0] &- 0x30) * 100
            return first...first &+ 99
        }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map {
            NumberReader.unsigned($0)
        }
        guard let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2,
            100...599 ~= first, 100...599 ~= last, first <= last
        else { return nil }
        return first...last
    }
}

extension RecordSummary {
    /// Reads the summary of one line of the log; returns nil when it is not an exchange record.
    package init?(_ json: JSONValue) {
        guard ["exchange", "tunnel"].contains(json[field: .event]?.string),
            let start = json[field: .timestamp]?.string.flatMap({ Self.microseconds(ofDate: $0) })
        else { return nil }
        self.init()
        startMicroseconds = start
        id = String((json[field: .id]?.string ?? "").prefix(ExchangeID.shortDigits))
        program = json[field: .program]?.string ?? ""
        status = json[field: .status]?.count ?? 0
        isHTTP2 = json[field: .version]?.string == ProtocolVersion.http2.text
        method = json[field: .originalMethod]?.string ?? json[field: .method]?.string ?? ""
        host = json[field: .domain]?.string ?? ""
        url = json[field: .url]?.string ?? host
        if json[field: .url] == nil, let port = json[field: .port]?.count {
            url = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
        sizeBytes = json[field: .tunnelReceived]?.count ?? json[field: .responseSize]?.count
        totalMicroseconds = json[field: .total]?.microseconds
        outcome = json[field: .outcome]?.string ?? ""
        reset = json[field: .reset]?.string ?? ""
        errorType = json[field: .errorType]?.string ?? ""
        errorDetail = json[field: .errorDetail]?.string ?? ""
        rules = json[field: .matched]?.list?.compactMap(\.string) ?? []
        bypassCause = json[field: .bypassCause]?.string ?? ""
        token = json[field: .token]?.string ?? ""
        tokenAction = json[field: .tokenAction]?.string ?? ""
        failedCondition = json[field: .failedCondition]?.string ?? ""
        redirects = json[field: .redirects]?.list?.count ?? 0
        attempts = json[field: .attempts]?.list?.count ?? 0
        dropped = json[field: .dropped]?.count ?? 0
    }

    /// Parses `2026-11-20T22:41:07.123456Z`, the only form that lupin writes, as µs since 1970.
    static func microseconds(ofDate text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let separators: [(Int, UInt8)] = [
            (4, 0x2D), (7, 0x2D), (10, 0x54), (13, 0x3A), (16, 0x3A), (19, 0x2E), (26, 0x5A),
        ]
        guard bytes.count == 27, separators.allSatisfy({ bytes[$0.0] == $0.1 }) else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            // Bounded: by the digits of the longest part, six.
            NumberReader.fixed(bytes.span, at: range.lowerBound, digits: range.count)
                .map { Int64($0) }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16),
            let second = number(17..<19), let fraction = number(20..<26),
            1...12 ~= month, 1...31 ~= day
        else { return nil }
        // Bounded: by the digits of every part. Years begin in March, so that leap days come last.
        let shiftedYear = month <= 2 ? year - 1 : year
        let shiftedMonth = month <= 2 ? month + 9 : month - 3
        let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
        // Bounded: by the digits of every part.
        let days = 365 * shiftedYear + leapDays + (153 * shiftedMonth + 2) / 5 + day - 1 - 719_468
        // Bounded: by the digits of every part.
        return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction
    }
}
