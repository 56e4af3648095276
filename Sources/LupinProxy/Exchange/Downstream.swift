// What the engine asks of the client's side of an exchange, whatever HTTP version it speaks.
import LupinCore
import LupinIO
import LupinWire

/// The client's side of one exchange.
protocol Downstream: AnyObject {
    /// The request's body; empty when it has none.
    var requestBody: any BodySource { get }
    /// Whether the client has gone, or the way it left means that it wants no answer.
    var isClientGone: Bool { get }
    /// Whether request body bytes wait to be read although none were asked for.
    var hasBodyWaiting: Bool { get }
    /// Whether the final response's head has been handed over: the commit point.
    var isCommitted: Bool { get }

    /// Whom to call while the task is parked; nil for nobody.
    func attach(_ pump: (any ChannelPump)?)
    /// Sends an interim response at once.
    func sendInterim(_ head: ResponseHead) throws(LupinError)
    /// Stages the final response's head; it leaves with the first body bytes.
    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink
    /// Stages a 101; the connection is a tunnel from then on.
    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?)
    /// Both directions as they lie, for tunnels and upgrades. What the client sent already comes
    /// first.
    func openTunnel() -> (source: any BodySource, sink: any BodySink)
    /// Whether every byte of the request has been read.
    var isRequestComplete: Bool { get }
    /// Whether another request may follow on the connection.
    var mayPersist: Bool { get }
    /// Our address as the client reached it.
    var localAddress: IPAddress? { get }
    /// Both ends of the connection.
    var ends: (peer: SocketAddress, local: SocketAddress)? { get }
    /// How the client's HTTP/2 stream ended before its time.
    var reset: HTTP2Reset? { get }
    var bytesReceived: UInt64 { get }
    var bytesSent: UInt64 { get }
    /// Ends a response in the middle so that the client can't take it for complete, and still gets
    /// every byte that came; not even that when it must be `atOnce`.
    func cutShort(atOnce: Bool)
    /// Makes what the client sees look as broken as it is.
    func abort()
}

extension Downstream {
    var reset: HTTP2Reset? { nil }
}

/// What is known of a response's body before it is sent.
struct ResponseBody: Sendable {
    /// How upstream framed it; the downstream says it in its own way.
    var framing: BodyFraming
    /// Content-Length as the origin gave it; repeated where the body itself is absent (HEAD, 304).
    var contentLength: UInt64?
    var via: ViaMember?
    /// Is added where the response has no Date (RFC 9110 §6.6.1).
    var date: String?
    /// The connection must not be used again.
    var closes = false

    init(framing: BodyFraming, contentLength: UInt64? = nil) {
        self.framing = framing
        self.contentLength = contentLength
    }
}
