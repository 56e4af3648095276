// When URLs were dropped from the store: what was requested before that must not get in afterwards.
import LupinCaching

/// The times of the latest drops, in microseconds since 1970.
///
/// URLs are told apart by their hashes, since they may be long: where two have the same, one more
/// response is not stored.
struct DropTimes {
    /// By the hash of a `CacheKey.listing`.
    private var times: [Int: Int64] = [:]
    /// What was requested until then counts as dropped, whatever its URL.
    private var allUs = Int64.min

    /// Beyond so many the earlier half is forgotten, and counts for all URLs.
    private static let max = 131_072

    /// Notes that a URL is dropped now.
    mutating func note(_ url: String, nowUs: Int64) {
        if times.count >= Self.max {
            let middle = times.values.sorted()[times.count / 2]
            times = times.filter { $0.value > middle }
            allUs = Swift.max(allUs, middle)
        }
        times[url.hashValue] = nowUs
        times[CacheKey.generalListing(of: url).hashValue] = nowUs
    }

    /// Notes that every URL may have been dropped now.
    mutating func noteAll(nowUs: Int64) {
        times = [:]
        allUs = nowUs
    }

    /// Whether a URL that `key` answers was dropped at a time or later; of a general key, any URL
    /// with its path.
    func isDropped(_ key: CacheKey, since timeUs: Int64) -> Bool {
        if allUs >= timeUs { return true }
        if times.isEmpty { return false }
        return times[key.listing.hashValue].map { $0 >= timeUs } ?? false
    }
}
