// Formats what a running lupin reports about its cache, as lines for users.
import LupinCore
import LupinRecords

/// The response of `/v1/cache`.
struct CacheFigures: Decodable {
    /// A place that holds responses; sizes are in bytes.
    struct Tier: Decodable {
        var responses: Int
        var bytes: UInt64
        var room: UInt64

        func text(_ location: String) -> String {
            "\(StoredResponses.count(responses)) \(location), \(SummaryText.size(bytes)) of "
                + SummaryText.size(room)
        }
    }

    /// What a server did that several machines share.
    struct Shared: Decodable {
        var server: String
        var answers: Bool
        var hits: Int
        var misses: Int
        var stored: Int
        var rejected: Int
        var failures: Int
        var collapsed: Int

        var text: String {
            let server = LogText.plain(server)
            let start =
                answers ? "shared at \(server)" : "shared at \(server), which doesn't answer"
            return "\(start): hits \(hits), misses \(misses), stored \(stored), waited for another "
                + "machine's fetch \(collapsed), rejected \(rejected), failures \(failures)"
        }
    }

    var memory: Tier
    /// nil for a cache in memory only.
    var disk: Tier?
    /// nil where no server is shared.
    var shared: Shared?
    var hits: Int
    var misses: Int
    /// From 0 to 1.
    var hitRatio: Double
    var validated: Int
    var stored: Int
    var evicted: Int
    var collapsed: Int

    var text: String {
        // Bounded: clamped to 0 to 1, whatever the response holds.
        let percent = Int((min(max(0, hitRatio), 1) * 100).rounded())
        let tiers = [memory.text("in memory"), disk?.text("on disk"), shared?.text]
            .compactMap(\.self)
        let work = [
            "hits \(hits), misses \(misses): \(percent)% answered with what was stored",
            "validated \(validated), waited for another one's answer \(collapsed)",
            "stored \(stored), evicted for want of room \(evicted)",
        ]
        return (tiers + work).joined(separator: "\n")
    }
}

/// The response of DELETE on `/v1/cache/responses` and `/v1/cache`.
struct DroppedResponses: Decodable {
    var responses: Int
    /// The number of bytes freed.
    var bytes: UInt64

    var text: String {
        "dropped \(StoredResponses.count(responses)), \(SummaryText.size(bytes))"
    }
}

/// The response of `/v1/cache/responses`.
struct StoredResponses: Decodable {
    /// The number of stored responses; the reply lists only the first ones.
    var total: Int
    var responses: [StoredEntry]

    static func count(_ number: Int) -> String {
        "\(number) \(number == 1 ? "response" : "responses")"
    }

    /// One line per response, in columns.
    var list: String {
        let rows = responses.map(\.columns)
        let widths = (rows.first ?? []).indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        var lines = rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                let gap = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
                // The size is right-aligned, and no padding follows the URL.
                return index == 1 ? gap + cell.0 : index == row.count - 1 ? cell.0 : cell.0 + gap
            }.joined(separator: "  ")
        }
        if total == 0 { lines.append("nothing is stored") }
        if total > responses.count {
            lines.append("and \(total - responses.count) more; --limit says how many to list")
        }
        return lines.joined(separator: "\n")
    }

    /// One paragraph per response, below the URL.
    var details: String {
        let url = responses.first.map { LogText.plain($0.url) } ?? ""
        var paragraphs = responses.map { $0.paragraph.joined(separator: "\n") }
        if total > responses.count {
            paragraphs.append("and \(total - responses.count) more")
        }
        return "\(url): \(Self.count(total)) stored\n\n" + paragraphs.joined(separator: "\n\n")
    }
}

/// A stored response; times are in seconds.
struct StoredEntry: Decodable {
    var url: String
    var status: Int
    /// The length of the body; for a partial response, the number of bytes held.
    var bytes: UInt64
    /// Whether only parts of the body are held.
    var partial: Bool?
    /// The length of the whole body, when only parts are held and the length is known.
    var completeBytes: UInt64?
    var age: UInt64
    /// How long the response stays fresh; nil when it is stale.
    var fresh: UInt64?
    /// How long the response has been stale; nil when it is fresh.
    var stale: UInt64?
    /// `memory`, `disk` or `both`.
    var tier: String
    /// nil when the response is shared by all users.
    var partition: String?

