// A client's HTTP/2 connection: each stream is an exchange, with a task if it needs one.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// Serves the streams of one client connection; confined to its loop.
final class DownstreamHTTP2: HTTP2LinkOwner {
    /// The properties of a connection that its streams share.
    struct Context {
        var client: Client
        let listener: WorkerListener
        let interceptedTunnel: InterceptedTunnel?
        let interception: Interception?
        let ends: (peer: SocketAddress, local: SocketAddress)?
    }

    private let link: HTTP2Link
    let resources: WorkerResources
    private(set) var context: Context
    /// Called when the connection has ended.
    private let ended: () -> Void
    /// The slots of streams that wait for the look-up of the client's program; nil once it is done.
    private var awaitsClient: [ParkingSlot]? = []
    private var isClientAskedFor = false
    /// The snapshot by which the client was admitted.
    private(set) var admittedBy: Int
    private var exchanges = 0
    private var idleDeadline: UInt64
    /// Since when no stream has been open.
    private var idleSince: UInt64
    private let begun: UInt64
    /// A login needs HTTP/1.1, which the client's next connection is offered alone.
    ///
    /// This one ends a little later: curl falls back by itself, and a GOAWAY right behind the reset
    /// would be an error to it.
    private var wantsHTTP1 = false
    /// When the GOAWAY was announced to the client.
    private var leaveBegun: UInt64?
    private var hasLeft = false
    /// Whether a stream has shown that the client accepted lupin's certificate.
    private var hasNotedAcceptance = false

    init(
        _ channel: Channel,
        _ resources: WorkerResources,
        _ context: Context,
        ended: @escaping () -> Void
    ) {
        self.resources = resources
        self.context = context
        self.ended = ended
        begun = resources.loop.now
        let limits = resources.snapshot.limits
        link = HTTP2Link(
            channel,
            .server,
            HTTP2Parameters(limits: limits.http2, heads: HTTP1Limits(limits)),
            growth: resources.windowGrowth
        )
        idleSince = begun
        idleDeadline = resources.loop.deadline(in: resources.snapshot.timeouts.clientIdle)
        admittedBy = resources.snapshot.number
        link.owner = self
    }

    /// Starts to serve.
    func start() {
        link.start()
        if isLeaving { leave() }
    }

    /// Whether the connection takes no new streams.
    var isLeaving: Bool { resources.isDraining || context.listener.isClosed }

    /// Ends the connection when it is idle for too long, or a head is not completed in time.
    func sweep() {
        let now = resources.loop.now
        if let since = link.connection.unfinishedSince(begun),
            now &- since >= resources.snapshot.timeouts.clientHeader
        {
            return link.giveUp(.enhanceYourCalm)
        }
        link.endPassing()
        guard link.isOpen else { return }
        // A client that does not answer the PING is not waited for.
        if let leaveBegun, now &- leaveBegun >= Self.farewell { finishLeave() }
        guard exchanges == 0, now >= idleDeadline || wantsHTTP1 else { return }
        leave()
        // Nor is a client that reads nothing: its last bytes would wait for ever.
        if now >= idleDeadline, now &- idleDeadline >= 5 * Self.farewell { link.cut() }
    }

    /// Since when no stream has been open, or a head has been incomplete; nil while closing would
    /// lose an exchange.
    var waitingSince: UInt64? {
        guard exchanges == 0, leaveBegun == nil else { return nil }
        if let since = link.connection.unfinishedSince(begun) { return since }
        return idleSince
    }

    /// How long a client has to receive the GOAWAY, in microseconds.
    private static let farewell: UInt64 = 1_000_000

    /// Takes no new streams once the client knows, and ends when the open ones have ended.
    func leave() {
        guard leaveBegun == nil else { return }
        leaveBegun = resources.loop.now
        link.announceLeave()
    }

    private func finishLeave() {
        guard !hasLeft else { return }
        hasLeft = true
        link.leave()
    }

    /// Ends every stream now.
    func cut() {
        link.wakeStreams(.cut)
        if exchanges == 0 { link.cut() }
    }

    // MARK: Events of the link

    func linkReceived(_ request: ParsedRequest, on stream: HTTP2Stream, named: String?) {
        beginExchange()
        start(Arrival(stream: stream, request: request, protocolName: named))
    }

