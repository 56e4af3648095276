// HTTP/1.1 towards the client: requests in, responses out.
import LupinCore
import LupinIO
import LupinWire

/// The client's side of one HTTP/1.1 connection, exchange after exchange.
final class DownstreamHTTP1: Downstream {
    private let channel: Channel
    private let slot: ParkingSlot
    private let reader: HTTP1BodyReader
    private let writer: HTTP1BodyWriter
    private let limits: HTTP1Limits
    /// Where the connection came in; nil for one that leads to no listener of the proxy.
    private let gate: Gate?
    /// Both ends of the client's connection, where they are not those of the channel.
    private let clientEnds: (peer: SocketAddress, local: SocketAddress)?
    private var parser: RequestParser
    // Of the request under way:
    private var method = Method.get
    private var isHTTP10 = false
    /// A FIN of the client says no more than that it has sent everything.
    private var mayHalfClose = false
    /// True before the first request: a client that is refused unread still sends what it has.
    private var keepsAlive = true
    /// A request was read that said so, as every HTTP/1.0 one does.
    private(set) var isLastRequest = false
    /// The response's body ends where the connection does.
    private var endsWithConnection = false
    private var acceptsTrailers = false
    /// The bytes that had been consumed when the request began.
    private(set) var bytesBeforeRequest: UInt64 = 0

    private(set) var isCommitted = false
    /// Whether the connection may carry another request after this exchange.
    private(set) var mayPersist = false
    /// Whether the response that was begun has a body, if only an empty one.
    private(set) var sendsBody = true
    /// The client sent FIN between requests.
    private(set) var hasEnded = false

    init(
        _ channel: Channel,
        _ slot: ParkingSlot,
        limits: HTTP1Limits,
        gate: Gate?,
        _ clientEnds: (peer: SocketAddress, local: SocketAddress)? = nil
    ) {
        self.gate = gate
        self.channel = channel
        self.clientEnds = clientEnds
        self.slot = slot
        reader = HTTP1BodyReader(channel, side: .downstream, limits: limits)
        writer = HTTP1BodyWriter(channel, side: .downstream)
        self.limits = limits
        parser = RequestParser(limits: limits)
        channel.slot = slot
        channel.readableReason = .downstreamReadable
        channel.writableReason = .downstreamWritable
        channel.closedReason = .downstreamClosed
    }

    /// Whether closing needs no care for what the client still has to read: nothing of it is unread
    /// on our side, and nothing more will come.
    ///
    /// So it is when it has ended its side, or meant this request to be its last and sent nothing
    /// behind it.
    var mayCloseAtOnce: Bool {
        guard !channel.hasStaged else { return false }
        if channel.hasReadEnd { return true }
        guard isLastRequest, reader.isComplete else { return false }
        // What is not quiet may be the client's end.
        return channel.isQuiet(asksKernel: true) || channel.hasReadEnd
    }

    // MARK: Requests

    /// Whether a byte of the next head is there.
    var hasBegun: Bool { parser.hasBegun }

    var bytesReceived: UInt64 { channel.bytesReceived - UInt64(channel.input.count) }
    var bytesSent: UInt64 { channel.bytesSent }

    /// Gets ready for the next request.
    func expectRequest() {
        channel.pump = nil
        bytesBeforeRequest = bytesReceived
    }

    /// Whether the connection's first bytes are those of HTTP/2; nil while there are too few.
    func beginsHTTP2() throws(LupinError) -> Bool? {
        let input = channel.input
        while true {
            if !input.isEmpty, let isThere = HTTP2Preface.isThere(input.bytes) { return isThere }
            switch try receive() {
            case .bytes: continue
            case .blocked: return nil
            // The parser's to tell.
            case .end, .full: return false
            }
        }
    }

    /// Whether bytes have come that nobody has made anything of.
    var holdsBytes: Bool { !channel.input.isEmpty }

    /// Leaves the channel to somebody else.
    func leave() { channel.pump = nil }

    /// The next request, if all of its head is there.
    func nextRequest() throws(LupinError) -> ParsedRequest? {
        while true {
            if !channel.input.isEmpty {
                let consumed = try feed()
                channel.input.discard(consumed)
                if parser.isComplete { return begin(parser.take()) }
            }
            switch try receive() {
            case .bytes: continue
            case .blocked, .full: return nil
            case .end:
                if parser.hasBegun { throw .clientGone }
                hasEnded = true
                return nil
            }
        }
    }

