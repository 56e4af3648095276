// The SETTINGS that one side of an HTTP/2 connection announces, and the limits that it enforces.
package import LupinCore

/// The behaviour of an HTTP/2 connection towards its peer.
package struct HTTP2Parameters: Sendable {
    /// Limits on what the peer may request.
    package var limits: HTTP2Limits
    /// Limits of heads and trailers.
    ///
    /// Fields are counted as for SETTINGS_MAX_HEADER_LIST_SIZE: 32 bytes in addition to name and
    /// value (RFC 9113 §6.5.2).
    package var heads: HTTP1Limits

    package init(limits: HTTP2Limits, heads: HTTP1Limits) {
        self.limits = limits
        self.heads = heads
    }

    /// The window of all streams together.
    ///
    /// It is replenished as soon as bytes are read off the connection, so that an unread stream
    /// does not stall the others (head-of-line blocking).
    static let connectionWindowBytes: Int32 = 16 << 20
    /// CONTINUATION frames of one header block (CVE-2024-27316): the largest accepted head fits
    /// into five.
    static let continuationsMax = 7
    /// A header block that decompresses to this multiple of the limit ends the connection.
    static let bombFactor = 4
}

/// Counts events in a period of time.
struct RateCounter {
    private let limit: RateLimit
    private var begun: UInt64 = 0
    private var count = 0

    init(_ limit: RateLimit) { self.limit = limit }

    /// Counts one event at `now`, in microseconds; returns false when that exceeds the limit.
    mutating func admit(now: UInt64) -> Bool {
        if now &- begun >= limit.per.boundedMicroseconds {
            begun = now
            count = 0
        }
        count += 1
        return count <= limit.count
    }
}
