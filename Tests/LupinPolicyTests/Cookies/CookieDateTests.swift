// Which moment the many spellings of a cookie's date mean, and which are none.

import LupinCore
import LupinPolicy
import Testing

struct CookieDateTests {
    /// `#expect` cannot hold a span.
    private func read(_ text: String) -> Int64? { CookieDate.seconds(text.utf8.span) }

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    private static let moment: Int64 = 784_111_777

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994", "6 nov 1994 8:49:37", "1994 6 November 08:49:37",
        "08:49:37 6 NOV 94", "Nov-6-94;08:49:37", "(6) [Nov] {94} 08:49:37.250",
        "06Nov 6 Nov 94 08:49:37", "6 Nov 94 08:49:37 9:9:9 7 Dec 2000", "6th Nov 1994ad 8:49:37x",
    ])
    func `every spelling of a moment is that moment`(text: String) {
        #expect(read(text) == Self.moment)
    }

    @Test(
        arguments: [
            ("1 Jan 70 00:00:00", 0), ("1 Jan 1970 0:0:0", 0),
            ("31 Dec 69 23:59:59", 3_155_759_999),
            ("1 Jan 00 00:00:00", 946_684_800), ("29 Feb 2000 12:00:00", 951_825_600),
            ("29 Feb 2024 00:00:00", 1_709_164_800), ("1 Mar 1900 00:00:00", -2_203_891_200),
            ("19 Jan 2038 03:14:08", 2_147_483_648), ("1 Jan 1601 00:00:00", -11_644_473_600),
            ("31 Dec 9999 23:59:59", 253_402_300_799),
        ] as [(String, Int64)]
    )
    func `the calendar is Gregorian, and two digits mean 1970 to 2069`(
        text: String,
        seconds: Int64
    ) {
        #expect(read(text) == seconds)
    }

    @Test(arguments: [
        "", "tomorrow", "6 Nov 1994", "Nov 1994 08:49:37", "6 1994 08:49:37", "6 Nov 08:49:37",
        "0 Nov 1994 08:49:37", "32 Jan 1994 08:49:37", "31 Nov 1994 08:49:37",
        "29 Feb 1900 08:49:37", "29 Feb 2023 08:49:37", "6 Nov 1600 08:49:37",
        "6 Nov 1994 24:00:00", "6 Nov 1994 08:60:00", "6 Nov 1994 08:49:60",
        "6 Nov 1994 08:49", "6 Nov 1994 008:49:37", "6 Nov 1994 08:49:370", "6 Nov 1994 :49:37",
        "6 Nov 1994 08::37", "6 Nov 1994 08:49:", "006 Nov 1994 08:49:37", "6 Nov 19940 08:49:37",
        "6 No 1994 08:49:37", "6 Nov 199 08:49:37", "6 Nov 1994 8x:49:37",
    ])
    func `what misses a part or names no day is no date`(text: String) {
        #expect(read(text) == nil)
    }

    @Test func `no bytes trap`() {
        for byte in UInt8.min...UInt8.max {
            for length in [1, 2, 3, 40] {
                let bytes = [UInt8](repeating: byte, count: length)
                #expect(CookieDate.seconds(bytes.span) == nil)
            }
        }
    }

    @Test func `a date goes out as HTTP writes it and comes back`() {
        for seconds in stride(from: Int64(-2_000_000_000), to: 6_000_000_000, by: 98_765_431) {
            let text = HTTPDate.text(seconds)
            #expect(read(text) == seconds, "\(text)")
        }
    }
}
