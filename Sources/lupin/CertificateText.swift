// Formats and parses the times of certificates for users.
import LupinCore

/// Times in seconds, in RFC 3339 format.
enum TimeText {
    /// 9999-12-31T23:59:59Z.
    private static let lastSecond: Int64 = 253_402_300_799

    /// `2026-11-20T22:41:07Z`; times out of range are clamped to the range.
    static func text(_ seconds: Int64) -> String {
        var bytes: [UInt8] = []
        var writer = TimestampText()
        writer.append(date: min(max(seconds, 0), lastSecond) * 1_000_000, to: &bytes)
        return String(decoding: bytes.prefix(19), as: UTF8.self) + "Z"
    }

    /// Parses a time as seconds since 1970; drops a fraction.
    ///
    /// - Parameter text: `2026-11-20T22:41:07Z`, `…07.25+01:00` and the like.
    /// - Returns: The time, or nil when `text` is not a valid time.
    static func seconds(_ text: String) -> Int64? {
        var rest = Array(text.utf8)[...]
        guard let year = number(&rest, digits: 4), skip(0x2D, &rest),
            let month = number(&rest, digits: 2), skip(0x2D, &rest), (1...12).contains(month),
            let day = number(&rest, digits: 2), (1...days(in: month, of: year)).contains(day),
            skip(0x54, &rest) || skip(0x74, &rest) || skip(0x20, &rest),
            let hour = number(&rest, digits: 2), hour < 24, skip(0x3A, &rest),
            let minute = number(&rest, digits: 2), minute < 60, skip(0x3A, &rest),
            // A leap second becomes the second after it.
            let second = number(&rest, digits: 2), second <= 60
        else { return nil }
        if skip(0x2E, &rest) {
            guard let first = rest.first, first.isASCIIDigit else { return nil }
            rest = rest.drop { $0.isASCIIDigit }
        }
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        // Bounded: by the number of digits of each part.
        var total = day - 1
        for earlier in 1..<month { total += days(in: earlier, of: year) }
        // Bounded: by four digits. The days of whole years: every fourth year is a leap year,
        // except for three centuries of four.
        let before = year - 1
        total += before * 365 + before / 4 - before / 100 + before / 400 - 719_162
        // Bounded: by the number of digits of each part.
        return total * 86_400 + hour * 3600 + minute * 60 + second - offset
    }

    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        if skip(0x5A, &rest) || skip(0x7A, &rest) { return 0 }
        let isAhead = skip(0x2B, &rest)
        guard isAhead || skip(0x2D, &rest), let hours = number(&rest, digits: 2), hours < 24,
            skip(0x3A, &rest), let minutes = number(&rest, digits: 2), minutes < 60
        else { return nil }
        // Bounded: by the guard.
        return (hours * 60 + minutes) * (isAhead ? 60 : -60)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, digits: Int) -> Int64? {
        let text = rest.prefix(digits)
        guard let number = NumberReader.fixed(text.span, at: 0, digits: digits) else { return nil }
        rest = rest.dropFirst(digits)
        // Bounded: by nine digits.
        return Int64(number)
    }

    private static func skip(_ byte: UInt8, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }
}
