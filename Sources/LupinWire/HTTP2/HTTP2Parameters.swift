// What one side of an HTTP/2 connection announces in its SETTINGS, and what it puts up with.
package import LupinCore

/// How an HTTP/2 connection behaves towards its peer.
package struct HTTP2Parameters: Sendable {
    /// What the peer may ask for.
    package var limits: HTTP2Limits
    /// Limits of heads and trailers.
    ///
    /// A field counts as in SETTINGS_MAX_HEADER_LIST_SIZE: 32 bytes beside its name and value
    /// (RFC 9113 §6.5.2).
    package var heads: HTTP1Limits

    package init(limits: HTTP2Limits, heads: HTTP1Limits) {
        self.limits = limits
        self.heads = heads
    }

    /// Bytes that all streams together may have under way; asked for again as soon as they are
    /// read off the connection, so that a stream that nobody reads stops none of its siblings.
    static let connectionWindowBytes: Int32 = 16 << 20
    /// CONTINUATION frames of one header block (CVE-2024-27316): the largest head that is taken
    /// fits into five.
    static let continuationsMax = 8
    /// A header block that unpacks to so many times what is allowed ends the connection.
    static let bombFactor = 4
}

/// Counts what happens in a stretch of time.
struct RateCounter {
    private let limit: RateLimit
    private var begun: UInt64 = 0
    private var count = 0

    init(_ limit: RateLimit) { self.limit = limit }

    /// Counts one more at `now`, in microseconds; false when that is too many.
    mutating func admit(now: UInt64) -> Bool {
        if now &- begun >= limit.per.boundedMicroseconds {
            begun = now
            count = 0
        }
        count += 1
        return count <= limit.count
    }
}
