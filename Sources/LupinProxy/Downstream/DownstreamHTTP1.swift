// HTTP/1.1 towards the client: requests in, responses out.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// The client's side of one HTTP/1.1 connection, exchange after exchange.
final class DownstreamHTTP1: Downstream {
    private let channel: Channel
    // The channel's, stored here: access through the channel costs a retain and a release.
    private let input: InputBuffer
    private let slot: ParkingSlot
    private let reader: HTTP1BodyReader
    private let writer: HTTP1BodyWriter
    /// The listener of the connection; nil for one that leads to no listener of the proxy.
    private let listener: WorkerListener?
    /// Both ends of the client's connection, if they differ from those of the channel.
    private let clientEnds: (peer: SocketAddress, local: SocketAddress)?
    private let parser: RequestParser
    // Of the request under way:
    /// GET until it has been read.
    private(set) var method = Method.get
    private var isHTTP10 = false
    /// A FIN of the client only means that it has sent everything (half-close).
    private var mayHalfClose = false
    /// True before the first request: a client that is refused unread may still be sending.
    private var keepsAlive = true
    /// A client of HTTP/1.0 asks to keep its connection, which it gets to answer a challenge.
    private var asksToStay = false
    /// The last request ends keep-alive, as every HTTP/1.0 request does.
    private(set) var isLastRequest = false
    /// The response's body ends with the connection.
    private var endsWithConnection = false
    /// The number of bytes consumed before the request began.
    private(set) var bytesBeforeRequest: UInt64 = 0

    private(set) var isCommitted = false
    /// Whether the connection may carry another request after this exchange.
    private(set) var mayPersist = false
    /// Whether the response has a body, even an empty one.
    private(set) var sendsBody = true
    /// The CONNECT that the client would have sent, if it knew of the proxy: the first request.
    private var unspoken: UnspokenConnect?
    private(set) var bound: PinnedUpstream?
    /// The client sent FIN between requests.
    private(set) var hasEnded = false

    init(
        _ channel: Channel,
        _ slot: ParkingSlot,
        limits: HTTP1Limits,
        listener: WorkerListener?,
        _ clientEnds: (peer: SocketAddress, local: SocketAddress)? = nil
    ) {
        self.listener = listener
        self.channel = channel
        input = channel.input
        self.clientEnds = clientEnds
        self.slot = slot
        reader = HTTP1BodyReader(channel, side: .downstream, limits: limits)
        writer = HTTP1BodyWriter(channel, side: .downstream)
        parser = RequestParser(limits: limits)
        channel.slot = slot
        channel.readableReason = .downstreamReadable
        channel.writableReason = .downstreamWritable
        channel.closedReason = .downstreamClosed
    }

    deinit { bound?.close() }

    func bind(_ connection: UpstreamHTTP1) {
        // Before the response it is kept for another attempt.
        guard mayPersist || !isCommitted else { return connection.channel.close() }
        let bound = self.bound ?? PinnedUpstream()
        self.bound = bound
        bound.keep(connection, since: channel.loop.now)
    }

    /// Whether closing at once loses nothing that the client still has to read: all its bytes were
    /// read, and no more will come.
    ///
    /// That is so when the client has ended its side, or when this was its last request and it sent
    /// nothing behind it.
    var mayCloseAtOnce: Bool {
        guard !channel.hasStaged else { return false }
        if channel.hasReadEnd { return true }
        guard isLastRequest, reader.isComplete else { return false }
        // If it isn't quiet, the client may have ended its side.
        return channel.isQuiet(asksKernel: true) || channel.hasReadEnd
    }

    // MARK: Requests

    /// Whether a byte of the next head has come.
    var hasBegun: Bool { parser.hasBegun }

    var bytesReceived: UInt64 { channel.bytesReceived - UInt64(input.count) }
    var bytesSent: UInt64 { channel.bytesSent }

    /// Prepares for the next request.
    func expectRequest() {
        bytesBeforeRequest = bytesReceived
        method = .get
    }

    /// Whether the connection's first bytes start HTTP/2; nil while there are too few.
    func beginsHTTP2() throws(LupinError) -> Bool? {
        let input = channel.input
        while true {
            if !input.isEmpty, let isThere = HTTP2Preface.isThere(input.bytes) { return isThere }
            switch try receive() {
            case .bytes: continue
            case .blocked:
                channel.acknowledge()
                return nil
            // The parser reports it.
            case .end, .full: return false
            }
        }
    }

    /// Takes this as the first request; its client has sent none, and reads no response to it.
    func suppose(_ connect: UnspokenConnect) { unspoken = connect }

    /// Whether a request may be had without waiting for bytes.
    var holdsBytes: Bool { !input.isEmpty || unspoken?.isAwaited == true }

    /// Leaves the channel to another user.
    func leave() { channel.pump = nil }

