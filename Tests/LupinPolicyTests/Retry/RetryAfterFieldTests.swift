// Whether a response's wish to be left alone for a while is understood.

import LupinCore
import LupinPolicy
import Testing

struct RetryAfterFieldTests {
    /// Sun, 06 Nov 1994 08:49:37.250 GMT.
    private let now: Int64 = 784_111_777_250_000

    private func delay(_ values: [String], now: Int64? = nil) -> Duration? {
        var fields = FieldSection()
        fields.add(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        for value in values { fields.add(name: "retry-after", value: value) }
        return RetryAfterField.delay(of: fields, now: now ?? self.now)
    }

    @Test(
        arguments: [
            ("120", .seconds(120)), ("0", .zero), ("1.5", .seconds(2)),
            ("1.0", .seconds(1)), ("0.001", .seconds(1)), (" 7\t", .seconds(7)),
            ("00030", .seconds(30)),
            ("315360000", .seconds(315_360_000)), ("315360001", .seconds(315_360_000)),
            ("99999999999999999999999999999999", .seconds(315_360_000)),
            ("Sun, 06 Nov 1994 08:49:38 GMT", .milliseconds(750)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", .milliseconds(59750)),
            ("Sun Nov  6 08:49:37 1994", .zero), ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
            ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(315_360_000)),
        ] as [(String, Duration)]
    )
    func `seconds and dates are understood`(value: String, wait: Duration) {
        #expect(delay([value]) == wait)
    }

    @Test(arguments: [
        "", "soon", "-1", "+5", "1.", ".5", "1.5.2", "1.x", "5s", "5, 10", "0x10",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "\u{661}",
    ])
    func `nonsense says nothing`(value: String) {
        #expect(delay([value]) == nil)
    }

    @Test func `of several lines the longest wait counts`() {
        #expect(delay(["5", "60", "7"]) == .seconds(60))
        #expect(delay(["5", "Sun, 06 Nov 1994 08:50:38 GMT"]) == .milliseconds(60750))
        #expect(delay(["soon", "7"]) == .seconds(7))
        #expect(delay([]) == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `a clock that says anything traps nothing`(now: Int64) throws {
        let wait = try #require(delay(["Fri, 31 Dec 9999 23:59:59 GMT"], now: now))
        #expect(wait >= .zero && wait <= RetryAfterField.delayMax)
    }
}
