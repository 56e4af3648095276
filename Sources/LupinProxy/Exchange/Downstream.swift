// The engine's interface to the client's side, for any HTTP version.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// The client's side of one exchange.
protocol Downstream: ConnectionKeeper {
    /// The request's body; empty when it has none.
    var requestBody: any BodySource { get }
    /// Whether the client has left, or has closed in a way that means it wants no response.
    var isClientGone: Bool { get }
    /// Whether request body bytes wait although they were not requested.
    var hasBodyWaiting: Bool { get }
    /// Whether the final response's head was handed over: the commit point.
    var isCommitted: Bool { get }

    /// Sets the pump to call while the task is parked; nil for none.
    func attach(_ pump: (any ChannelPump)?)
    /// Sends an interim response at once.
    func sendInterim(_ head: ResponseHead) throws(LupinError)
    /// Stages the final response's head; it leaves with the first body bytes.
    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink
    /// Stages a 101; the connection is a tunnel from then on.
    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?)
    /// Both directions as raw bytes, for tunnels and upgrades. Bytes that the client sent already
    /// come first.
    func openTunnel() -> (source: any BodySource, sink: any BodySink)
    /// Whether every byte of the request has been read.
    var isRequestComplete: Bool { get }
    /// Discards the rest of a request that isn't forwarded, where the response waits for it.
    func letRestPass()
    /// Whether another request may follow on the connection.
    var mayPersist: Bool { get }
    /// The local address that the client connected to.
    var localAddress: IPAddress? { get }
    /// Both ends of the connection.
    var ends: (peer: SocketAddress, local: SocketAddress)? { get }
    /// How the client's HTTP/2 stream was reset.
    var reset: HTTP2Reset? { get }
    var bytesReceived: UInt64 { get }
    var bytesSent: UInt64 { get }
    /// Whether the client was told to ask again by HTTP/1.1.
    var demandsHTTP1: Bool { get }
    /// Resets the client's stream so that it asks again by HTTP/1.1 (RFC 9113 §7).
    func demandHTTP1()
    /// The upstream connections that the client has logged in to; nil for none.
    var bound: PinnedUpstream? { get }
    /// Ends a response early so that the client can't take it for complete, but still gets every
    /// byte that came; with `atOnce` it may lose some.
    func cutShort(atOnce: Bool)
    /// Makes the connection look broken to the client.
    func abort()
}

extension Downstream {
    // HTTP/1 discards it when the connection ends.
    func letRestPass() {}
    var reset: HTTP2Reset? { nil }
    var demandsHTTP1: Bool { false }
    func demandHTTP1() {}
    // Streams of HTTP/2 have no use for a login: one connection is for many of them at a time.
    var bound: PinnedUpstream? { nil }
    func bind(_ connection: UpstreamHTTP1) { connection.channel.close() }
}

/// The properties of a response's body that are known before it is sent.
struct ResponseBody: Sendable {
    /// The upstream framing; the downstream side frames the body in its own way.
    var framing: BodyFraming
    /// The origin's Content-Length; repeated when the body itself is absent (HEAD, 304).
    var contentLength: UInt64?
    var via: ViaMember?
    /// Added when the response has no Date (RFC 9110 §6.6.1).
    var date: String?
    /// The connection must not be reused.
    var closes: Bool
    /// It is a step of the client's login to a parent proxy, and the next one must follow.
    var isLoginUnderWay: Bool

    init(
        framing: BodyFraming,
        contentLength: UInt64? = nil,
        via: ViaMember? = nil,
        date: String? = nil,
        closes: Bool = false,
        isLoginUnderWay: Bool = false
    ) {
        self.framing = framing
        self.contentLength = contentLength
        self.via = via
        self.date = date
        self.closes = closes
        self.isLoginUnderWay = isLoginUnderWay
    }
}
