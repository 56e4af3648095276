// How the outcomes of a storm are printed.

/// The short table at a storm's end.
enum StormTable {
    /// A row for each lane and fault, then what else was counted.
    static func text(_ result: StormResult) -> String {
        let heads = ["lane", "fault"] + StormOutcome.allCases.map(\.rawValue)
        let order = StormLane.allCases.flatMap { lane in
            StormFault.allCases.map { StormPart(lane, $0) }
        }
        var rows = order.compactMap { part -> [String]? in
            guard let row = result.rows.first(where: { $0.part == part }) else { return nil }
            return [part.lane.rawValue, part.fault.rawValue] + cells { row.counts[$0] ?? 0 }
        }
        rows.append(
            ["all", ""]
                + cells { outcome in
                    result.rows.reduce(0) { $0 + ($1.counts[outcome] ?? 0) }
                }
        )
        let clients = StormClients.allCases.map { "\($0.rawValue): \(result.clients[$0] ?? 0)" }
        let errors = result.errors.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let versions = result.versions.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "none"
        return lines([heads] + rows) + """

            clients   \(clients.joined(separator: "; "))
            errors    \(errors.joined(separator: "; "))
            rules     answers of \(result.versionCount) versions, \(versions)
            time      \(Int(result.seconds.rounded())) s

            """
    }

    private static func cells(_ count: (StormOutcome) -> Int) -> [String] {
        StormOutcome.allCases.map { "\(count($0))" }
    }

    /// Words to the left, numbers to the right.
    private static func lines(_ rows: [[String]]) -> String {
        let widths = (rows.first ?? []).indices.map { i in rows.map { $0[i].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.indices.map { i in
                let blanks = String(repeating: " ", count: widths[i] - row[i].count)
                return i < 2 ? row[i] + blanks : blanks + row[i]
            }
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }
}
