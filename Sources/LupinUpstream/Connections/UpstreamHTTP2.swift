// One HTTP/2 connection to an origin, and how many more requests it can carry.
package import LupinCore
package import LupinIO
package import LupinWire

/// An upstream connection that many exchanges use at a time.
package final class UpstreamHTTP2: HTTP2LinkOwner {
    let hop: NextHop
    let secured: SecuredConnection
    package let peer: SocketAddress?
    package let link: HTTP2Link
    private var checkedAccess = AddressAccess()
    /// Which clients the access rules let use it.
    package var access: AddressAccess {
        get { checkedAccess }
        set { checkedAccess = newValue }
    }
    /// The number of streams that `upstream.pool.streams` allows.
    private let streamsMax: Int
    /// The pool to notify when the connection has ended, or takes requests again.
    var pool: StreamPool?
    /// Whether an earlier exchange used the connection.
    private var hasServed = false
    /// When the last stream ended, in microseconds of the loop's clock.
    private(set) var idleSince: UInt64
    private var isLeaving = false

    package init(
        _ channel: Channel,
        to hop: NextHop,
        _ parameters: HTTP2Parameters,
        streamsMax: Int,
        secured: SecuredConnection,
        growth: WindowGrowth
    ) {
        self.hop = hop
        self.secured = secured
        self.streamsMax = streamsMax
        peer = channel.peer
        idleSince = channel.loop.now
        link = HTTP2Link(channel, .client, parameters, growth: growth)
        link.owner = self
    }

    func start() { link.start() }

    /// How many more streams may be opened.
    var streamsLeft: Int {
        guard link.isOpen, !isLeaving, link.goAway == nil else { return 0 }
        // Before the origin's SETTINGS, more than one stream could exceed its limit.
        guard link.hasSettings else { return link.streamCount == 0 ? 1 : 0 }
        return min(link.connection.streamsLeft, streamsMax - link.streamCount)
    }

    /// Whether a WebSocket can begin on a stream (RFC 8441 §3).
    var takesExtendedConnect: Bool { link.connection.takesExtendedConnect }

    /// Whether the origin has been silent for so long that a PING should check it before a request
    /// that can't be repeated.
    package var isDoubtful: Bool {
        link.loop.now &- link.lastReceived >= Self.silence && (!link.hasStreams || link.awaitsPong)
    }

    /// How long a connection may be silent before it is doubted, in microseconds.
    private static let silence: UInt64 = 15_000_000

    /// Leases the connection to one exchange.
    package func lease() -> UpstreamStream {
        defer { hasServed = true }
        return UpstreamStream(on: self, isReused: hasServed)
    }

    /// Takes no more requests, and closes when the running ones have ended.
    package func leave() {
        guard !isLeaving else { return }
        isLeaving = true
        link.leave()
    }

    /// Ends at once: the peer does not answer.
    package func giveUp() { link.giveUp(.noError) }

    /// Ends at once because lupin stops.
    func cut() { link.cut() }

    // MARK: Events of the link

    // A server can't send requests: nghttp2 has answered such frames with a connection error.
    package func linkReceived(_ request: ParsedRequest, on stream: HTTP2Stream, named: String?) {}
    package func linkRefused(_ problem: MessageProblem, to method: Method, on stream: HTTP2Stream) {
    }
    package func linkRejected(_ stream: HTTP2Stream) {}

    package func linkChanged() {
        if !link.hasStreams {
            idleSince = link.loop.now
            pool?.keepTicket(of: secured, for: hop)
            if link.goAway != nil { leave() }
        }
        pool?.roomChanged(at: hop)
    }

    package func linkEnded() {
        pool?.forget(self)
        pool = nil
    }
}
