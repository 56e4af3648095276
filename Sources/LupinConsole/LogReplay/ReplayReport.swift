// Counts compared exchanges in groups, and reports them: lines for people, JSON for programs.
package import LupinCore
import LupinRecords

/// What a rules file would have done with the exchanges of a log.
package struct ReplayReport: Sendable {
    /// The maximum number of groups; exchanges beyond them are counted by their change only.
    package static let groupsMax = 5000
    /// How many groups of one kind are shown unless the user asks for all.
    package static let groupsShown = 10
    /// The maximum number of parent proxies that are counted: those of the rules file.
    private static let parentsMax = 32

    /// What the exchanges of one line have in common.
    package struct Group: Hashable, Sendable {
        package var change: ReplayedExchange.Change
        package var before: RecordedOutcome
        package var method: String
        package var host: Host
        package var port: UInt16
        package var reason: String
    }

    package struct Count: Sendable, Equatable {
        package var count = 0
        /// The ID of the last one.
        package var example = ""
    }

    package private(set) var groups: [Group: Count] = [:]
    /// All exchanges by what would change, and by what became of them before.
    package private(set) var totals: [ReplayedExchange.Change: [RecordedOutcome: Int]] = [:]
    package private(set) var exchanges = 0
    /// Exchanges whose records don't tell their request.
    package private(set) var unknown = 0
    private var grouped: [ReplayedExchange.Change: Int] = [:]
    private var parents: [String: Int] = [:]
    private var cached = (before: 0, now: 0)

    package init() {}

    /// Adds the result of one line of the log; nil where the line doesn't tell the request.
    package mutating func add(_ replayed: ReplayedExchange?, of record: JSONValue) {
        exchanges += 1
        guard let replayed else {
            unknown += 1
            return
        }
        totals[replayed.change, default: [:]][replayed.before, default: 0] += 1
        if record[field: .cacheStatus] != nil { cached.before += 1 }
        if replayed.isCacheAsked { cached.now += 1 }
        if let parent = replayed.parent,
            parents[parent] != nil || parents.count < Self.parentsMax
        {
            parents[parent, default: 0] += 1
        }
        let group = Group(
            change: replayed.change,
            before: replayed.before,
            method: replayed.method,
            host: replayed.host,
            port: replayed.port,
            reason: replayed.reason
        )
        if groups[group] == nil, groups.count == Self.groupsMax { return }
        grouped[replayed.change, default: 0] += 1
        groups[group, default: Count()].count += 1
        groups[group]?.example = String(
            (record[field: .id]?.string ?? "").prefix(ExchangeID.shortDigits)
        )
    }

    package func count(of change: ReplayedExchange.Change) -> Int {
        totals[change, default: [:]].values.reduce(0, +)
    }

    /// Whether exchanges would be refused that were not refused before.
    package var refusesMore: Bool { count(of: .refused) > 0 }

    /// The groups of one kind, those with the most exchanges first.
    package func groups(of change: ReplayedExchange.Change) -> [(group: Group, count: Count)] {
        groups.filter { $0.key.change == change }
            .map { (group: $0.key, count: $0.value) }
            .sorted { a, b in
                a.count.count == b.count.count
                    ? a.group.order < b.group.order : a.count.count > b.count.count
            }
    }

    // MARK: Lines

    /// Lines for people; without `tellsAll` only what would change, and the biggest groups of it.
    package func lines(tellsAll: Bool) -> [String] {
        var lines: [String] = []
        for change in ReplayedExchange.Change.allCases where change != .none {
            let total = count(of: change)
            guard total > 0 else { continue }
            lines.append("\(change.heading): \(Self.exchanges(total))")
            lines += self.lines(of: change, tellsAll: tellsAll)
        }
        let parts = RecordedOutcome.allCases.compactMap { outcome in
            totals[.none]?[outcome].map { "\($0) \(outcome.rawValue)" }
        }
        let detail = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
        lines.append("as before: \(Self.exchanges(count(of: .none)))\(detail)")
        if tellsAll { lines += self.lines(of: .none, tellsAll: true) }
        return lines + summary
    }

    private func lines(of change: ReplayedExchange.Change, tellsAll: Bool) -> [String] {
        let groups = groups(of: change)
        let shown = tellsAll ? groups[...] : groups.prefix(Self.groupsShown)
        let width = shown.first.map { "\($0.count.count)".count } ?? 0
        var lines = shown.map { group, count in
            let number = "\(count.count)"
            let space = String(repeating: " ", count: width - number.count)
            return "  \(space)\(number)  \(group.line(of: count))"
        }
        let rest = shown.reduce(count(of: change)) { $0 - $1.count.count }
        if rest > 0 {
            let hint = groups.count == shown.count ? "" : " (--all tells them)"
            lines.append("  and \(rest) more\(hint)")
        }
        return lines
    }

    private var summary: [String] {
        var lines: [String] = []
        if cached.before > 0 || cached.now > 0 {
            lines.append("through the cache: \(cached.now), before \(cached.before)")
        }
        for (parent, count) in parents.sorted(by: { $0.key < $1.key }) {
            lines.append("by the parent proxy \(parent): \(count)")
        }
        if unknown > 0 {
            lines.append("without a request on record: \(Self.exchanges(unknown))")
        }
        return lines
    }

    private static func exchanges(_ count: Int) -> String {
        "\(count) \(count == 1 ? "exchange" : "exchanges")"
    }

    // MARK: JSON

    /// Adds the members of the report; later versions may add some.
    package func add(to line: inout JSONLine) {
        line.add("exchanges", UInt64(exchanges))
        line.openObject("changes")
        for change in ReplayedExchange.Change.allCases where change != .none {
            line.add(change.word, UInt64(count(of: change)))
        }
        line.closeObject()
        line.add("unchanged", UInt64(count(of: .none)))
        line.add("unknown", UInt64(unknown))
        line.openObject("cached")
        line.add("before", UInt64(cached.before))
        line.add("now", UInt64(cached.now))
        line.closeObject()
        let changed = ReplayedExchange.Change.allCases.filter { $0 != .none }
        line.add("groups", objects: changed.flatMap(groups(of:))) { line, entry in
            line.add("change", text: entry.group.change.word)
            line.add("before", text: entry.group.before.rawValue)
            line.add("method", text: entry.group.method)
            line.add("host", text: entry.group.host.text)
            line.add("port", UInt64(entry.group.port))
            if !entry.group.reason.isEmpty { line.add("reason", text: entry.group.reason) }
            line.add("count", UInt64(entry.count.count))
            line.add("example", text: entry.count.example)
        }
        let rest = changed.reduce(0) { $0 + count(of: $1) - grouped[$1, default: 0] }
        line.add("ungrouped", UInt64(rest))
    }
}

extension ReplayReport.Group {
    /// For groups with as many exchanges.
    fileprivate var order: String { "\(host.text) \(port) \(method) \(reason) \(before.rawValue)" }

    /// `GET api.example:443  by rule "none" (line 40); was forwarded, such as 6f1c0e0b`.
    fileprivate func line(of count: ReplayReport.Count) -> String {
        let subject = "\(LogText.plain(method)) \(host.uriText):\(port)"
        let cause = reason.isEmpty ? "" : "  \(LogText.plain(reason))"
        let example = count.example.isEmpty ? "" : ", such as \(LogText.plain(count.example))"
        let past = before == .failed ? "had failed" : "was \(before.rawValue)"
        return "\(subject)\(cause); \(past)\(example)"
    }
}

extension ReplayedExchange.Change {
    fileprivate var heading: String {
        switch self {
        case .refused: "refused, and was not"
        case .answered: "answered by lupin, and was not"
        case .moved: "sent elsewhere"
        case .decrypted: "decrypted, and was not"
        case .tunnelled: "tunnelled, and was decrypted"
        case .passed: "let through, and was not"
        case .refusedAnyway: "refused, and had failed"
        case .none: "as before"
        }
    }
}