    // Only in the response for a single URL:

    /// When it was stored, in RFC 3339 format.
    var stored: String?
    var lifetime: UInt64?
    var source: String?
    var targeted: Bool?
    var validates: Bool?
    var etag: String?
    var lastModified: String?
    var policy: String?
    /// Names and values of request fields, the values as redaction marks; the name alone when the
    /// request had no such field.
    var selectedBy: [[String]]?
    var fields: [[String]]?

    /// `fresh 3m` or `stale 2h`.
    private var state: String {
        fresh.map { "fresh \(Self.time($0, 1))" } ?? "stale \(Self.time(stale ?? 0, 1))"
    }

    private var whose: String { partition ?? "shared" }

    private var location: String {
        switch tier {
        case "memory": "in memory"
        case "disk": "on disk"
        case "both": "in memory and on disk"
        default: LogText.plain(tier)
        }
    }

    /// `3B`; `3B of 9B` or `3B of ?` for parts.
    private var size: String {
        let held = SummaryText.size(bytes)
        guard partial == true else { return held }
        return "\(held) of \(completeBytes.map { SummaryText.size($0) } ?? "?")"
    }

    /// Status, size, age, state, place, partition, URL.
    var columns: [String] {
        [
            "\(status)", size, "age \(Self.time(age, 1))", state, LogText.plain(tier),
            LogText.plain(whose), LogText.plain(url),
        ]
    }

    var paragraph: [String] {
        var lines = [
            "\(status), \(size), \(location), "
                + (partition.map { "apart from others' (\(LogText.plain($0)))" } ?? "shared by all")
        ]
        let selectors = (selectedBy ?? []).map {
            $0.count == 2 ? Self.line($0) : "no \(Self.line($0))"
        }
        if !selectors.isEmpty {
            lines.append("for requests with \(LogText.plain(selectors.joined(separator: ", ")))")
        }
        let since = stored.map { "stored \(LogText.plain($0)), " } ?? ""
        lines.append("\(since)age \(Self.time(age, 2)), by policy \(LogText.plain(policy ?? ""))")
        lines.append(freshness)
        let validators = [
            etag.map { "ETag \($0)" }, lastModified.map { "Last-Modified \($0)" },
        ].compactMap(\.self)
        lines.append(
            validators.isEmpty
                ? "nothing to validate it by"
                : "validated by \(LogText.plain(validators.joined(separator: " and ")))"
        )
        let shown = (fields ?? []).map { LogText.plain(Self.line($0)) }
        return lines.enumerated().map { $0.offset == 0 ? $0.element : "  \($0.element)" }
            + shown.map { "    \($0)" }
    }

    /// `name: value`.
    private static func line(_ pair: [String]) -> String { pair.joined(separator: ": ") }

    /// `fresh for 10m by max-age, of which 9m 2s are left`.
    private var freshness: String {
        let mustAsk = validates == true ? "; the origin wants each use validated" : ""
        let whole = lifetime ?? 0
        guard whole > 0, let source else {
            return "never fresh: nobody said for how long\(mustAsk)"
        }
        let origin = targeted == true ? "\(source) of a targeted field" : source
        let begin = "fresh for \(Self.time(whole, 2)) by \(LogText.plain(origin))"
        if let fresh { return "\(begin), \(Self.time(fresh, 2)) left\(mustAsk)" }
        return "\(begin), stale for \(Self.time(stale ?? 0, 2))\(mustAsk)"
    }

    /// `2d 3h` with two units, `2d` with one.
    private static func time(_ seconds: UInt64, _ units: Int) -> String {
        RunningStatus.time(Double(seconds) * 1000).split(separator: " ").prefix(units)
            .joined(separator: " ")
    }
}
