// Whether dates of messages are read as RFC 9110 §5.6.7 has them, and written so that they are.

import LupinCore
import LupinTestKit
import Testing

struct HTTPDateTests {
    /// Sun, 22 Nov 2026 00:00:00 GMT.
    private let now: Int64 = 1_795_305_600

    @Test func `a moment that no text can say is the nearest one`() {
        #expect(HTTPDate.text(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.text(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 06 08:49:37 1994", 784_111_777),
            ("Wed Nov 16 08:49:37 1994", 784_975_777),
            // In any case, with spaces around, with another weekday than the right one.
            ("SUN, 06 nov 1994 08:49:37 gmt", 784_111_777),
            ("wednesday, 06-NOV-94 08:49:37 GMT", 784_111_777),
            (" \tMon, 06 Nov 1994 08:49:37 GMT ", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
            // A leap second is the second after it.
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            // There is no text for the moment behind it.
            ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_799),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, Int64)]
    )
    func `a date is read in every format`(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(of: text, now: now) == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 10000 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunnyday, 06-Nov-94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 31 Apr 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 23:59:61 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun", "Sun Nov  6 08:49:37 94",
        "Sun Nov   08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov 6 08:49:37 1994 ",
        "Sun, 06 Növ 1994 08:49:37 GM", "Tue, 1 January 2030 00:00:00 GMT",
    ])
    func `what is no date is none`(text: String) {
        #expect(HTTPDate.seconds(of: text, now: now) == nil)
    }

    @Test(
        arguments: [
            // From just above 50 years ago to 50 years ahead, to the second.
            ("Sunday, 22-Nov-76 00:00:00 GMT", 1_795_305_600, "Sun, 22 Nov 2076 00:00:00 GMT"),
            ("Monday, 22-Nov-76 00:00:01 GMT", 1_795_305_600, "Mon, 22 Nov 1976 00:00:01 GMT"),
            ("Monday, 01-Dec-76 00:00:00 GMT", 1_795_305_600, "Wed, 01 Dec 1976 00:00:00 GMT"),
            ("Monday, 01-Jan-77 00:00:00 GMT", 1_795_305_600, "Sat, 01 Jan 1977 00:00:00 GMT"),
            ("Monday, 01-Jan-26 00:00:00 GMT", 1_795_305_600, "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Monday, 31-Dec-99 00:00:00 GMT", 1_795_305_600, "Fri, 31 Dec 1999 00:00:00 GMT"),
            ("Monday, 01-Jan-00 00:00:00 GMT", 1_795_305_600, "Sat, 01 Jan 2000 00:00:00 GMT"),
            // Long before a century ends, the next one is meant.
            ("Monday, 01-Jan-10 00:00:00 GMT", 3_786_912_000, "Wed, 01 Jan 2110 00:00:00 GMT"),
            ("Monday, 01-Jan-70 00:00:00 GMT", 0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("Monday, 01-Jan-69 00:00:00 GMT", .min, "Wed, 01 Jan 1969 00:00:00 GMT"),
        ] as [(String, Int64, String)]
    )
    func `a year in two digits is at most 50 years ahead`(text: String, now: Int64, full: String) {
        let seconds = HTTPDate.seconds(of: text, now: now)
        #expect(seconds.map(HTTPDate.text) == full)
    }

    @Test func `a clock that says anything traps nothing`() {
        for now in [Int64.min, -1, 0, 253_402_300_799, Int64.max] {
            for year in 0...99 {
                let text = "Monday, 29-Feb-\(year < 10 ? "0" : "")\(year) 00:00:00 GMT"
                let seconds = HTTPDate.seconds(of: text, now: now)
                #expect(seconds == nil || year % 4 == 0)
            }
        }
    }

    @Test(arguments: [
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Wed, 06 Nov 0999 08:49:37 GMT", -30_615_030_623),
    ])
    func `a year has four digits`(text: String, seconds: Int64) {
        #expect(HTTPDate.text(seconds) == text)
        #expect(HTTPDate.seconds(of: text, now: 0) == seconds)
    }

    @Test func `what is written is read again`() {
        var numbers = SeededNumbers(seed: 1)
        // Years 1000 to 9999, the days around every February among them.
        var moments = (0..<3000).map { _ in
            Int64.random(in: -30_610_224_000...253_402_300_799, using: &numbers)
        }
        for year in 0..<400 {
            let march: Int64 = 951_868_800 + Int64(year) * 31_556_952
            moments += [march - 172_800, march - 86400, march - 1, march, march + 86400]
        }
        for moment in moments {
            let text = HTTPDate.text(moment)
            if HTTPDate.seconds(of: text, now: 0) != moment { Issue.record("\(text)") }
        }
    }

    @Test func `every cut and every changed byte is survived`() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Wednesday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            let bytes = Array(text.utf8)
            for cut in 0..<bytes.count {
                #expect(HTTPDate.seconds(of: Array(bytes[..<cut]).span, now: now) == nil)
                for byte in [UInt8(0), 0x20, 0x2C, 0x39, 0x3A, 0xFF] {
                    var changed = bytes
                    changed[cut] = byte
                    _ = HTTPDate.seconds(of: changed.span, now: now)
                }
            }
        }
    }
}
