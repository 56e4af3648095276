// Parses numbers from peers, files and command lines, without traps.

/// The parser for all numbers of external origin.
///
/// No input can make it trap: every step is checked before its result is used. Callers specify the
/// largest value that they can handle, so that computations with the value can't overflow either.
package enum NumberReader {
    /// The result at a position.
    package enum Found: Sendable, Equatable {
        /// No digit.
        case none
        case value(UInt64)
        /// Digits whose number exceeds the maximum.
        case tooLarge
    }

    /// Parses the decimal digits from `position` on, and always moves it past the last of them.
    @inlinable package static func decimal(
        _ text: Span<UInt8>,
        from position: inout Int,
        max: UInt64 = .max
    ) -> Found {
        guard position < text.count, text[position].isASCIIDigit else { return .none }
        var value: UInt64? = 0
        while position < text.count, text[position].isASCIIDigit {
            value = value.flatMap { adding(text[position] &- 0x30, to: $0, max: max) }
            position &+= 1
        }
        return value.map { .value($0) } ?? .tooLarge
    }

    /// Parses `1*DIGIT`; nil when invalid or larger than `max`.
    @inlinable package static func unsigned(
        _ text: Span<UInt8>,
        max: UInt64 = .max
    ) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var value: UInt64 = 0
        for i in text.indices {
            guard text[i].isASCIIDigit,
                let next = adding(text[i] &- 0x30, to: value, max: max)
            else { return nil }
            value = next
        }
        return value
    }

    /// As the overload for bytes.
    package static func unsigned(_ text: some StringProtocol, max: UInt64 = .max) -> UInt64? {
        unsigned(Array(text.utf8).span, max: max)
    }

    /// Parses a port from 1 to 65535.
    package static func port(_ text: Span<UInt8>) -> UInt16? {
        guard let port = unsigned(text, max: 65535), port > 0 else { return nil }
        return UInt16(truncatingIfNeeded: port)
    }

    /// As the overload for bytes.
    package static func port(_ text: some StringProtocol) -> UInt16? {
        port(Array(text.utf8).span)
    }

    /// Parses `1*DIGIT` with an optional minus; nil when invalid or beyond 64 bits.
    package static func signed(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty, text[0] == 0x2D else {
            // Bounded: by the largest that fits.
            return unsigned(text, max: UInt64(Int64.max)).map { Int64($0) }
        }
        let digits = text.extracting(droppingFirst: 1)
        let largest = UInt64(Int64.max) + 1
        return unsigned(digits, max: largest).map { 0 &- Int64(truncatingIfNeeded: $0) }
    }

    /// As the overload for bytes.
    package static func signed(_ text: some StringProtocol) -> Int64? {
        signed(Array(text.utf8).span)
    }

    /// Parses `1*DIGIT`; a number larger than `limit` becomes `limit`.
    ///
    /// RFC 9111 §1.2.2 requires that for delta-seconds, with a limit of 2^31.
    package static func saturated(_ text: Span<UInt8>, at limit: UInt64) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var value: UInt64 = 0
        for i in text.indices {
            guard text[i].isASCIIDigit else { return nil }
            value = adding(text[i] &- 0x30, to: value, max: limit) ?? limit
        }
        return value
    }

    /// Parses hexadecimal digits in either case; nil when invalid or larger than `max`.
    package static func hexadecimal(_ text: Span<UInt8>, max: UInt64 = .max) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var value: UInt64 = 0
        for i in text.indices {
            guard let digit = text[i].hexDigit,
                let next = adding(digit, to: value, radix: 16, max: max)
            else { return nil }
            value = next
        }
        return value
    }

    /// As the overload for bytes.
    package static func hexadecimal(_ text: some StringProtocol, max: UInt64 = .max) -> UInt64? {
        hexadecimal(Array(text.utf8).span, max: max)
    }

    /// Parses exactly `digits` decimal digits from `start` on; nil if other bytes are there.
    ///
    /// At most nine digits are allowed, so that sums and products of a few such numbers, such as
    /// the parts of a date, can't overflow 64 bits.
    package static func fixed(_ text: Span<UInt8>, at start: Int, digits: Int) -> Int? {
        guard (1...9).contains(digits), start >= 0, start <= text.count,
            text.count &- start >= digits
        else { return nil }
        var value = 0
        for i in start..<(start &+ digits) {
            guard text[i].isASCIIDigit else { return nil }
            value = value &* 10 &+ Int(text[i] &- 0x30)
        }
        return value
    }

    /// Parses two hexadecimal digits at `start` as a byte; nil if other bytes are there.
    package static func hexadecimalByte(_ text: Span<UInt8>, at start: Int) -> UInt8? {
        guard start >= 0, start < text.count, text.count &- start >= 2,
            let high = text[start].hexDigit, let low = text[start &+ 1].hexDigit
        else { return nil }
        return high &<< 4 | low
    }

    /// Appends a digit to the number `value`; nil beyond `max`.
    ///
    /// For parsers that get their digits one at a time. The digit must be below `radix`, and
    /// `value` is the number of the digits before it.
    @inlinable @inline(__always) package static func adding(
        _ digit: UInt8,
        to value: UInt64,
        radix: UInt64 = 10,
        max: UInt64
    ) -> UInt64? {
        let (product, isBeyond) = value.multipliedReportingOverflow(by: radix)
        let (sum, isStillBeyond) = product.addingReportingOverflow(UInt64(digit))
        return isBeyond || isStillBeyond || sum > max ? nil : sum
    }
}

// MARK: Sums of such numbers

extension UInt64 {
    /// The sum, saturating at the largest number.
    package func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? .max : sum
    }
}

extension Int64 {
    /// The sum, saturating at the bounds of the range.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, saturating at the bounds of the range.
    package func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, isOverflow) = subtractingReportingOverflow(other)
        return isOverflow ? (other < 0 ? .max : .min) : difference
    }

    /// The product, saturating at the bounds of the range.
    package func multipliedSaturated(by other: Int64) -> Int64 {
        let (product, isOverflow) = multipliedReportingOverflow(by: other)
        return isOverflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit in either case, or nil.
    package var hexDigit: UInt8? {
        if isASCIIDigit { return self &- 0x30 }
        let letter = asciiLowercased &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }
}
