// Converts the times of certificates to seconds since 1970, and those to text.
import COpenSSL

enum CertificateTime {
    /// Seconds since 1970 of an `ASN1_TIME`; nil if it is malformed.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let time = unsafe time else { return nil }
        var parts = unsafe tm()
        // Safety: the call reads the time it is lent and fills `parts`.
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        let day = days(
            year: Int64(unsafe parts.tm_year) + 1900,
            month: Int64(unsafe parts.tm_mon) + 1,
            day: Int64(unsafe parts.tm_mday)
        )
        let minute = unsafe Int64(parts.tm_hour) * 60 + Int64(parts.tm_min)
        return day * 86_400 + minute * 60 + Int64(unsafe parts.tm_sec)
    }

    /// The day of `seconds` as `2026-03-31`.
    static func text(_ seconds: Int64) -> String {
        let (year, month, day) = date(seconds)
        return "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
    }

    /// The Gregorian date in UTC.
    private static func date(_ seconds: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Within years -9999…9999, so that no arithmetic below can overflow.
        let bounded = min(max(seconds, -370_000_000_000), 253_402_300_799)
        var rest = (bounded - (bounded % 86_400 + 86_400) % 86_400) / 86_400
        var year: Int64 = 1970 + rest / 366
        while days(year: year + 1, month: 1, day: 1) <= rest { year += 1 }
        while days(year: year, month: 1, day: 1) > rest { year -= 1 }
        var month: Int64 = 12
        while days(year: year, month: month, day: 1) > rest { month -= 1 }
        rest -= days(year: year, month: month, day: 1)
        return (year, month, rest + 1)
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // Years that begin in March end with the leap day, so months have fixed offsets.
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