    /// Between requests that may be far apart: what the parser keeps for speed is given back.
    func rest() { parser = RequestParser(limits: limits) }

    /// After an exchange: what was lent to it comes back.
    func recycle(_ fields: consuming FieldSection) {
        isCommitted = false
        parser.recycle(fields)
    }

    private func begin(_ request: ParsedRequest) -> ParsedRequest {
        method = request.method
        isHTTP10 = request.version == .http10
        mayHalfClose = isHTTP10
        keepsAlive = request.keepAlive
        isLastRequest = !request.keepAlive
        acceptsTrailers = request.acceptsTrailers
        isCommitted = false
        mayPersist = false
        reader.begin(request.framing)
        return request
    }

    private func feed() throws(LupinError) -> Int {
        let input = channel.input
        do throws(MessageProblem) {
            return try parser.feed(input.bytes)
        } catch {
            throw Side.downstream.problem(error)
        }
    }

    private func receive() throws(LupinError) -> Channel.Received {
        do throws(SystemError) {
            return try channel.receive()
        } catch {
            throw Side.downstream.readFailure(error)
        }
    }

    // MARK: Downstream

    var requestBody: any BodySource { reader }

    var isRequestComplete: Bool { reader.isComplete }

    /// curl's ^C sends FIN: in HTTP/1.1 it is an abort.
    ///
    /// An HTTP/1.0 client may close its side and wait for the answer, and so may either side of a
    /// tunnel: only a broken connection tells.
    var isClientGone: Bool {
        channel.isBroken || (channel.hasHungUp && !mayHalfClose)
    }

    var hasBodyWaiting: Bool {
        if !channel.input.isEmpty { return true }
        return (try? channel.receive()) == .bytes
    }

    var takesInterimResponses: Bool { !isHTTP10 }

    func attach(_ pump: (any ChannelPump)?) { channel.pump = pump }

    var localAddress: IPAddress? { (clientEnds?.local ?? channel.localAddress)?.address }

    var ends: (peer: SocketAddress, local: SocketAddress)? { clientEnds ?? channel.ends }

    func sendInterim(_ head: ResponseHead) throws(LupinError) {
        guard takesInterimResponses else { return }
        let options = ResponseOptions(framing: .none)
        channel.stage { ResponseSerializer.append(head, options, to: &$0) }
        _ = try writer.flush()
    }

    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink {
        isCommitted = true
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: method)
        sendsBody = !isBodiless
        var framing = body.framing
        if framing == .untilClose || framing == .chunked {
            framing = isHTTP10 ? .untilClose : .chunked
        }
        endsWithConnection = !isBodiless && framing == .untilClose
        let isConnect = method == .connect
        let isTunnel = isConnect && head.status / 100 == 2
        // A body that ends with the connection leaves none to use again. What a client sent behind
        // a CONNECT was meant for the tunnel: it must not be read as a request.
        mayPersist =
            keepsAlive && !body.closes && !isTunnel && gate?.isClosed != true
            && (isBodiless || framing != .untilClose)
            && (!isConnect || channel.isQuiet(asksKernel: true))
        var options = ResponseOptions(
            framing: isBodiless ? body.contentLength.map(BodyFraming.length) ?? .none : framing
        )
        if !isTunnel {
            options.persistence = mayPersist ? .implied : .close
            options.date = body.date
        }
        options.via = body.via
        channel.stage { ResponseSerializer.append(head, options, to: &$0) }
        writer.begin(isBodiless ? .none : framing, sendsTrailers: acceptsTrailers)
        return writer
    }

    func beginUpgrade(_ head: ResponseHead, to name: String, via: ViaMember?) {
        isCommitted = true
        mayPersist = false
        var options = ResponseOptions(framing: .none)
        options.upgrade = name
        options.via = via
        channel.stage { ResponseSerializer.append(head, options, to: &$0) }
    }

    func openTunnel() -> (source: any BodySource, sink: any BodySink) {
        mayPersist = false
        endsWithConnection = true
        mayHalfClose = true
        reader.begin(.untilClose)
        writer.beginTunnel()
        return (reader, writer)
    }

    func cutShort(atOnce: Bool) {
        mayPersist = false
        // A missing rest of a length and a missing last chunk tell by themselves. RST would throw
        // away what the client has not read yet, so it is left to bodies that end by closing.
        if atOnce || endsWithConnection { channel.close(reset: true) }
    }

    func abort() {
        mayPersist = false
        channel.close(reset: true)
    }
}
