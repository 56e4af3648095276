// What follows an answer of a collector.

import LupinRecords
import Testing

struct ExportOutcomeTests {
    @Test func `success is the end, with what was refused`() {
        let body = Array(#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#.utf8)
        #expect(
            ExportOutcome(status: 200, body: body, attempt: 1, chance: 0) == .taken(rejected: 3)
        )
        let number = Array(#"{"partialSuccess":{"rejectedDataPoints":2}}"#.utf8)
        #expect(
            ExportOutcome(status: 200, body: number, attempt: 1, chance: 0) == .taken(rejected: 2)
        )
        for odd in ["", "{}", "nonsense", #"{"partialSuccess":{"rejectedSpans":-1.5}}"#] {
            let outcome = ExportOutcome(status: 202, body: Array(odd.utf8), attempt: 1, chance: 0)
            #expect(outcome == .taken(rejected: 0))
        }
    }

    @Test(arguments: [429, 502, 503, 504] as [UInt16])
    func `these are sent again, after the wait that is asked for`(status: UInt16) {
        let asked = ExportOutcome(status: status, wait: .seconds(7), attempt: 1, chance: .max)
        #expect(asked == .again(after: .seconds(7)))
        let long = ExportOutcome(status: status, wait: .seconds(3600), attempt: 1, chance: 0)
        #expect(long == .again(after: ExportOutcome.waitMax))
    }

    @Test func `without such a wish the wait grows`() {
        for (attempt, most) in [(1, 500), (2, 1000), (3, 2000), (4, 4000)] {
            let outcome = ExportOutcome(status: nil, attempt: attempt, chance: .max)
            guard case .again(let wait) = outcome else {
                Issue.record("attempt \(attempt) is not repeated")
                continue
            }
            #expect(wait <= .milliseconds(most) && wait > .milliseconds(most - 10), "\(wait)")
            #expect(
                ExportOutcome(status: nil, attempt: attempt, chance: 0)
                    == .again(after: .milliseconds(50))
            )
        }
    }

    @Test(arguments: [400, 401, 404, 413, 500, 501, 301, 100] as [UInt16])
    func `other answers are final`(status: UInt16) {
        let outcome = ExportOutcome(status: status, wait: .seconds(1), attempt: 1, chance: 0)
        #expect(outcome == .lost("the collector answers \(status)"))
    }

    @Test func `after five attempts a message is lost`() {
        #expect(
            ExportOutcome(status: 503, attempt: 5, chance: 0) == .lost("the collector answers 503")
        )
        #expect(ExportOutcome(status: nil, attempt: 5, chance: 0) == .lost("the collector is away"))
    }
}
