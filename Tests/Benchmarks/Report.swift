// How figures are shown: medians and quiet runs, one table for each job, and ratios.
import Foundation

/// All measurements of a benchmark.
struct Report: Codable {
    var cores: Cores
    var seconds: Double
    var measurements: [Measurement] = []

    private typealias Figure = (Measurement) -> Double?

    /// A column: its heading, and its figure.
    private struct Column {
        var heading: String
        var figure: Figure
        /// More of it is better.
        var wantsMore: Bool

        init(_ heading: String, wantsMore: Bool = false, _ figure: @escaping Figure) {
            self.heading = heading
            self.wantsMore = wantsMore
            self.figure = figure
        }
    }

    /// One JSON document with every run.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Markdown that reads well as plain text.
    func text() -> String {
        var parts: [String] = []
        for scenario in Scenario.allCases {
            let cells = measurements.filter { $0.scenario == scenario }
            guard !cells.isEmpty else { continue }
            parts.append("### \(scenario.rawValue): \(scenario.title)")
            parts.append(table(of: cells, scenario.kind))
            let ratios = ratios(of: cells, scenario.kind)
            if !ratios.isEmpty { parts.append(ratios.joined(separator: "\n")) }
        }
        return parts.joined(separator: "\n\n")
    }

    /// One line that says how a measurement went, while the others still run.
    static func line(_ cell: Measurement) -> String {
        let start = "\(cell.scenario.rawValue) \(cell.proxy):"
        if let failure = cell.failure { return "\(start) \(failure)" }
        let figures = headline(cell.scenario.kind).map { column in
            "\(number(column.figure(cell))) \(column.heading)"
        }
        let error = cell.firstError.map { [$0] } ?? []
        return "\(start) \((figures + error).joined(separator: ", "))"
    }

    // MARK: Columns

    private static func headline(_ kind: Scenario.Kind) -> [Column] {
        switch kind {
        case .requests:
            [Column("CPU µs/req") { $0.cpuUsPerRequest }, Column("req/s") { $0.requestsPerSecond }]
        case .bytes:
            [
                Column("GB/CPU-s", wantsMore: true) { $0.gigabytesPerCPUSecond },
                Column("MB/s") { $0.megabytesPerSecond },
            ]
        case .memory: [Column("KiB/conn") { $0.kibPerIdleConnection }]
        }
    }

    private static func columns(_ kind: Scenario.Kind) -> [Column] {
        let cpu = [
            Column("CPU µs/req") { $0.cpuUsPerRequest },
            Column("user") { $0.userUsPerRequest },
            Column("system") { $0.systemUsPerRequest },
        ]
        let latency = [
            Column("p50 µs") { $0.p50Us }, Column("p99 µs") { $0.p99Us },
            Column("p99.9 µs") { $0.p999Us },
        ]
        let surroundings = [
            Column("core %") { $0.proxyCPUPercent }, Column("others %") { $0.othersCPUPercent },
        ]
        let memory = Column("peak MiB") { $0.peakMemoryKiB.map { $0 / 1024 } }
        let errors = Column("errors") { $0.errors.map(Double.init) }
        switch kind {
        case .requests:
            let rate = Column("req/s") { $0.requestsPerSecond }
            let closed = Column("closed") { $0.reconnects.map(Double.init) }
            return cpu + [rate] + latency + surroundings + [memory, closed, errors]
        case .bytes: return headline(.bytes) + cpu + latency + surroundings + [memory, errors]
        case .memory: return headline(.memory) + [memory, errors]
        }
    }

    // MARK: Tables

    private func table(of cells: [Measurement], _ kind: Scenario.Kind) -> String {
        let columns = Self.columns(kind)
        let first = Self.headline(kind).first
        var rows = [["proxy"] + columns.map(\.heading) + ["quiet", "spread %", "runs"]]
        for proxy in Self.names(in: cells) {
            let all = cells.filter { $0.proxy == proxy }
            let good = all.filter { $0.failure == nil }
            guard !good.isEmpty else {
                let dashes = Array(repeating: "–", count: columns.count + 3)
                rows.append([proxy] + dashes + [all.first?.failure ?? ""])
                continue
            }
            let figures = columns.map { Self.number(Self.median(good, $0.figure)) }
            let quiet = first.flatMap { Self.quiet(good, $0) }
            let spread = first.flatMap { Self.spread(good, $0.figure) }
            let failed = all.first { $0.failure != nil }?.failure
            let note = failed ?? good.compactMap(\.firstError).first
            rows.append(
                [proxy] + figures + [Self.number(quiet), Self.number(spread)]
                    + ["\(good.count)/\(all.count)"] + (note.map { [$0] } ?? [])
            )
        }
        return Self.aligned(rows)
    }

