// The names by which rules appear in metrics: a bounded set, the same for all workers.
import LupinCore
import LupinPolicy
import LupinRecords

/// Numbers for the label `rule` of metrics: 0 is no rule, and the last one all further rules.
///
/// A number means the same rule as long as the process runs, whatever is reloaded: workers count
/// by number, and their counts are added up.
struct RuleLabels: Sendable {
    /// Rules with a label of their own; further ones are `other` together.
    static let max = 64
    static let other = "other"

    /// The names of numbers from 1 on.
    private let names: [String]
    /// The number of each rule of the set.
    private let numbers: [Int]

    init(_ rules: RuleSet, after former: RuleLabels?) {
        var names = former?.names ?? []
        var known: [String: Int] = [:]
        for (i, name) in names.enumerated() { known[name] = i + 1 }
        numbers = rules.rules.map { rule in
            if let number = known[rule.name] { return number }
            guard names.count < Self.max else { return Self.max + 1 }
            names.append(rule.name)
            known[rule.name] = names.count
            return names.count
        }
        self.names = names
    }

    /// The number of the rule that matched last: it is the one that had the last word.
    func number(of plan: Plan?) -> Int {
        guard let last = plan?.matched.last, last < numbers.count else { return 0 }
        return numbers[last]
    }

    /// The name of a number; empty for no rule.
    func name(of number: Int) -> String {
        if number == 0 { return "" }
        return number <= names.count ? names[number - 1] : Self.other
    }
}

/// Durations of exchanges by rule and outcome; one worker's, or those of all.
struct DurationTable: Sendable {
    struct Series: Sendable {
        /// From the request's first byte to the response's last.
        var total = DurationHistogram()
        /// From there to the response's first byte, as the client sees it.
        var firstByte = DurationHistogram()
    }

    private static let outcomes = ExchangeRecord.Outcome.allCases
    /// By number of the rule and outcome; as long as the largest number that came up.
    private var series: [Series?] = []

    mutating func note(
        _ outcome: ExchangeRecord.Outcome,
        rule number: Int,
        total: Int64,
        firstByte: Int64?
    ) {
        let i = number &* Self.outcomes.count &+ Self.index(of: outcome)
        while series.count <= i { series.append(nil) }
        if series[i] == nil { series[i] = Series() }
        series[i]?.total.note(total)
        if let firstByte { series[i]?.firstByte.note(firstByte) }
    }

    mutating func add(_ other: DurationTable) {
        while series.count < other.series.count { series.append(nil) }
        for (i, more) in other.series.enumerated() {
            guard let more else { continue }
            var sum = series[i] ?? Series()
            sum.total.add(more.total)
            sum.firstByte.add(more.firstByte)
            series[i] = sum
        }
    }

    /// What was counted, by the rules' names.
    func all(
        _ labels: RuleLabels
    ) -> [(rule: String, outcome: ExchangeRecord.Outcome, series: Series)] {
        series.enumerated().compactMap { i, series in
            guard let series else { return nil }
            let (number, outcome) = i.quotientAndRemainder(dividingBy: Self.outcomes.count)
            return (labels.name(of: number), Self.outcomes[outcome], series)
        }
    }

    private static func index(of outcome: ExchangeRecord.Outcome) -> Int {
        switch outcome {
        case .ok: 0
        case .error: 1
        case .aborted: 2
        case .truncated: 3
        case .denied: 4
        }
    }
}
