// Parses the dates of messages, in all three formats.

extension HTTPDate {
    /// The moment of an HTTP-date (RFC 9110 §5.6.7), in seconds since 1970 UTC.
    ///
    /// Accepts all three formats: IMF-fixdate, that of RFC 850 and that of `asctime`. Letters may
    /// have any case, as RFC 9111 §4.2 requires of caches. The weekday must be a weekday but need
    /// not be the correct one. The zone must be GMT: by the same section a date in another zone is
    /// invalid.
    /// - Parameters:
    ///   - bytes: A field value; surrounding spaces are ignored.
    ///   - now: Seconds since 1970, which decide the century of a year in two digits.
    /// - Returns: nil for anything that is not a date, such as 31 February.
    package static func seconds(of bytes: Span<UInt8>, now: Int64) -> Int64? {
        let text = bytes.extracting(bytes.trimmedRange)
        // The shortest format is that of asctime, and the others have no space at this place.
        guard text.count >= 24 else { return nil }
        if text[3] == 0x20 { return asctime(text) }
        if text[3] == 0x2C { return fixdate(text) }
        return rfc850(text, now: now)
    }

    /// Parses a date as the overload for bytes does.
    package static func seconds(of text: String, now: Int64) -> Int64? {
        let utf8 = text.utf8
        return seconds(of: utf8.span, now: now)
    }

    // MARK: The formats

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixdate(_ text: Span<UInt8>) -> Int64? {
        guard text.count == 29, isShortWeekday(text), text[4] == 0x20, text[7] == 0x20,
            text[11] == 0x20, text[16] == 0x20, isGMT(text, at: 25),
            let day = number(text, at: 5, digits: 2), let month = month(text, at: 8),
            let year = number(text, at: 12, digits: 4), let time = time(text, at: 17)
        else { return nil }
        return moment(year, month, day, time)
    }

