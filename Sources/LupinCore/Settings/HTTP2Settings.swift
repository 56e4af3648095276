// What the rules file says about HTTP/2: which side may speak it, and how much a peer may ask.

/// `listen[].protocols`: what clients may speak to a listener; never empty.
package struct ListenProtocols: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    /// `h1`: HTTP/1.1 and HTTP/1.0.
    package static let http1 = ListenProtocols(rawValue: 1)
    /// `h2`: HTTP/2, by ALPN where the listener has a certificate and by prior knowledge elsewhere
    /// (RFC 9113 §3.2 and §3.3).
    package static let http2 = ListenProtocols(rawValue: 2)

    package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// `limits.h2`: what the peer of one HTTP/2 connection may ask of lupin.
package struct HTTP2Limits: Sendable, Hashable {
    /// Streams that a client may have open on one connection at a time, as
    /// SETTINGS_MAX_CONCURRENT_STREAMS says it (RFC 9113 §6.5.2); 100 by default, 1 to 65,535.
    ///
    /// A client that opens one more has not read it: its connection ends with PROTOCOL_ERROR.
    package var streams = 100
    /// Streams that a client may open and reset, 1000 in 30 s by default; beyond, its connection
    /// ends with ENHANCE_YOUR_CALM.
    ///
    /// A reset frees its place among `streams` at once while the work goes on behind it, so that
    /// limit alone stops no flood (RFC 9113 §10.5).
    package var resets = RateLimit(count: 1000, per: .seconds(30))
    /// Frames that carry no message and cost work (PING, SETTINGS, PRIORITY, empty DATA, unknown
    /// types), 1000 in 10 s by default; beyond, the connection ends with ENHANCE_YOUR_CALM.
    ///
    /// WINDOW_UPDATE is not counted, nor is DATA on closed streams, of which nghttp2 says nothing.
    package var control = RateLimit(count: 1000, per: .seconds(10))
    /// Bytes of the table that the peer's HPACK encoder may fill in our memory (RFC 7541 §4.2);
    /// 4 KiB by default, 0 to 64 KiB.
    package var tableBytes = 4 << 10
    /// How much a peer may send before it is read.
    package var window = HTTP2Window.auto

    package init() {}
}

/// `limits.h2.window`: the flow-control window that lupin opens to a peer (RFC 9113 §5.2).
package enum HTTP2Window: Sendable, Hashable {
    /// 256 KiB, doubling to 4 MiB while the reader keeps up; what the windows of one worker have
    /// grown by is 32 MiB at most.
    case auto
    /// Always this many bytes, 64 KiB to 16 MiB.
    case fixed(bytes: Int)

    /// Where `auto` begins.
    package static let autoInitialBytes = 256 << 10
    /// Where `auto` ends for one window.
    package static let autoBytesMax = 4 << 20
    /// Where `auto` ends for all windows of a worker.
    package static let autoWorkerBytesMax = 32 << 20

    /// The size that a window begins with.
    package var initialBytes: Int {
        switch self {
        case .auto: HTTP2Window.autoInitialBytes
        case .fixed(let bytes): bytes
        }
    }

    /// What is written of `fixed`; nil is `auto`.
    package var fixedBytes: Int? {
        get {
            guard case .fixed(let bytes) = self else { return nil }
            return bytes
        }
        set { self = newValue.map { .fixed(bytes: $0) } ?? .auto }
    }
}

/// So many of something in so much time, written `1000/30s`.
package struct RateLimit: Sendable, Hashable {
    /// At least 1.
    package var count: Int
    /// More than nothing.
    package var per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }
}
