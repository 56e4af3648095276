// The engine's interface to an upstream connection of any HTTP version.
package import LupinCore
package import LupinIO
package import LupinWire

/// One exchange's lease of an upstream connection or stream.
package protocol Upstream: AnyObject {
    /// The connection, which other exchanges may share.
    var channel: Channel { get }
    var peer: SocketAddress? { get }
    /// Where the connection leads.
    var hop: NextHop { get }
    /// TLS with the origin; nil in clear text.
    var secured: SecuredConnection? { get }
    var isReused: Bool { get }
    /// Whether a byte of a response has come: from then on nothing is repeated by default.
    var hasAnswered: Bool { get }
    /// The version of HTTP in use.
    var version: ProtocolVersion { get }
    /// The stream of an HTTP/2 connection, the code of its reset and of the GOAWAY; nil with
    /// HTTP/1.
    var streamID: UInt32? { get }
    var reset: HTTP2ErrorCode? { get }
    var goAway: HTTP2ErrorCode? { get }
    var bytesSent: UInt64 { get }
    var bytesReceived: UInt64 { get }

    /// Sets the slot to wake, and the pump to call while the task is parked.
    func attach(_ slot: ParkingSlot, _ pump: any ChannelPump)
    /// Stages the request's head; it leaves with the first body bytes or with `flush`.
    /// - Throws: When the connection can't take the request after all.
    func begin(_ head: RequestHead, _ options: borrowing RequestOptions) throws(LupinError)
    var requestBody: any BodySink { get }
    /// The next response head, interim or final; nil when none has come yet.
    func nextHead() throws(LupinError) -> ParsedResponse?
    /// The body of the final response that `nextHead` returned.
    var responseBody: any BodySource { get }
    /// What was read over in it so far.
    var bodyFlaws: ResponseFlaws { get }
    /// Both directions as raw bytes, for tunnels and upgrades.
    func openTunnel() -> (source: any BodySource, sink: any BodySink)
    /// Whether the peer, which has sent its whole response, still reads the request.
    var isReading: Bool { get }
    /// A client has logged in to the connection: it serves no other.
    var isForOneClient: Bool { get }
    /// Ends the lease after a complete exchange: the connection is kept if possible, by `keeper` if
    /// a client has logged in to it.
    func release(to pool: UpstreamPool, or keeper: (any ConnectionKeeper)?)
    /// Takes back the memory of a response's fields that are no longer needed.
    func recycle(_ fields: consuming FieldSection)
    /// Whether the link seems to swallow what is sent: for `time`, in microseconds, the peer has
    /// acknowledged nothing of it, or has not answered a PING.
    func swallows(for time: UInt64) -> Bool
    /// Fails the request with `error`, for its user to see with the next event.
    func fail(_ error: LupinError)
    /// Ends the lease early: the connection can't be used again.
    func abort()
}

extension Upstream {
    /// Why TLS failed behind the handshake, where it has.
    package var tlsFailure: LupinError? { secured?.error(at: hop) }

    package var bodyFlaws: ResponseFlaws { ResponseFlaws() }
    package var streamID: UInt32? { nil }
    package var reset: HTTP2ErrorCode? { nil }
    package var goAway: HTTP2ErrorCode? { nil }
}

/// The side of a client that may log in to upstream connections.
package protocol ConnectionKeeper: AnyObject {
    /// Keeps an idle upstream connection for the client alone, or closes it.
    func bind(_ connection: UpstreamHTTP1)
}
