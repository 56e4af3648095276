// When a response says that its request may come again.

/// The field `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfterField {
    /// What stands for every longer wait: ten years, which nobody waits and every sum can hold.
    package static let delayMax = Duration.seconds(10 * 365 * 86400)

    /// How long a response asks to wait.
    ///
    /// The field should stand there once. Of several lines the longest wait counts: who comes too
    /// late has lost some time, who comes too early adds to what the origin complains of. A line
    /// that says nothing sensible counts as absent.
    /// - Parameters:
    ///   - fields: Those of the response.
    ///   - unixMicroseconds: The moment at which it came, for a date.
    /// - Returns: Zero for a date that has passed, at most `delayMax`, and nil where the response
    ///   says nothing.
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

    private static func delay(_ line: Span<UInt8>, now: Int64) -> Duration? {
        let value = line.extracting(line.trimmedRange)
        guard !value.isEmpty else { return nil }
        if let seconds = seconds(value) { return min(.seconds(seconds), delayMax) }
        let today = HTTPDate.floorDivide(now, by: 1_000_000)
        guard let date = HTTPDate.seconds(of: value, now: today) else { return nil }
        // The date is a year of four digits; the clock is a parameter and may say anything.
        let wait = date.multipliedSaturated(by: 1_000_000).subtractingSaturated(now)
        return min(max(.microseconds(wait), .zero), delayMax)
    }

    /// `1*DIGIT`; beyond a trillion all are the same.
    private static func seconds(_ value: Span<UInt8>) -> Int64? {
        // Bounded: by a trillion.
        NumberReader.saturated(value, at: 1_000_000_000_000).map { Int64($0) }
    }
}