    /// What lupin's figures are as multiples of each peer's.
    private func ratios(of cells: [Measurement], _ kind: Scenario.Kind) -> [String] {
        let good = cells.filter { $0.failure == nil }
        let own = good.filter { $0.proxy == "lupin" }
        let latency = kind == .requests ? [Column("p99 µs") { $0.p99Us }] : []
        let columns = Self.headline(kind) + latency
        guard !own.isEmpty else { return [] }
        return Self.names(in: good).filter { $0 != "lupin" }.compactMap { name in
            let peer = good.filter { $0.proxy == name }
            var parts = columns.compactMap { column in
                Self.ratio(
                    column.heading,
                    Self.median(own, column.figure),
                    Self.median(peer, column.figure)
                )
            }
            if let first = columns.first {
                let quiet = Self.ratio("quiet", Self.quiet(own, first), Self.quiet(peer, first))
                parts += quiet.map { [$0] } ?? []
            }
            return parts.isEmpty ? nil : "lupin / \(name): \(parts.joined(separator: ", "))"
        }
    }

    /// Notes behind the last column stand outside of the grid.
    private static func aligned(_ rows: [[String]]) -> String {
        guard let headings = rows.first else { return "" }
        let widths = headings.indices.map { i in
            rows.map { i < $0.count ? $0[i].count : 0 }.max() ?? 0
        }
        func line(_ row: [String]) -> String {
            let padded = widths.indices.map { i in
                let space = String(repeating: " ", count: widths[i] - row[i].count)
                return i == 0 ? row[i] + space : space + row[i]
            }
            let note = row.dropFirst(widths.count).first.map { " \($0)" } ?? ""
            return "| \(padded.joined(separator: " | ")) |\(note)"
        }
        let rule = widths.enumerated().map { i, width in
            i == 0
                ? String(repeating: "-", count: width + 2)
                : String(repeating: "-", count: width + 1) + ":"
        }
        return ([line(headings), "|\(rule.joined(separator: "|"))|"] + rows.dropFirst().map(line))
            .joined(separator: "\n")
    }

    // MARK: Figures

    /// In the order in which they were measured first.
    private static func names(in cells: [Measurement]) -> [String] {
        cells.reduce(into: []) { names, cell in
            if !names.contains(cell.proxy) { names.append(cell.proxy) }
        }
    }

    private static func median(_ cells: [Measurement], _ figure: Figure) -> Double? {
        let values = cells.compactMap(figure).sorted()
        guard !values.isEmpty else { return nil }
        let middle = values.count / 2
        return values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
    }

    /// The fifth of the runs that went best, its last: without those that something disturbed.
    private static func quiet(_ cells: [Measurement], _ column: Column) -> Double? {
        let values = cells.compactMap(column.figure).sorted()
        guard !values.isEmpty else { return nil }
        let place = (values.count - 1) / 5
        return column.wantsMore ? values[values.count - 1 - place] : values[place]
    }

    private static func ratio(_ name: String, _ ours: Double?, _ theirs: Double?) -> String? {
        guard let ours, let theirs, theirs > 0 else { return nil }
        return "\(name) ×\(String(format: "%.2f", ours / theirs))"
    }

    /// How far the runs lie apart, as a share of their median.
    private static func spread(_ cells: [Measurement], _ figure: Figure) -> Double? {
        let values = cells.compactMap(figure)
        guard values.count > 1, let low = values.min(), let high = values.max(),
            let median = median(cells, figure), median > 0
        else { return nil }
        return 100 * (high - low) / median
    }

    /// Three digits that matter, or a dash.
    private static func number(_ value: Double?) -> String {
        guard let value else { return "–" }
        if value == 0 || abs(value) >= 100 { return String(format: "%.0f", value) }
        return String(format: abs(value) >= 10 ? "%.1f" : "%.2f", value)
    }
}
