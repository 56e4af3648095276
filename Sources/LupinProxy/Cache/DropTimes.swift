// When URLs were dropped from the store: what was requested before that must not get in afterwards.
import LupinCore

/// The times of the latest drops, in microseconds since 1970.
struct DropTimes {
    private var times: [String: Int64] = [:]
    /// What was requested until then counts as dropped, whatever its URL.
    private var allUs = Int64.min

    /// Beyond so many URLs the earlier half is forgotten, and counts for all URLs.
    private static let max = 65536

    /// Notes that a URL is dropped now.
    mutating func note(_ url: String, nowUs: Int64) {
        if times.count >= Self.max {
            let middle = times.values.sorted()[times.count / 2]
            times = times.filter { $0.value > middle }
            allUs = Swift.max(allUs, middle)
        }
        times[url] = nowUs
    }

    /// Notes that every URL may have been dropped now.
    mutating func noteAll(nowUs: Int64) {
        times = [:]
        allUs = nowUs
    }

    /// Whether a URL that `key` answers was dropped at a time or later.
    func isDropped(_ key: CacheKey, since timeUs: Int64) -> Bool {
        if allUs >= timeUs { return true }
        if times.isEmpty { return false }
        guard key.isGeneral else { return times[String(key.url)].map { $0 >= timeUs } ?? false }
        return times.contains { $0.value >= timeUs && key.answers($0.key) }
    }
}
