// The identifiers of traces and spans: 16 and 8 bytes, never all zero.

/// The identifier of a trace (W3C Trace Context §3.2.2.3).
package struct TraceID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    /// Returns nil for all zeros, which the specification forbids.
    package init?(high: UInt64, low: UInt64) {
        guard high | low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// The trace that begins with this exchange: the log, `lupin explain` and the trace have one
    /// identifier in common.
    package init?(_ id: ExchangeID) { self.init(high: id.high, low: id.low) }

    /// 32 lower-case hex digits.
    package var text: String { ExchangeID(high: high, low: low).text }
}

/// The identifier of a span (W3C Trace Context §3.2.2.4).
package struct SpanID: Hashable, Sendable {
    package let value: UInt64

    /// Returns nil for zero, which the specification forbids.
    package init?(_ value: UInt64) {
        guard value != 0 else { return nil }
        self.value = value
    }

    /// The identifier for a random number; zero, which is as likely as any other, becomes one.
    package init(random value: UInt64) { self.value = max(value, 1) }

    /// 16 lower-case hex digits.
    package var text: String {
        var bytes: [UInt8] = []
        bytes.append(hex: value, digits: 16)
        return String(decoding: bytes, as: UTF8.self)
    }
}
