// Parses when a response permits its request again.

package import LupinCore

/// The field `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfterField {
    /// The value for every longer wait: ten years, which no sum overflows.
    package static let delayMax = Duration.seconds(10 * 365 * 86400)

    /// The wait that a response requests.
    ///
    /// The field should occur once. Of several lines the longest wait counts: a late retry costs
    /// only time, an early one adds to the origin's load. Invalid lines count as absent.
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - unixMicroseconds: The time at which it arrived, for a date.
    /// - Returns: Zero for a date that has passed, at most `delayMax`, and nil without a valid
    ///   line.
    package static func delay(
        of fields: FieldSection,
        now unixMicroseconds: Int64
    ) -> Duration? {
        guard fields.names.contains(.retryAfter) else { return nil }
        var longest: Duration?
        for line in fields.lines where line.known == .retryAfter {
            let value = fields.storage.span.extracting(line.value.range)
            guard let delay = delay(value, now: unixMicroseconds) else { continue }
            longest = max(longest ?? .zero, delay)
        }
        return longest
    }

    /// The wait that a value of the field requests; nil for an invalid one.
    package static func delay(_ value: String, now unixMicroseconds: Int64) -> Duration? {
        delay(value.utf8Span.span, now: unixMicroseconds)
    }

    private static func delay(_ line: Span<UInt8>, now: Int64) -> Duration? {
        let value = line.extracting(line.trimmedRange)
        guard !value.isEmpty else { return nil }
        if let seconds = seconds(value) { return min(.seconds(seconds), delayMax) }
        let today = HTTPDate.floorDivide(now, by: 1_000_000)
        guard let date = HTTPDate.seconds(of: value, now: today) else { return nil }
        // The date's year has four digits; the clock is a parameter and may have any value.
        let wait = date.multipliedSaturated(by: 1_000_000).subtractingSaturated(now)
        return min(max(.microseconds(wait), .zero), delayMax)
    }

    /// Parses `1*DIGIT`; numbers above a trillion count as a trillion.
    ///
    /// Some servers send a fraction, which RFC 9110 has no room for: the wait ends with the second
    /// in which it would have.
    private static func seconds(_ value: Span<UInt8>) -> Int64? {
        let point = value.offset(of: 0x2E)
        // Bounded: by a trillion.
        let whole = NumberReader.saturated(value.extracting(first: point), at: 1_000_000_000_000)
            .map { Int64($0) }
        guard let whole, point < value.count else { return whole }
        let fraction = value.extracting((point + 1)..<value.count)
        guard let part = NumberReader.saturated(fraction, at: 1) else { return nil }
        // Bounded: by a trillion and one.
        return part > 0 ? whole + 1 : whole
    }
}
