// The report of a rehearsal: groups, the worst first, and never more of them than it has room for.
import LupinConsole
import LupinCore
import LupinRules
import LupinTestKit
import Testing

struct ReplayReportTests {
    private func report(_ lines: [LoggedExchange], _ rules: String) throws -> ReplayReport {
        let replay = LogReplay(try #require(decode(rules).configuration))
        var report = ReplayReport()
        for line in lines {
            let json = try #require(line.json)
            report.add(replay.replay(json), of: json)
        }
        return report
    }

    private static let rules = """
        rules:
          - {name: no, match: a.example, respond: {status: 403}}
          - {name: in, match: b.example, intercept: true}
        """

    private static let lines: [LoggedExchange] = [
        LoggedExchange("a.example"), .tunnel("b.example"), LoggedExchange("c.example"),
        .tunnel("a.example"), LoggedExchange("a.example"), .failed("a.example"),
        .refused("a.example"), .refused("c.example"),
        LoggedExchange("").with { $0.scheme = nil },
        LoggedExchange("c.example").with { $0.cacheStatus = "lupin; hit" },
    ]

    @Test func `lines of equal exchanges are one, with their number, the worst first`() throws {
        let report = try report(Self.lines, Self.rules)
        #expect(
            report.lines(tellsAll: false) == [
                "refused, and was not: 3 exchanges",
                #"  2  GET a.example:80  by rule "no" (line 3); was forwarded, "#
                    + "such as 6f1c0e0b",
                #"  1  CONNECT a.example:443  by rule "no" (line 3); was tunnelled, "#
                    + "such as 6f1c0e0b",
                "decrypted, and was not: 1 exchange",
                #"  1  CONNECT b.example:443  for rule "in" (line 4); was tunnelled, "#
                    + "such as 6f1c0e0b",
                "let through, and was not: 1 exchange",
                "  1  CONNECT c.example:443; was refused, such as 6f1c0e0b",
                "refused, and had failed: 1 exchange",
                #"  1  GET a.example:80  by rule "no" (line 3); had failed, "#
                    + "such as 6f1c0e0b",
                "as before: 3 exchanges (2 forwarded, 1 refused)",
                "through the cache: 0, before 1",
                "without a request on record: 1 exchange",
            ]
        )
        #expect(report.refusesMore)
        #expect(
            report.lines(tellsAll: true).contains(
                "  2  GET c.example:80; was forwarded, such as 6f1c0e0b"
            )
        )
    }

    @Test func `nothing new is refused by what failed or was refused before`() throws {
        let lines: [LoggedExchange] = [.failed("a.example"), .refused("a.example")]
        #expect(try !report(lines, Self.rules).refusesMore)
    }

    @Test func `of many groups the biggest are shown`() throws {
        var lines: [LoggedExchange] = []
        for i in 0..<ReplayReport.groupsShown + 3 {
            lines.append(.tunnel("h\(i).example"))
        }
        lines.append(.tunnel("h5.example"))
        let refusal = "rules: [{name: r, match: {}, respond: {status: 403}}]"
        let report = try report(lines, refusal)
        let told = report.lines(tellsAll: false)
        #expect(told.count == ReplayReport.groupsShown + 3)
        #expect(told.dropFirst().first?.hasPrefix("  2  CONNECT h5.example:443") == true)
        #expect(told.contains("  and 3 more (--all tells them)"))
        #expect(report.lines(tellsAll: true).count == ReplayReport.groupsShown + 5)
    }

    @Test func `a log of ever new hosts is counted, not kept`() throws {
        let refusal = "rules: [{name: r, match: {}, respond: {status: 403}}]"
        let count = ReplayReport.groupsMax + 7
        let report = try report((0..<count).map { .tunnel("h\($0).example") }, refusal)
        #expect(report.groups.count == ReplayReport.groupsMax)
        #expect(report.count(of: .refused) == count)
        #expect(report.lines(tellsAll: true).contains("  and 7 more"))
    }

    @Test func `programs read the same as JSON`() throws {
        let report = try report(Self.lines, Self.rules)
        var line = JSONLine()
        line.openObject()
        report.add(to: &line)
        line.closeObject()
        let bytes = line.bytes
        let parsed = JSONValue(parsing: bytes.span)
        let json = try #require(parsed)
        #expect(json["exchanges"]?.count == 10)
        #expect(json["unchanged"]?.count == 3)
        #expect(json["unknown"]?.count == 1)
        #expect(json["changes", "refused"]?.count == 3)
        #expect(json["changes", "refused_anyway"]?.count == 1)
        let first = try #require(json["groups"]?.list?.first)
        #expect(first["change"]?.string == "refused")
        #expect(first["before"]?.string == "forwarded")
        #expect(first["method"]?.string == "GET")
        #expect(first["host"]?.string == "a.example")
        #expect(first["port"]?.count == 80)
        #expect(first["count"]?.count == 2)
        #expect(json["ungrouped"]?.count == 0)
    }
}
