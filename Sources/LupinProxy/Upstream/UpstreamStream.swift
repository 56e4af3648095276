// HTTP/2 towards an origin: one request and its response on one stream.
import LupinCore
import LupinIO
import LupinWire

/// One exchange's hold on an HTTP/2 connection; its stream opens with the request.
final class UpstreamStream: Upstream {
    let connection: UpstreamHTTP2
    let isReused: Bool
    private var stream: HTTP2Stream?
    private var waiter: (slot: ParkingSlot, pump: any ChannelPump)?
    private var responseHasBegun = false
    /// The key of the requested WebSocket.
    private var webSocketKey: String?

    init(on connection: UpstreamHTTP2, isReused: Bool) {
        self.connection = connection
        self.isReused = isReused
    }

    var channel: Channel { connection.link.channel }
    var peer: SocketAddress? { connection.peer }
    var secured: SecuredConnection? { connection.secured }
    var version: ProtocolVersion { .http2 }
    var streamID: UInt32? { stream.map { UInt32(bitPattern: $0.id) } }
    var reset: HTTP2ErrorCode? { stream?.peerReset }
    var isReading: Bool { stream.map { $0.peerReset == nil } ?? false }
    var goAway: HTTP2ErrorCode? { connection.link.goAway }
    var hasAnswered: Bool { responseHasBegun }
    var bytesSent: UInt64 { stream?.bytesSent ?? 0 }
    var bytesReceived: UInt64 { stream?.bytesReceived ?? 0 }
    var requestBody: any BodySink { body }
    var responseBody: any BodySource { body }

    private var body: HTTP2Stream {
        guard let stream else { preconditionFailure("a request begins before its body") }
        return stream
    }

    func attach(_ slot: ParkingSlot, _ pump: any ChannelPump) {
        waiter = (slot, pump)
        stream?.slot = slot
        stream?.pump = pump
    }

    func begin(_ head: RequestHead, _ options: borrowing RequestOptions) throws(LupinError) {
        var name: String?
        if options.upgrade != nil {
            name = WebSocketHandshake.name
            webSocketKey = head.fields.value(of: WebSocketHandshake.keyField)
        }
        let opened = try take(connection.link.open(head, options, protocolName: name))
        let hasBody = !options.framing.isEmpty || options.target == .authority || name != nil
        if !hasBody { opened.noteSentAll() }
    }

    private func take(_ opened: HTTP2Stream?) throws(LupinError) -> HTTP2Stream {
        guard let opened else {
            throw LupinError(
                .connectionLimitReached,
                host: connection.hop.text,
                detail: "The origin takes no more streams on the connection.",
                retry: .refusedStream
            )
        }
        stream = opened
        if let waiter {
            opened.slot = waiter.slot
            opened.pump = waiter.pump
        }
        return opened
    }

    func nextHead() throws(LupinError) -> ParsedResponse? {
        let stream = body
        if let response = stream.nextResponse() {
            responseHasBegun = true
            if !response.isInterim { stream.begin(receiving: response.framing) }
            return webSocketKey == nil ? response : switched(response)
        }
        if let error = stream.error { throw error.at(connection.hop.text) }
        if stream.hasPeerEnded {
            throw LupinError(
                .httpResponseIncomplete,
                host: connection.hop.text,
                detail: "The stream ended before a final response came."
            )
        }
        return nil
    }

    /// Turns the 2xx with which a WebSocket begins into HTTP/1.1's 101.
    private func switched(_ response: ParsedResponse) -> ParsedResponse {
        guard response.status / 100 == 2, let webSocketKey else { return response }
        var head = response.takeHead()
        head.status = 101
        head.fields.set(name: "Upgrade", value: WebSocketHandshake.name)
        head.fields.set(
            name: WebSocketHandshake.acceptField,
            value: WebSocketHandshake.accept(webSocketKey)
        )
        response.head = head
        return response
    }

    func openTunnel() -> (source: any BodySource, sink: any BodySink) {
        (responseBody, requestBody)
    }

    // A request that logs in to its connection never goes over HTTP/2.
    var isForOneClient: Bool { false }
    func release(to pool: UpstreamPool, or client: any Downstream) { letGo() }

    func recycle(_ fields: consuming FieldSection) {
        connection.link.recycle(fields)
    }

    func abort() {
        stream?.abort(.cancel)
        letGo()
    }

    private func letGo() {
        guard let stream else { return }
        stream.pump = nil
        stream.slot = nil
        waiter = nil
        // The response came before the whole request was sent: the rest is not sent.
        if !stream.isClosed, !(stream.hasPeerEnded && stream.hasSentAll) { stream.abort(.cancel) }
    }
}

extension LupinError {
    /// A copy of the error that names the host where it occurred.
    fileprivate func at(_ host: String) -> LupinError {
        var error = self
        if error.host == nil { error.host = host }
        return error
    }
}
