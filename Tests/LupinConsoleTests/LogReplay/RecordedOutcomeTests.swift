// What became of an exchange, as its record tells it.
import LupinConsole
import LupinTestKit
import Testing

struct RecordedOutcomeTests {
    private static let rows: [(LoggedExchange, RecordedOutcome)] = [
        (LoggedExchange("a.example"), .forwarded),
        (.decrypted("a.example"), .decrypted),
        (.tunnel("a.example"), .tunnelled),
        (.refused("a.example"), .refused),
        (.failed("a.example"), .failed),
        // Before any rule: access.
        (LoggedExchange("a.example").with { ($0.outcome, $0.answer) = ("denied", nil) }, .refused),
        // The address was refused only after the attempt had begun.
        (LoggedExchange("a.example").with { ($0.outcome, $0.answer) = ("denied", 0) }, .refused),
        // A rule that answers with content, and one that answers 503.
        (
            LoggedExchange("a.example").with {
                ($0.step, $0.answer) = ("respond 200 by the rule \"mock\" (line 3)", nil)
            }, .answered
        ),
        (
            LoggedExchange("a.example").with {
                ($0.step, $0.answer) = ("respond 503 by the rule \"mock\" (line 3)", nil)
                $0.status = 503
            }, .refused
        ),
        // Other steps are no answers.
        (LoggedExchange("a.example").with { $0.step = "set x-respond " }, .forwarded),
        // lupin's own page.
        (LoggedExchange("lupin").with { $0.answer = nil }, .answered),
        // Out of the cache, without an attempt.
        (
            LoggedExchange("a.example").with { ($0.answer, $0.cacheStatus) = (nil, "lupin; hit") },
            .forwarded
        ),
        // The origin's own 502, and one that broke off behind its head.
        (LoggedExchange("a.example").with { ($0.answer, $0.status) = (502, 502) }, .forwarded),
        (LoggedExchange("a.example").with { $0.outcome = "truncated" }, .forwarded),
        // lupin refused what the origin had answered, such as by `validate`.
        (LoggedExchange("a.example").with { $0.outcome = "error" }, .forwarded),
        // The client refused lupin's certificate: no request ever came.
        (
            LoggedExchange.decrypted("a.example").with {
                ($0.method, $0.outcome, $0.answer) = ("CONNECT", "aborted", nil)
            }, .failed
        ),
        (.tunnel("a.example").with { $0.outcome = "aborted" }, .tunnelled),
        (LoggedExchange("a.example").with { $0.mode = "upgrade" }, .forwarded),
        (.decrypted("a.example").with { $0.mode = "upgrade" }, .decrypted),
    ]

    @Test(arguments: rows.indices)
    func `a record tells whether it got through, and how`(row: Int) throws {
        let (line, outcome) = Self.rows[row]
        #expect(RecordedOutcome(try #require(line.json)) == outcome, "\(line.text)")
    }

    @Test func `a tunnel that failed before its target answered is no tunnel`() throws {
        let line = LoggedExchange.tunnel("a.example").with { $0.outcome = "error" }
        #expect(RecordedOutcome(try #require(line.json)) == .failed)
    }
}