    /// `Sun Nov  6 08:49:37 1994`; a one-digit day has a leading space.
    private static func asctime(_ text: Span<UInt8>) -> Int64? {
        let dayStart = text[8] == 0x20 ? 9 : 8
        guard text.count == 24, isShortWeekday(text), text[7] == 0x20, text[10] == 0x20,
            text[19] == 0x20, let month = month(text, at: 4),
            let day = number(text, at: dayStart, digits: 10 - dayStart),
            let time = time(text, at: 11), let year = number(text, at: 20, digits: 4)
        else { return nil }
        return moment(year, month, day, time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ text: Span<UInt8>, now: Int64) -> Int64? {
        // The weekday's length varies; 24 bytes follow it.
        let end = text.count - 24
        guard isLongWeekday(text.extracting(0..<end)), text[end] == 0x2C, text[end + 1] == 0x20,
            text[end + 4] == 0x2D, text[end + 8] == 0x2D, text[end + 11] == 0x20,
            isGMT(text, at: end + 20), let day = number(text, at: end + 2, digits: 2),
            let month = month(text, at: end + 5),
            let digits = number(text, at: end + 9, digits: 2),
            let time = time(text, at: end + 12)
        else { return nil }
        let year = fullYear(digits, month, day, time, now: now)
        return moment(year, month, day, time)
    }

    /// The year for two digits: the latest one that is at most 50 years ahead.
    ///
    /// RFC 9110 §5.6.7: what «appears to be more than 50 years in the future» MUST be read as «the
    /// most recent year in the past that had the same last two digits».
    private static func fullYear(
        _ digits: Int,
        _ month: Int,
        _ day: Int,
        _ time: Int,
        now: Int64
    ) -> Int {
        // From 1970 to 9999: the clock is a parameter and may have any value.
        let present = min(max(now, 0), lastMoment)
        let days = floorDivide(present, by: 86400)
        let today = civil(Int(days))
        let latest = today.year + 50
        let year = latest - (latest - digits) % 100
        guard year == latest else { return year }
        let isLater = (month, day, time) > (today.month, today.day, Int(present - days * 86400))
        return isLater ? year - 100 : year
    }

    // MARK: The parts

    /// Parses `08:49:37` into seconds since midnight; a leap second may end a day.
    private static func time(_ text: Span<UInt8>, at start: Int) -> Int? {
        guard text[start + 2] == 0x3A, text[start + 5] == 0x3A,
            let hour = number(text, at: start, digits: 2), hour <= 23,
            let minute = number(text, at: start + 3, digits: 2), minute <= 59,
            let second = number(text, at: start + 6, digits: 2),
            second <= 59 || (second == 60 && hour == 23 && minute == 59)
        else { return nil }
        // Bounded: by the guard.
        return hour * 3600 + minute * 60 + second
    }

    /// Parses exactly the given number of digits.
    private static func number(_ text: Span<UInt8>, at start: Int, digits: Int) -> Int? {
        NumberReader.fixed(text, at: start, digits: digits)
    }

    private static func isGMT(_ text: Span<UInt8>, at start: Int) -> Bool {
        text[start] == 0x20 && letters(text, at: start + 1) == 0x67_6D74  // gmt
    }

    private static func month(_ text: Span<UInt8>, at start: Int) -> Int? {
        switch letters(text, at: start) {
        case 0x6A_616E: 1  // jan
        case 0x66_6562: 2  // feb
        case 0x6D_6172: 3  // mar
        case 0x61_7072: 4  // apr
        case 0x6D_6179: 5  // may
        case 0x6A_756E: 6  // jun
        case 0x6A_756C: 7  // jul
        case 0x61_7567: 8  // aug
        case 0x73_6570: 9  // sep
        case 0x6F_6374: 10  // oct
        case 0x6E_6F76: 11  // nov
        case 0x64_6563: 12  // dec
        default: nil
        }
    }

    private static func isShortWeekday(_ text: Span<UInt8>) -> Bool {
        weekdayEnding(text) != nil
    }

    private static func isLongWeekday(_ text: Span<UInt8>) -> Bool {
        guard text.count >= 6, let ending = weekdayEnding(text) else { return false }
        return isSpelled(text.extracting(3..<text.count), ending)
    }

    /// The rest of a weekday's long name after its first three letters.
    private static func weekdayEnding(_ text: Span<UInt8>) -> String? {
        switch letters(text, at: 0) {
        case 0x73_756E: "day"  // sun
        case 0x6D_6F6E: "day"  // mon
        case 0x74_7565: "sday"  // tue
        case 0x77_6564: "nesday"  // wed
        case 0x74_6875: "rsday"  // thu
        case 0x66_7269: "day"  // fri
        case 0x73_6174: "urday"  // sat
        default: nil
        }
    }

    private static func isSpelled(_ text: Span<UInt8>, _ word: String) -> Bool {
        let utf8 = word.utf8
        return text.equalsIgnoringCase(utf8.span)
    }

    /// Three letters as one number, in lower case.
    private static func letters(_ text: Span<UInt8>, at start: Int) -> UInt32 {
        UInt32(text[start].asciiLowercased) << 16
            | UInt32(text[start + 1].asciiLowercased) << 8
            | UInt32(text[start + 2].asciiLowercased)
    }

    // MARK: The calendar

    /// The last moment of a four-digit year.
    private static let lastMoment: Int64 = 253_402_300_799

    /// Seconds since 1970 of a moment; nil for a day that the month doesn't have.
    static func moment(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Int64? {
        guard (0...9999).contains(year), day >= 1, day <= daysOfMonth(month, year) else {
            return nil
        }
        // A leap second after the last day would exceed four-digit years.
        return min(Int64(days(year, month, day)) * 86400 + Int64(time), lastMoment)
    }

    private static func daysOfMonth(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970, the inverse of `civil`.
    ///
    /// Years begin in March, and are offset by 400, so that no value is negative.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = (month <= 2 ? year - 1 : year) + 400
        let monthOfYear = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        let dayOfYear = (153 * monthOfYear + 2) / 5 + day - 1
        return marchYear * 365 + leapDays + dayOfYear - 719_468 - 146_097
    }
}
