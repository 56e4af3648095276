// Formats numbers and times as ASCII for records, without an intermediate String.

extension Array where Element == UInt8 {
    /// Appends the low `digits` hex digits of `value`, lower case.
    package mutating func append(hex value: UInt64, digits: Int) {
        append(addingCapacity: digits) { output in
            var shift = digits &* 4
            while shift > 0 {
                shift &-= 4
                let digit = UInt8(truncatingIfNeeded: value &>> UInt64(shift)) & 15
                output.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
            }
        }
    }

    /// Appends two hex digits for each byte, lower case.
    package mutating func append(hexOf bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count &* 2) { output in
            for i in bytes.indices {
                let (high, low) = (bytes[i] &>> 4, bytes[i] & 15)
                output.append(high < 10 ? 0x30 &+ high : 0x57 &+ high)
                output.append(low < 10 ? 0x30 &+ low : 0x57 &+ low)
            }
        }
    }

    /// Appends `value` in decimal, padded with zeros to at least `width` digits (at most 20).
    package mutating func append(decimal value: UInt64, width: Int = 1) {
        var digits = 1
        var rest = value / 10
        while rest > 0 {
            digits &+= 1
            rest /= 10
        }
        let zeros = Swift.max(0, Swift.min(width, 20) &- digits)
        appendText(atMost: 40) { output in
            for _ in 0..<zeros { output.append(0x30) }
            output.append(decimal: value)
        }
    }

    /// Appends µs as ms with three decimals; a negative duration becomes 0.
    package mutating func append(milliseconds microseconds: Int64) {
        appendText(atMost: 24) { output in output.append(milliseconds: microseconds) }
    }
}

/// Formats wall clock times.
///
/// Caches the text of the last second: a busy worker formats a date once a second.
package struct TimestampText: Sendable {
    /// Seconds east of UTC, for users; records for machines use 0.
    package let utcOffsetSeconds: Int64
    private var second = Int64.min
    /// The text of `second`: `2026-11-20T22:41:07`.
    private var text: [UInt8] = []
    /// The same, followed by a point, for records.
    private var fragment = Fragment("")

    package init(utcOffsetSeconds: Int64 = 0) { self.utcOffsetSeconds = utcOffsetSeconds }

    /// Appends `2026-11-20T22:41:07.123456Z` (RFC 3339, which ends with year 9999).
    package mutating func append(date microseconds: Int64, to bytes: inout [UInt8]) {
        bytes.appendText(atMost: 27) { output in append(date: microseconds, to: &output) }
    }

    /// Appends the same, 27 bytes, to a cursor.
    package mutating func append(date microseconds: Int64, to output: inout TextCursor) {
        let fraction = UInt32(truncatingIfNeeded: update(microseconds))
        output.append(fragment)
        output.append(sixDigits: fraction)
        output.append(0x5A)
    }

    /// Appends `22:41:07.123`.
    package mutating func append(timeOfDay microseconds: Int64, to bytes: inout [UInt8]) {
        let fraction = update(microseconds)
        bytes.append(contentsOf: text.dropFirst(11))
        bytes.append(0x2E)
        bytes.append(decimal: UInt64(fraction / 1000), width: 3)
    }

    /// Appends `2026-11-20`.
    package mutating func append(dayOf microseconds: Int64, to bytes: inout [UInt8]) {
        _ = update(microseconds)
        bytes.append(contentsOf: text.prefix(10))
    }

    /// Updates `text` to the given time; returns the µs within the second.
    private mutating func update(_ microseconds: Int64) -> Int64 {
        let (whole, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let floor = fraction < 0 ? whole - 1 : whole
        // 253402300799 is the last second of year 9999.
        let wanted = min(max(floor &+ utcOffsetSeconds, 0), 253_402_300_799)
        if wanted != second {
            second = wanted
            text = TimestampText.format(second: wanted)
            fragment = Fragment(String(decoding: text + [0x2E], as: UTF8.self))
        }
        return fraction < 0 ? fraction + 1_000_000 : fraction
    }

    private static func format(second: Int64) -> [UInt8] {
        let (days, time) = second.quotientAndRemainder(dividingBy: 86_400)
        // With years that begin on 1 March, leap days come last in their year, and every 400 years
        // have 146097 days.
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let leapDays = dayOfEra / 1460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        let parts = [
            (year, 4, 0x2D), (month, 2, 0x2D), (day, 2, 0x54),
            (time / 3600, 2, 0x3A), (time / 60 % 60, 2, 0x3A), (time % 60, 2, 0),
        ]
        var text: [UInt8] = []
        text.reserveCapacity(19)
        for (value, width, separator) in parts {
            text.append(decimal: UInt64(value), width: width)
            if separator != 0 { text.append(UInt8(separator)) }
        }
        return text
    }
}
