// Formats dates as HTTP sends them (RFC 9110 §5.6.7).

/// IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    /// The text for `seconds` since 1970 UTC; moments outside years 0 to 9999 are clamped.
    package static func text(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let days = Int(floorDivide(seconds, by: 86400))
        let second = Int(seconds - Int64(days) * 86400)
        let (year, month, day) = civil(days)
        let time = [second / 3600, second / 60 % 60, second % 60].map(twoDigits)
        let weekday = weekdays[((days + 4) % 7 + 7) % 7]
        return "\(weekday), \(twoDigits(day)) \(months[month - 1]) \(fourDigits(year)) "
            + "\(time.joined(separator: ":")) GMT"
    }

    /// Year, month and day of a number of days since 1970 in the Gregorian calendar.
    ///
    /// Years begin in March, so that the leap day is their last day.
    static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = Int(floorDivide(Int64(shifted), by: 146_097))
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    package static func floorDivide(_ a: Int64, by b: Int64) -> Int64 {
        let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private static func fourDigits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