    func linkRefused(_ problem: MessageProblem, to method: Method, on stream: HTTP2Stream) {
        beginExchange()
        start(Arrival(stream: stream, problem: (problem, to: method)))
    }

    /// Writes the record of a stream that was reset already.
    func linkRejected(_ stream: HTTP2Stream) {
        let slot = ParkingSlot(on: resources.loop)
        let downstream = DownstreamStream(stream, nil, to: .get, slot, ends: context.ends)
        _ = exchange(nil, downstream, slot, resources.snapshot).refuseInside(
            .request(
                status: 400,
                detail: "The request is malformed: HTTP/2 allows no such fields or pseudo-fields "
                    + "(RFC 9113, section 8.1.1)."
            )
        )
        slot.retire()
    }

    func linkChanged() {
        if leaveBegun != nil, !link.awaitsPong { finishLeave() }
    }

    func linkEnded() { if exchanges == 0 { ended() } }

    // MARK: Streams

    /// A request, or a problem, that came on a stream.
    fileprivate struct Arrival {
        let stream: HTTP2Stream
        var request: ParsedRequest?
        var problem: (MessageProblem, to: Method)?
        var protocolName: String?
    }

    /// Counts an exchange, until `endExchange`.
    private func beginExchange() {
        exchanges += 1
        guard !hasNotedAcceptance else { return }
        hasNotedAcceptance = true
        if context.interceptedTunnel?.tls != nil {
            resources.noteAcceptance(of: context.interception)
        }
    }

    private func start(_ arrival: Arrival) {
        let service = StreamService(owner: self, arrival)
        let mustAsk = awaitsClient != nil && resources.snapshot.needsProgram
        // A client that cancelled the stream at once gets no work done (RFC 9113 §10.5).
        guard let request = arrival.request, !arrival.stream.isGone, !mustAsk else {
            return runInTask { await service.run() }
        }
        exchange(for: service, request).begin(for: service)
    }

    /// Starts a task for a stream.
    fileprivate func runInTask(_ work: @escaping () async -> Void) {
        let local = LoopLocal(work, of: resources.loop.executor)
        Task.immediate(executorPreference: resources.loop.executor) { await local.value() }
    }

    /// Nil inside a CONNECT, which was authenticated itself.
    private var authenticator: Authenticator? {
        context.interceptedTunnel == nil ? context.listener.policy.authenticator : nil
    }

    private func exchange(for service: StreamService, _ request: ParsedRequest?) -> Exchange {
        let exchange = exchange(request, service.downstream, service.slot, resources.snapshot)
        exchange.protocolName = service.arrival.protocolName
        if let authenticator { exchange.makeRare().authenticator = authenticator }
        return exchange
    }

    /// Serves a stream that needs a task from the start.
    fileprivate func serve(_ service: StreamService) async {
        let arrival = service.arrival
        if awaitsClient != nil, resources.snapshot.needsProgram {
            await lookUpClient(service.slot)
        }
        let exchange = exchange(for: service, arrival.request)
        let ending: Ending
        if let (problem, method) = arrival.problem {
            ending = await exchange.refuse(Side.downstream.problem(problem), to: method)
        } else if arrival.stream.isGone {
            ending = await exchange.refuse(.clientGone)
        } else {
            exchange.enter()
            ending = await exchange.run()
        }
        await end(exchange, ending, of: service)
    }

    /// Ends an exchange, or continues it inside a CONNECT.
    fileprivate func end(
        _ exchange: Exchange,
        _ ending: Ending,
        of service: StreamService
    ) async {
        guard ending == .intercept, let interception = exchange.interception else {
            link.recycle(exchange.takeFields())
            return end(exchange, of: service)
        }
        context.client.number = exchange.client.number
        // The exchange continues inside.
        await intercept(exchange, interception, service.arrival.stream)
        leave(service)
    }

    /// Ends an exchange.
    fileprivate func end(_ exchange: Exchange, of service: StreamService) {
        context.client.number = exchange.client.number
        leave(service)
    }

    /// Takes back the memory of a finished exchange's fields.
    fileprivate func recycle(_ fields: consuming FieldSection) { link.recycle(fields) }

