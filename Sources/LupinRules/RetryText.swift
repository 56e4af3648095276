// Writes retry policies in the syntax of the rules file, with every value.

import LupinCore
import LupinPolicy

extension RetryPolicy {
    /// Every key with its effective value, in the order of the table.
    var written: [YAMLNode.Entry] {
        RetryKeyTable.policy.map { YAMLNode.Entry.written($0.key, value(of: $0.key)) }
    }

    private func value(of key: String) -> YAMLNode {
        switch key {
        case "limit": YAMLNode.word("\(limit)")
        case "methods": YAMLNode.list(methods.map(\.token).sorted())
        case "status": YAMLNode.list(RetryText.ranges(of: status))
        case "errors":
            YAMLNode.list(RetryKeyTable.words.filter { errors.map(\.rawValue).contains($0) })
        case "backoff": backoff.map { YAMLNode.map($0.written) } ?? YAMLNode.word("none")
        case "retry_after": YAMLNode.map(retryAfter.written)
        case "non_idempotent": YAMLNode.word(nonIdempotent.rawValue)
        case "replay_body": YAMLNode.word(UnitText.size(replayBodyBytes))
        case "replay_spill": YAMLNode.word(UnitText.size(replaySpillBytes))
        case "per_try": YAMLNode.word(perTry.map(RetryText.time) ?? "none")
        case "hold": YAMLNode.word(UnitText.size(holdBytes))
        case "hedge": hedge.map { YAMLNode.map($0.written) } ?? YAMLNode.word("none")
        case "offline_wait": YAMLNode.word(RetryText.time(offlineWait))
        case "budget": budget.map { YAMLNode.map($0.written) } ?? YAMLNode.word("none")
        default: circuit.map { YAMLNode.map($0.written) } ?? YAMLNode.word("off")
        }
    }
}

extension Backoff {
    fileprivate var written: [(String, String)] {
        let isWhole = base == base.rounded()
        return [
            ("base", isWhole ? "\(Int(base))" : "\(base)"), ("scale", RetryText.time(scale)),
            ("max", RetryText.time(max)), ("jitter", jitter.rawValue),
        ]
    }
}

extension RetryPolicy.RetryAfter {
    fileprivate var written: [(String, String)] {
        [("honour", "\(isHonoured)"), ("max", RetryText.time(max))]
    }
}

extension RetryPolicy.Hedge {
    fileprivate var written: [(String, String)] {
        let delay =
            switch after {
            case .fixed(let time): RetryText.time(time)
            case .percentile95: "p95"
            }
        return [("after", delay), ("max", "\(max)")]
    }
}

extension RetryPolicy.Budget {
    fileprivate var written: [(String, String)] {
        [
            ("ratio", "\(Int((ratio * 100).rounded()))%"), ("floor", "\(floor)"),
            ("window", RetryText.time(window)), ("per", "host"),
        ]
    }
}

extension RetryPolicy.Circuit {
    fileprivate var written: [(String, String)] {
        [("failures", "\(failures)"), ("open", RetryText.time(open))]
    }
}

package enum RetryText {
    /// The built-in policies as comments below `retry:`.
    ///
    /// `standard` is complete; for the others only the differing values are listed.
    package static var builtIn: [String] {
        let standard = RetryPolicy.standard.written
        let values = Dictionary(
            uniqueKeysWithValues: standard.map { ($0.key, WrittenText.flow($0.value)) }
        )
        let remarks: [String: String] = [
            "none": "nothing is sent again",
            "safe": "holds where no rule says otherwise: what provably was not processed",
            "standard": "Alamofire's RetryPolicy, with a cap, jitter and a budget",
            "alamofire": "Alamofire's RetryPolicy to the number",
            "connection-lost": "Alamofire's ConnectionLostRetryPolicy",
        ]
        var lines = ["  # Built in; what a policy leaves out is as in standard:"]
        for policy in RetryPolicy.builtIn {
            lines.append(WrittenText.remarked("  # \(policy.name):", remarks[policy.name]))
            let isStandard = policy.name == "standard"
            for entry in policy.written
            where isStandard || WrittenText.flow(entry.value) != values[entry.key] {
                let sentence = RetryKeyTable.policy.first { $0.key == entry.key }?.sentence
                let line = "  #   \(entry.key): \(WrittenText.flow(entry.value))"
                lines.append(WrittenText.remarked(line, isStandard ? sentence : nil))
            }
        }
        return lines
    }

    /// Completes a map with the default leaves that it omits.
    static func completed(_ entry: YAMLNode.Entry) -> YAMLNode.Entry {
        guard case .map(let own) = entry.value.content else { return entry }
        var result = entry
        let leaves = RetryKeyTable.leaves(of: entry.key).map { leaf in
            own.first { $0.key == leaf.key } ?? .written(leaf.key, .word(leaf.defaultText))
        }
        result.value.content = .map(leaves)
        return result
    }

    static func time(_ time: Duration) -> String {
        time == .zero ? "0s" : UnitText.duration(time.milliseconds)
    }

    /// Formats `408`, and `500-503` for more than three in a row.
    static func ranges(of statuses: Set<UInt16>) -> [String] {
        var rows: [[UInt16]] = []
        for status in statuses.sorted() {
            if let last = rows.last?.last, last + 1 == status {
                rows[rows.count - 1].append(status)
            } else {
                rows.append([status])
            }
        }
        return rows.flatMap { row in
            guard row.count > 3, let first = row.first, let last = row.last else {
                return row.map { "\($0)" }
            }
            return ["\(first)-\(last)"]
        }
    }
}
