// What the engine asks of an upstream connection, whatever HTTP version it speaks.
import LupinCore
import LupinIO
import LupinWire

/// One exchange's hold on an upstream connection or stream.
protocol Upstream: AnyObject {
    /// The connection, which others may share.
    var channel: Channel { get }
    var peer: SocketAddress? { get }
    /// TLS with the origin; nil in clear.
    var secured: SecuredConnection? { get }
    var isReused: Bool { get }
    /// Whether a byte of a response has come: from then on nothing may be sent again unasked.
    var hasAnswered: Bool { get }
    /// The version of HTTP that is spoken.
    var version: ProtocolVersion { get }
    /// The stream of an HTTP/2 connection, why upstream reset it and what its GOAWAY said; nil with
    /// HTTP/1.
    var streamID: UInt32? { get }
    var reset: HTTP2ErrorCode? { get }
    var goAway: HTTP2ErrorCode? { get }
    var bytesSent: UInt64 { get }
    var bytesReceived: UInt64 { get }

    /// Whom to wake, and whom to call while the task is parked.
    func attach(_ slot: ParkingSlot, _ pump: any ChannelPump)
    /// Stages the request's head; it leaves with the first body bytes or with `flush`.
    /// - Throws: The connection can take no request after all.
    func begin(_ head: RequestHead, _ options: RequestOptions) throws(LupinError)
    var requestBody: any BodySink { get }
    /// The next response head, interim or final; nil when it is not there yet.
    func nextHead() throws(LupinError) -> ParsedResponse?
    /// The body of the final response that `nextHead` returned.
    var responseBody: any BodySource { get }
    /// Both directions as they lie, for tunnels and upgrades.
    func openTunnel() -> (source: any BodySource, sink: any BodySink)
    /// Ends the hold after a complete exchange: the connection is kept when it can be.
    func release(to pool: UpstreamPool)
    /// Takes back the memory of a response's fields that nobody needs any longer.
    func recycle(_ fields: consuming FieldSection)
    /// Ends the hold in the middle of things: the connection is of no more use.
    func abort()
}

extension Upstream {
    var streamID: UInt32? { nil }
    var reset: HTTP2ErrorCode? { nil }
    var goAway: HTTP2ErrorCode? { nil }
}