    private func leave(_ service: StreamService) {
        service.downstream.leave()
        service.slot.retire()
        if service.downstream.demandsHTTP1, context.interceptedTunnel?.tls != nil {
            wantsHTTP1 = true
        }
        endExchange()
    }

    private func exchange(
        _ request: ParsedRequest?,
        _ downstream: DownstreamStream,
        _ slot: ParkingSlot,
        _ snapshot: Snapshot
    ) -> Exchange {
        if snapshot.number != admittedBy {
            admittedBy = snapshot.number
            context.client.isAdmitted = snapshot.access.admits(client: context.client.address)
        }
        let exchange = Exchange(
            request,
            from: context.client,
            downstream,
            slot,
            resources,
            snapshot,
            context.interceptedTunnel,
            bytesBefore: 0
        )
        exchange.record.version = .http2
        exchange.record.stream = UInt32(bitPattern: downstream.stream.id)
        return exchange
    }

    private func endExchange() {
        exchanges -= 1
        guard exchanges == 0 else { return }
        idleSince = resources.loop.now
        idleDeadline = resources.loop.deadline(in: resources.snapshot.timeouts.clientIdle)
        if !link.isOpen { return ended() }
        if resources.isCut { return link.cut() }
        if isLeaving { leave() }
    }

    /// Looks up the client's program: the first stream starts the look-up and the others wait for
    /// it, since none may bypass a rule meanwhile.
    private func lookUpClient(_ slot: ParkingSlot) async {
        if isClientAskedFor {
            awaitsClient?.append(slot)
            while awaitsClient != nil {
                let woken = await slot.park(for: .answered | .cut)
                if woken.meets(.cut) { return }
            }
            return
        }
        isClientAskedFor = true
        if let ends = context.ends {
            let owner = await resources.shared.processes.owner(
                of: ends.peer,
                to: ends.local,
                slot: slot
            )
            context.client.program = owner?.program
            context.client.pid = owner?.pid
        }
        let waiting = awaitsClient ?? []
        awaitsClient = nil
        for other in waiting { other.wake(.answered) }
    }

    // MARK: Inside a CONNECT

    /// Intercepts the bytes of a CONNECT stream.
    ///
    /// The inside is a connection like any other, on one end of a socket pair; the stream is joined
    /// to the other end.
    private func intercept(
        _ exchange: Exchange,
        _ interception: Interception,
        _ stream: HTTP2Stream
    ) async {
        guard let (inner, outer) = try? Channel.pair(on: resources.loop) else {
            exchange.leave()
            return stream.abort(.internalError)
        }
        let connection = DownstreamConnection(
            inside: inner,
            resources,
            context.listener,
            exchange.client,
            ends: context.ends
        )
        connection.begin(exchange, interception)
        resources.add(connection)
        resources.resume(connection)
        let own = ParkingSlot(on: resources.loop)
        await StreamBridge(stream, outer, own, tunnelIdle: exchange.timeouts.tunnelIdle).run()
        own.retire()
    }
}

/// The service of one stream, with a task or without.
private final class StreamService: ExchangeKeeper {
    private let owner: DownstreamHTTP2
    let arrival: DownstreamHTTP2.Arrival
    let slot: ParkingSlot
    let downstream: DownstreamStream

    init(owner: DownstreamHTTP2, _ arrival: DownstreamHTTP2.Arrival) {
        // Parameters are stored where they are used last, so that they are moved.
        slot = ParkingSlot(on: owner.resources.loop)
        downstream = DownstreamStream(
            arrival.stream,
            arrival.request,
            to: arrival.request?.method ?? arrival.problem?.to ?? .get,
            slot,
            ends: owner.context.ends
        )
        self.owner = owner
        self.arrival = arrival
    }

    func run() async { await owner.serve(self) }

    func exchangeEnded(_ exchange: Exchange, _ ending: Ending) { owner.end(exchange, of: self) }

    func recycle(_ fields: consuming FieldSection) { owner.recycle(fields) }

    func resumeInTask(_ exchange: Exchange) {
        owner.runInTask { [self] in await owner.end(exchange, exchange.run(), of: self) }
    }
}
