// What became of a recorded exchange, as far as rules have a say in it.
package import LupinCore
import LupinPolicy
import LupinRecords

/// The end of a past exchange, for a comparison with what other rules would do.
package enum RecordedOutcome: String, Sendable, CaseIterable {
    /// By http, to an origin or out of the cache.
    case forwarded
    /// The same, in a CONNECT that lupin decrypted.
    case decrypted
    /// As bytes of a CONNECT.
    case tunnelled
    /// By a rule or lupin's own page, without an origin.
    case answered
    /// By a rule or a setting.
    case refused
    /// For another reason, before an origin answered: the exchange never got through.
    case failed

    /// Whether something of it came to an origin, or from the cache.
    package var gotThrough: Bool {
        switch self {
        case .forwarded, .decrypted, .tunnelled: true
        case .answered, .refused, .failed: false
        }
    }

    /// Reads it from an exchange's line of the log.
    package init(_ record: JSONValue) {
        let outcome = record[field: .outcome]?.string
        if outcome == ExchangeRecord.Outcome.denied.rawValue {
            self = .refused
            return
        }
        if RecordedEnd(record).answer != nil {
            let status = record[field: .status]?.count.flatMap(UInt16.init(exactly:)) ?? 0
            self = CannedResponse.refuses(status) ? .refused : .answered
            return
        }
        let attempts = record[field: .attempts]?.list ?? []
        let isTunnel = record[field: .tunnelReceived] != nil
        if attempts.isEmpty, !isTunnel, record[field: .cacheStatus] == nil {
            self = outcome == ExchangeRecord.Outcome.ok.rawValue ? .answered : .failed
            return
        }
        if outcome == ExchangeRecord.Outcome.error.rawValue,
            !attempts.contains(where: { $0[attempt: .status] != nil })
        {
            self = .failed
            return
        }
        switch record[field: .mode]?.string {
        case "tunnel": self = .tunnelled
        case "intercept": self = .decrypted
        // Inside a CONNECT, unless it came in clear.
        case "upgrade" where record[field: .scheme]?.string == "https": self = .decrypted
        default: self = .forwarded
        }
    }
}
