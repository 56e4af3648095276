// Parses the Expires attribute of a cookie, in any form that servers write.

import LupinCore

/// The lenient date format of cookies (RFC 6265 §5.1.1), which is not an HTTP-date.
package enum CookieDate {
    /// Seconds since 1970 UTC; nil when the bytes are not a date.
    ///
    /// Tokens may be in any order; the first of each kind counts, and tokens that are not part of a
    /// date, such as a weekday or a time zone, are ignored.
    package static func seconds(_ bytes: Span<UInt8>) -> Int64? {
        var parts = Parts()
        var i = 0
        while i < bytes.count {
            while i < bytes.count, bytes[i].isDateDelimiter { i += 1 }
            let start = i
            while i < bytes.count, !bytes[i].isDateDelimiter { i += 1 }
            if i > start { parts.take(bytes.extracting(start..<i)) }
        }
        return parts.seconds
    }

    /// The values of the tokens so far.
    private struct Parts {
        var time: (hour: Int64, minute: Int64, second: Int64)?
        var day: Int64?
        var month: Int64?
        var year: Int64?

        mutating func take(_ token: Span<UInt8>) {
            if time == nil, let time = CookieDate.time(token) {
                self.time = time
            } else if day == nil, let day = CookieDate.number(token, digits: 1...2) {
                self.day = day
            } else if month == nil, let month = CookieDate.month(token) {
                self.month = month
            } else if year == nil, let year = CookieDate.number(token, digits: 2...4) {
                self.year = year
            }
        }

        var seconds: Int64? {
            guard let time, let day, let month, var year else { return nil }
            // Bounded: by four digits.
            if (70...99).contains(year) { year += 1900 }
            if (0...69).contains(year) { year += 2000 }
            guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59, day >= 1,
                day <= CookieDate.daysOfMonth(month, year)
            else { return nil }
            // Bounded: by the calendar, and by four digits of a year.
            let days = CookieDate.days(year: year, month: month, day: day)
            return days * 86400 + time.hour * 3600 + time.minute * 60 + time.second
        }
    }

    // MARK: Tokens

    /// Parses three numbers separated by colons, not followed by another digit.
    private static func time(
        _ token: Span<UInt8>
    ) -> (hour: Int64, minute: Int64, second: Int64)? {
        var numbers: [Int64] = []
        var start = 0
        while numbers.count < 2 {
            var end = start
            while end < token.count, token[end] != 0x3A { end += 1 }
            let field = token.extracting(start..<end)
            guard end < token.count, (1...2).contains(field.count),
                let value = number(field, digits: 1...2, isWhole: true)
            else { return nil }
            numbers.append(value)
            start = end + 1
        }
        guard let second = number(token.extracting(start..<token.count), digits: 1...2) else {
            return nil
        }
        return (numbers[0], numbers[1], second)
    }

    /// Parses the number at the start of a token; its digit count must be in the given range.
    private static func number(
        _ token: Span<UInt8>,
        digits: ClosedRange<Int>,
        isWhole: Bool = false
    ) -> Int64? {
        var count = 0
        while count < token.count, token[count].isASCIIDigit { count += 1 }
        guard digits.contains(count), !isWhole || count == token.count else { return nil }
        // Bounded: by nine digits.
        return NumberReader.fixed(token, at: 0, digits: count).map { Int64($0) }
    }

    /// The month that begins with the first three letters of a token, in any case.
    private static func month(_ token: Span<UInt8>) -> Int64? {
        guard token.count >= 3 else { return nil }
        let letters = token.extracting(0..<3)
        for (i, name) in months.enumerated() where letters.equalsIgnoringCase(name.utf8Span.span) {
            return Int64(i + 1)
        }
        return nil
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    // MARK: The calendar

    private static func daysOfMonth(_ month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2:
            let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            return isLeapYear ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Days since 1970 in the Gregorian calendar; years begin in March, so that the leap day is
    /// their last day.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension UInt8 {
    /// Whether the byte separates tokens of a cookie's date; a colon never does.
    fileprivate var isDateDelimiter: Bool {
        switch self {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}
