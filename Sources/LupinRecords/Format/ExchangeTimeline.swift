// Draws where the time of a past exchange went: a bar for every stage of every attempt.

package import LupinCore

/// The stages of an exchange on a common scale, for `explain`.
package struct ExchangeTimeline: Sendable {
    /// A stretch of time, in microseconds since the exchange began.
    struct Bar: Sendable, Equatable {
        let name: String
        let start: Int64
        let duration: Int64

        var end: Int64 { start.plus(duration) }
    }

    /// The bars of an attempt, or of a wait between two.
    struct Part: Sendable, Equatable {
        let title: String
        let bars: [Bar]
    }

    private(set) var parts: [Part] = []
    private let total: Int64

    /// Reads a line of the log; nil when it has no times of attempts.
    ///
    /// In a line of an older lupin, which does not tell when an attempt began, attempts follow one
    /// another, each after the wait that the one before asked for, and a hedge is drawn from the
    /// beginning of the attempt beside it.
    package init?(_ record: JSONValue) {
        guard let total = record[field: .total]?.microseconds, total > 0 else { return nil }
        self.total = total
        var now: Int64 = 0
        var former: Int64 = 0
        // What the next attempt was kept waiting, which is a part of its time in lupin.
        var pause: Int64 = 0
        for (i, attempt) in (record[field: .attempts]?.list ?? []).enumerated() {
            let cause = attempt[attempt: .cause]?.string ?? "first"
            let guess = cause == "hedge" ? former : now
            let begun = attempt[attempt: .start]?.microseconds
            var start = max(0, begun ?? guess)
            var drawn: Int64 = 0
            if cause != "hedge" {
                drawn = min(pause, max(0, attempt[attempt: .blocked]?.microseconds ?? 0))
                if begun != nil { start = start.plus(drawn) }
                pause = 0
            }
            let title = "attempt \(i + 1)" + (cause == "first" ? "" : " (\(cause))")
            let bars = Self.bars(of: attempt, from: start, drawn: drawn)
            if !bars.isEmpty { parts.append(Part(title: title, bars: bars)) }
            former = start
            let whole = max(0, attempt[attempt: .total]?.microseconds ?? 0)
            now = max(now, start.plus(whole), bars.last?.end ?? start)
            guard let delay = attempt[attempt: .delay]?.microseconds, delay > 0 else { continue }
            parts.append(
                Part(title: "", bars: [Bar(name: "pause", start: now, duration: delay)])
            )
            now = now.plus(delay)
            pause = delay
        }
        if parts.isEmpty { return nil }
    }

    /// The stages of an attempt; `drawn` of its time in lupin have a bar already.
    private static func bars(
        of attempt: JSONValue,
        from start: Int64,
        drawn: Int64
    ) -> [Bar] {
        let stages: [(name: String, field: AttemptField)] = [
            ("in lupin", .blocked), ("dns", .dns), ("tcp", .tcp), ("tls", .tls), ("send", .send),
            ("wait", .wait), ("receive", .receive),
        ]
        var now = start
        return stages.compactMap { name, field in
            guard let time = attempt[attempt: field]?.microseconds, time > 0 else { return nil }
            let duration = field == .blocked ? time - drawn : time
            guard duration > 0 else { return nil }
            defer { now = now.plus(duration) }
            return Bar(name: name, start: now, duration: duration)
        }
    }

    /// The lines, with bars in `columns` columns.
    package func lines(columns: Int) -> [String] {
        // Times are rounded, and bars may end behind the total.
        let ends = parts.flatMap(\.bars).map(\.end)
        let scale = Double(max(total, ends.max() ?? 0))
        let width = Double(max(8, columns))
        return parts.flatMap { part -> [String] in
            let bars = part.bars.map { bar in
                // Bounded: by the width, since no bar ends behind the scale.
                let first = Int(min(Double(bar.start) / scale * width, width - 1))
                let last = Int((Double(bar.end) / scale * width).rounded(.up))
                let mark = bar.name == "pause" ? "░" : "█"
                let drawn =
                    String(repeating: " ", count: first)
                    + String(repeating: mark, count: max(1, last - first))
                let time = SummaryText.duration(bar.duration)
                let space = String(repeating: " ", count: max(1, 9 - bar.name.count))
                let gap = String(repeating: " ", count: max(0, 7 - time.count))
                return "  \(bar.name)\(space)\(gap)\(time)  \(drawn)"
            }
            return part.title.isEmpty ? bars : [part.title] + bars
        }
    }
}

extension Int64 {
    /// The sum, or the largest number: a log may have been edited.
    fileprivate func plus(_ other: Int64) -> Int64 {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? .max : sum
    }
}
