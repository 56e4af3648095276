// HTTP/2 towards the client: one request and its response on one stream.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// The client's side of one exchange on an HTTP/2 connection.
final class DownstreamStream: Downstream {
    let stream: HTTP2Stream
    private let slot: ParkingSlot
    private let method: Method
    private let clientEnds: (peer: SocketAddress, local: SocketAddress)?
    private(set) var isCommitted = false
    /// The client sends a body of known length, without Expect.
    private let sendsInAnyCase: Bool
    /// The response's end waits for the rest of the request.
    private var holdsEnd = false
    /// The code with which a response that breaks off is reset.
    private var breakCode = HTTP2ErrorCode.internalError

    init(
        _ stream: HTTP2Stream,
        _ request: ParsedRequest?,
        to method: Method,
        _ slot: ParkingSlot,
        ends: (peer: SocketAddress, local: SocketAddress)?
    ) {
        self.method = method
        clientEnds = ends
        stream.slot = slot
        let framing = request?.framing ?? .none
        stream.begin(receiving: framing)
        sendsInAnyCase =
            !framing.isEmpty && framing.knownLength != nil && request?.expectsContinue == false
        // Parameters are stored where they are used last, so that they are moved.
        self.slot = slot
        self.stream = stream
    }

    private var link: HTTP2Link { stream.link }

    var requestBody: any BodySource { stream }
    var isRequestComplete: Bool { stream.isReceived }
    var isClientGone: Bool { stream.isGone }
    var hasBodyWaiting: Bool { stream.hasBytes }
    /// The end of a stream never ends its connection.
    var mayPersist: Bool { true }
    var localAddress: IPAddress? { clientEnds?.local.address }
    var ends: (peer: SocketAddress, local: SocketAddress)? { clientEnds }
    var reset: HTTP2Reset? {
        if let code = stream.peerReset { return HTTP2Reset(code, by: .client) }
        return stream.ownReset.map { HTTP2Reset($0, by: .lupin) }
    }
    var bytesReceived: UInt64 { stream.bytesReceived }
    var bytesSent: UInt64 { stream.bytesSent }

    func attach(_ pump: (any ChannelPump)?) { stream.pump = pump }

    func sendInterim(_ head: ResponseHead) throws(LupinError) {
        guard !stream.isGone else { throw .clientGone }
        link.answer(on: stream) { $0.submitInterim(head, on: stream.id) }
    }

    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink {
        isCommitted = true
        let shape = Shape(
            isBodiless: ResponseParser.hasNoBody(status: head.status, method: method),
            isTunnel: method == .connect && head.status / 100 == 2,
            isEmpty: body.framing.isEmpty
        )
        // After an error the client sends no more, and would wait for the end.
        guard sendsInAnyCase, stream.awaitsRest, head.status < 400 else {
            submit(head, body, shape)
            return stream
        }
        holdsEnd = true
        stream.awaitRest()
        guard !shape.hasBody else {
            submit(head, body, shape)
            return HeldEnd(on: stream, expecting: body.framing.knownLength)
        }
        return HeldEnd(on: stream, expecting: nil) { [self] in submit(head, body, shape) }
    }

    /// What follows a response's head.
    private struct Shape {
        /// Its status or the method allows no body.
        let isBodiless: Bool
        let isTunnel: Bool
        let isEmpty: Bool
        var hasBody: Bool { isTunnel || !(isBodiless || isEmpty) }
    }

    private func submit(_ head: ResponseHead, _ body: ResponseBody, _ shape: Shape) {
        // END_STREAM marks a missing body; only a length that the origin sent is repeated.
        let tellsLength = !shape.isBodiless && !shape.isEmpty
        var options = ResponseOptions(
            framing: tellsLength
                ? body.framing : body.contentLength.map(BodyFraming.length) ?? .none
        )
        // RFC 9113 §8.5.
        if shape.isTunnel { breakCode = .connectError } else { options.date = body.date }
        options.via = body.via
        submit(head, options, hasBody: shape.hasBody)
    }

    func letRestPass() { if holdsEnd { stream.letRestPass() } }

    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?) {
        isCommitted = true
        // RFC 8441 §5.3.
        breakCode = .cancel
        var options = ResponseOptions(framing: .none)
        options.via = via
        // RFC 8441 §5: 200 means what 101 means in HTTP/1.1.
        submit(head, options, status: 200, hasBody: true)
    }

    private func submit(
        _ head: ResponseHead,
        _ options: borrowing ResponseOptions,
        status: UInt16? = nil,
        hasBody: Bool
    ) {
        guard !stream.isGone else { return }
        link.answer(on: stream) { connection in
            connection.submit(head, options, status: status, hasBody: hasBody, on: stream.id)
        }
        if !hasBody { stream.noteSentAll() }
    }

    func openTunnel() -> (source: any BodySource, sink: any BodySink) { (stream, stream) }

    func cutShort(atOnce: Bool) { abort() }

    func abort() { stream.abort(breakCode) }

    var demandsHTTP1: Bool { breakCode == .http11Required }

    func demandHTTP1() {
        breakCode = .http11Required
        abort()
    }

    /// Leaves the stream after the exchange; the rest of the request is discarded.
    func leave() {
        stream.pump = nil
        stream.slot = nil
        guard !(stream.hasPeerEnded && stream.hasSentAll) else { return }
        guard stream.hasSentAll else { return stream.abort(breakCode) }
        // After the end of a tunnel no more bytes are expected.
        if method == .connect { stream.abort(.noError) } else { stream.letRestPass() }
    }
}
