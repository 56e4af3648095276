// HTTP/2 towards an origin: one request and its response on one stream.
package import LupinCore
package import LupinIO
package import LupinWire

/// One exchange's hold on an HTTP/2 connection; its stream opens with the request.
package final class UpstreamStream: Upstream {
    let connection: UpstreamHTTP2
    package let isReused: Bool
    private var stream: HTTP2Stream?
    private var waiter: (slot: ParkingSlot, pump: any ChannelPump)?
    private var responseHasBegun = false
    /// The key of the requested WebSocket.
    private var webSocketKey: String?
    private var offer = LoginOffer.none
    // A request of which that is known never goes over HTTP/2.
    package private(set) var isForOneClient = false

    package init(on connection: UpstreamHTTP2, isReused: Bool) {
        self.connection = connection
        self.isReused = isReused
    }

    package var channel: Channel { connection.link.channel }
    package var peer: SocketAddress? { connection.peer }
    package var hop: NextHop { connection.hop }
    package var secured: SecuredConnection? { connection.secured }
    package var version: ProtocolVersion { .http2 }
    package var streamID: UInt32? { stream.map { UInt32(bitPattern: $0.id) } }
    package var reset: HTTP2ErrorCode? { stream?.peerReset }
    package var isReading: Bool { stream.map { $0.peerReset == nil } ?? false }
    package var goAway: HTTP2ErrorCode? { connection.link.goAway }
    package var hasAnswered: Bool { responseHasBegun }
    package var bytesSent: UInt64 { stream?.bytesSent ?? 0 }
    package var bytesReceived: UInt64 { stream?.bytesReceived ?? 0 }
    package var requestBody: any BodySink { body }
    package var responseBody: any BodySource { body }

    private var body: HTTP2Stream {
        guard let stream else { preconditionFailure("a request begins before its body") }
        return stream
    }

    package func attach(_ slot: ParkingSlot, _ pump: any ChannelPump) {
        waiter = (slot, pump)
        stream?.slot = slot
        stream?.pump = pump
    }

    package func begin(_ head: RequestHead, _ options: borrowing RequestOptions) throws(LupinError)
    {
        var name: String?
        if options.upgrade != nil {
            name = WebSocketHandshake.name
            webSocketKey = head.fields.value(of: WebSocketHandshake.keyField)
        }
        offer = head.loginOffer
        let opened = try take(connection.link.open(head, options, protocolName: name))
        let hasBody = !options.framing.isEmpty || options.target == .authority || name != nil
        if !hasBody { opened.noteSentAll() }
    }

    private func take(_ opened: HTTP2Stream?) throws(LupinError) -> HTTP2Stream {
        guard let opened else {
            if let alert { throw alert }
            throw LupinError(
                .connectionLimitReached,
                host: hop.text,
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

    package func nextHead() throws(LupinError) -> ParsedResponse? {
        let stream = body
        if let response = stream.nextResponse() {
            responseHasBegun = true
            if !response.isInterim {
                if response.head.showsLogin(after: offer) { endSharing(after: response.status) }
                stream.begin(receiving: response.framing)
            }
            return webSocketKey == nil ? response : switched(response)
        }
        if let error = stream.error {
            throw (error.retry == .reset ? alert : nil) ?? error.at(hop.text)
        }
        if stream.hasPeerEnded {
            throw LupinError(
                .httpResponseIncomplete,
                host: hop.text,
                detail: "The stream ended before a final response came."
            )
        }
        return nil
    }

    /// Keeps the connection, which turns out to have a user, from the requests of others.
    private func endSharing(after status: UInt16) {
        isForOneClient = true
        // The next messages of a login need a connection of the client's own.
        if status == 401 || status == 407 {
            connection.pool?.remember(hop, wantsHTTP1: true)
        }
        connection.leave()
    }

    /// Why TLS ended a new connection; in place of a kept one, another one shows that better.
    private var alert: LupinError? { isReused ? nil : tlsFailure }

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

    package func openTunnel() -> (source: any BodySource, sink: any BodySink) {
        (responseBody, requestBody)
    }

    package func release(to pool: UpstreamPool, or keeper: (any ConnectionKeeper)?) { letGo() }

    package func recycle(_ fields: consuming FieldSection) {
        connection.link.recycle(fields)
    }

    package func swallows(for time: UInt64) -> Bool {
        let link = connection.link
        return channel.unacknowledgedTime >= time
            || link.awaitsPong && link.loop.now &- link.lastReceived >= time
    }

    package func fail(_ error: LupinError) {
        guard let stream else { return }
        stream.abort(.cancel)
        stream.fail(error)
        // Who waits for other streams may have more patience; new requests go elsewhere.
        connection.leave()
        stream.signal()
    }

    package func abort() {
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
