// One HTTP/1.1 connection to the next hop: requests out, responses in.
package import LupinCore
package import LupinIO
import LupinTLS
package import LupinWire

/// An upstream connection.
///
/// It carries one exchange at a time and stays open afterwards when both sides allow it. Other
/// modules see computed properties in place of the stored ones, as with a `Channel`.
package final class UpstreamHTTP1: Upstream {
    package let channel: Channel
    package let hop: NextHop
    /// TLS with the origin; nil in clear text.
    package let secured: SecuredConnection?
    /// Whether an earlier exchange used the connection.
    var hasServed = false
    private var checkedAccess = AddressAccess()
    /// The pool's shelf for it, once it was kept, and the next connection below it on that shelf.
    var shelf: UpstreamPool.Shelf?
    var below: UpstreamHTTP1?
    /// A client has logged in to it, or begins to: it serves no other.
    private var hasLogin = false
    private var offer = LoginOffer.none
    /// When it became idle, in microseconds of the loop's clock.
    private(set) var idleSince: UInt64 = 0
    /// How long the peer lets it be idle, by its own word, in microseconds.
    private var idleMax = UInt64.max

    // The channel's, stored here: access through the channel costs a retain and a release.
    private let input: InputBuffer
    private let reader: HTTP1BodyReader
    private let writer: HTTP1BodyWriter
    private let parser: ResponseParser
    private var method = Method.get
    /// The response allows the connection to be kept.
    private(set) var mayPersist = false
    private var responseHasBegun = false
    private var hasFinalHead = false
    /// Why no response is awaited any more.
    private var failure: LupinError?

    package init(
        _ channel: Channel,
        to hop: NextHop,
        limits: HTTP1Limits,
        secured: SecuredConnection? = nil
    ) {
        self.channel = channel
        input = channel.input
        self.hop = hop
        self.secured = secured
        reader = HTTP1BodyReader(channel, side: .upstream, limits: limits)
        writer = HTTP1BodyWriter(channel, side: .upstream)
        parser = ResponseParser(limits: limits)
    }

    package var peer: SocketAddress? { channel.peer }
    package var version: ProtocolVersion { .http11 }
    package var isReused: Bool { hasServed }
    package var isForOneClient: Bool { hasLogin }
    /// Which clients the access rules let use it.
    package var access: AddressAccess {
        get { checkedAccess }
        set { checkedAccess = newValue }
    }
    package var bytesSent: UInt64 { channel.bytesSent }
    package var bytesReceived: UInt64 { channel.bytesReceived }
    package var requestBody: any BodySink { writer }
    package var responseBody: any BodySource { reader }
    /// Bytes behind the end are a flaw where they are seen with it: their sender is confused about
    /// framing, and the true end may have been another.
    package var bodyFlaws: ResponseFlaws {
        var flaws = reader.flaws
        if hasFinalHead, reader.isComplete, !input.isEmpty { flaws.insert(.surplus) }
        return flaws
    }
    /// Whether any byte of a response, final or interim, has come.
    package var hasAnswered: Bool { responseHasBegun }

    package func attach(_ slot: ParkingSlot, _ pump: any ChannelPump) {
        channel.slot = slot
        channel.pump = pump
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
    }

    /// Marks the connection idle; `pump` is still called when bytes come.
    func rest(with pump: any ChannelPump, since now: UInt64) {
        idleSince = now
        channel.slot = nil
        channel.pump = pump
    }

    /// Whether the idle connection may be used: it has nothing to read, is not closed, and will not
    /// be closed while a request is on its way.
    func isUsable(at now: UInt64, asksKernel: Bool) -> Bool {
        !isWorn(at: now) && channel.isQuiet(asksKernel: asksKernel)
    }

    /// Whether it has been idle for as long as the peer keeps it.
    func isWorn(at now: UInt64) -> Bool { now &- idleSince >= idleMax }

    /// Whether it was idle for so long that something on the way may have forgotten it, unnoticed:
    /// a request that can't be repeated needs another one.
    package func hasRestedLong(at now: UInt64) -> Bool { now &- idleSince >= Self.longRest }

    private static let longRest: UInt64 = 60_000_000

    /// Whether the idle connection has nothing to read and is not closed.
    var isQuiet: Bool { channel.isQuiet(asksKernel: false) }

    package func begin(_ head: RequestHead, _ options: borrowing RequestOptions) {
        method = head.method
        offer = head.loginOffer
        if offer == .login { hasLogin = true }
        mayPersist = false
        responseHasBegun = false
        hasFinalHead = false
        var bytes = channel.takeStaged()
        RequestSerializer.append(head, options, to: &bytes)
        channel.putStaged(consume bytes)
        writer.begin(options.framing)
    }

    package var isReading: Bool { mayPersist && !channel.hasHungUp }

    package func nextHead() throws(LupinError) -> ParsedResponse? {
        if let failure { throw failure }
        while true {
            if !input.isEmpty {
                responseHasBegun = true
                input.discard(try feed())
                if parser.isComplete { return take() }
            }
            switch try receive() {
            case .bytes: continue
            case .blocked, .full:
                channel.acknowledge()
                return nil
            case .end:
                do throws(MessageProblem) {
                    try parser.connectionClosed()
                } catch {
                    throw Side.upstream.problem(error)
                }
                throw LupinError(
                    responseHasBegun ? .httpResponseIncomplete : .connectionTerminated,
                    host: hop.text,
                    detail: responseHasBegun
                        ? "The connection closed inside the response's head."
                        : "The connection closed before a response came."
                )
            }
        }
    }

    package func openTunnel() -> (source: any BodySource, sink: any BodySink) {
        mayPersist = false
        reader.begin(.untilClose)
        writer.beginTunnel()
        channel.enableKeepAlive()
        return (reader, writer)
    }

    package func release(to pool: UpstreamPool, or keeper: (any ConnectionKeeper)?) {
        // Above all for connections that close: the next request needs a new one.
        if let secured { pool.keepTicket(of: secured, for: hop) }
        if mayPersist, reader.isComplete, reader.flaws.isEmpty, input.isEmpty, !channel.hasStaged,
            !channel.hasHungUp
        {
            guard hasLogin else { return pool.keep(self) }
            if let keeper { keeper.bind(self) } else { channel.close() }
        } else {
            channel.close()
        }
    }

    package func recycle(_ fields: consuming FieldSection) { parser.recycle(fields) }

    package func swallows(for time: UInt64) -> Bool { channel.unacknowledgedTime >= time }

    package func fail(_ error: LupinError) {
        failure = error
        channel.breakOff()
    }

    /// Closes with RST: a FIN would wait behind all bytes that the peer has not read yet, and the
    /// other end of a tunnel would take it for a regular end.
    package func abort() { channel.close(reset: true) }

    private func feed() throws(LupinError) -> Int {
        let input = input
        do throws(MessageProblem) {
            return try parser.feed(input.bytes, requestMethod: method)
        } catch {
            throw Side.upstream.problem(error)
        }
    }

    private func receive() throws(LupinError) -> Channel.Received {
        do throws(SystemError) {
            return try channel.receive()
        } catch {
            // Before the end of a head it makes no difference how the connection was closed.
            if error == .unannouncedEnd { return .end }
            if let alert = tlsFailure { throw alert }
            throw Side.upstream.readFailure(error)
        }
    }

    private func take() -> ParsedResponse {
        let response = parser.take()
        if !response.isInterim {
            mayPersist = response.keepAlive
            hasFinalHead = true
            if response.head.showsLogin(after: offer) { hasLogin = true }
            if response.head.fields.names.contains(.keepAlive) {
                idleMax = KeepAliveField.idleTime(in: response.head.fields) ?? .max
            }
            reader.begin(response.framing)
        }
        return response
    }
}
