// Reads the summary of an exchange from its line of the log.

package import LupinCore
import LupinPolicy

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
        let steps = json[field: .steps]?.list?.compactMap(\.string) ?? []
        isAnswered = steps.contains { $0.hasPrefix(CannedResponse.stepName) }
        cache = json[field: .cacheStatus]?.string.map(CacheWords.short) ?? ""
        bypassCause = json[field: .bypassCause]?.string ?? ""
        token = json[field: .token]?.string ?? ""
        tokenAction = json[field: .tokenAction]?.string ?? ""
        failedCondition = json[field: .failedCondition]?.string ?? ""
        loginStep = json[field: .loginStep]?.string ?? ""
        redirects = json[field: .redirects]?.list?.count ?? 0
        attempts = json[field: .attempts]?.list?.count ?? 0
        dropped = json[field: .dropped]?.count ?? 0
    }

    /// Parses `2026-11-20T22:41:07.123456Z`, the only form that lupin writes, as µs since 1970.
    package static func microseconds(ofDate text: String) -> Int64? {
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