    /// The next request, if its head is complete.
    func nextRequest() throws(LupinError) -> ParsedRequest? {
        if let head = takeUnspoken() {
            do throws(MessageProblem) {
                _ = try parser.feed(head.span)
            } catch {
                throw Side.downstream.problem(error)
            }
            if parser.isComplete { return begin(parser.take()) }
        }
        while true {
            if !input.isEmpty {
                input.discard(try feed())
                if parser.isComplete { return begin(parser.take()) }
            }
            switch try receive() {
            case .bytes: continue
            case .blocked, .full:
                channel.acknowledge()
                return nil
            case .end:
                if parser.hasBegun { throw .clientGone }
                hasEnded = true
                return nil
            }
        }
    }

    /// The head that nobody sent; taken aside, or every look at `unspoken` would be checked for
    /// exclusive access.
    private func takeUnspoken() -> [UInt8]? {
        guard var connect = unspoken else { return nil }
        defer { unspoken = connect }
        return connect.takeHead()
    }

    /// Releases the parser's buffers, since the next request may be far away.
    func rest() { parser.rest() }

    /// Notes that the exchange has ended.
    func endResponse() { isCommitted = false }

    /// Takes back the memory of a finished exchange's fields.
    func recycle(_ fields: consuming FieldSection) { parser.recycle(fields) }

    private func begin(_ request: ParsedRequest) -> ParsedRequest {
        method = request.method
        isHTTP10 = request.version == .http10
        mayHalfClose = isHTTP10
        keepsAlive = request.keepAlive
        asksToStay = request.asksToStay
        isLastRequest = !request.keepAlive
        isCommitted = false
        mayPersist = false
        reader.begin(request.framing)
        return request
    }

    private func feed() throws(LupinError) -> Int {
        let input = input
        do throws(MessageProblem) {
            return try parser.feed(input.bytes)
        } catch {
            method = parser.methodRead ?? .get
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

    /// Whether the client has aborted: in HTTP/1.1 a FIN means that, as curl's ^C sends it.
    ///
    /// An HTTP/1.0 client may half-close and wait for the response, and so may either side of a
    /// tunnel: there only a broken connection counts.
    var isClientGone: Bool {
        channel.isBroken || (channel.hasHungUp && !mayHalfClose)
    }

    var hasBodyWaiting: Bool {
        if !input.isEmpty { return true }
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

    /// The protocols of a 426, without which it would not say to what (RFC 9110 §15.5.22).
    private func offeredUpgrade(in fields: FieldSection) -> String? {
        let list = UpgradeList(fields)
        return isHTTP10 || list.isEmpty ? nil : list.text
    }

    func begin(_ head: ResponseHead, _ body: ResponseBody) -> any BodySink {
        isCommitted = true
        // Also a refusal before the request was looked at, such as of one connection too many.
        if let unspoken {
            guard unspoken.showsResponse(head.status) else { return conceal(head, unspoken) }
        }
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: method)
        sendsBody = !isBodiless
        var framing = body.framing
        if framing == .untilClose || framing == .chunked {
            framing = isHTTP10 ? .untilClose : .chunked
        }
        endsWithConnection = !isBodiless && framing == .untilClose
        let isConnect = method == .connect
        let isTunnel = isConnect && head.status / 100 == 2
        // A body that ends with the connection leaves none to reuse. Nor does a CONNECT, granted or
        // refused: a client may send bytes for the tunnel before it has the answer, and these must
        // never be read as a request (RFC 9931 §8). Exception: one that logs in to a parent proxy
        // step by step knows that this is not the answer yet.
        let mayFollow = !isConnect || (body.isLoginUnderWay && input.isEmpty)
        // Some schemes log in to the connection that gave the challenge.
        let mayAnswer = asksToStay && (head.status == 401 || head.status == 407)
        mayPersist =
            (keepsAlive || mayAnswer) && !body.closes && mayFollow && listener?.isClosed != true
            && unspoken == nil && (isBodiless || framing != .untilClose)
        if mayAnswer, mayPersist { isLastRequest = false }
        let length = isBodiless ? body.contentLength.map(BodyFraming.length) ?? .none : framing
        var bytes = channel.takeStaged()
        // Made where it is used: what is changed or named is copied.
        ResponseSerializer.append(
            head,
            ResponseOptions(
                framing: length,
                persistence: isTunnel || mayPersist ? (mayAnswer ? .keepAlive : .implied) : .close,
                via: body.via,
                date: isTunnel ? nil : body.date,
                upgrade: head.status == 426 ? offeredUpgrade(in: head.fields) : nil
            ),
            to: &bytes
        )
        channel.putStaged(consume bytes)
        writer.begin(isBodiless ? .none : framing)
        return writer
    }

    /// Keeps a response from a client that has not asked; one that will speak TLS gets an alert.
    private func conceal(_ head: ResponseHead, _ unspoken: UnspokenConnect) -> any BodySink {
        mayPersist = false
        guard head.status / 100 != 2 else {
            writer.begin(.none)
            return writer
        }
        if let alert = unspoken.alert {
            channel.stage { $0 += alert }
            // A client that is gone needs none.
            _ = try? writer.flush()
        }
        return DiscardedBody()
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
        // A missing rest of a length or a missing last chunk is an error in itself. RST would
        // discard bytes that the client has not read, so only bodies that end by closing use it.
        if atOnce || endsWithConnection { channel.close(reset: true) }
    }

    func abort() {
        mayPersist = false
        channel.close(reset: true)
    }
}
