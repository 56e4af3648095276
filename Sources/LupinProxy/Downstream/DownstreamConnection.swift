// A client connection from accept to close: it carries one exchange after the other.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire

/// The client at the other end.
struct Client: Sendable {
    var address: IPAddress
    var port: UInt16
    /// The client's program, looked up once per connection if a rule or the log uses it.
    var program: String?
    var pid: Int32?
    /// `access.clients` lists it.
    var isAdmitted: Bool
    /// The client is on this machine.
    var isLocal: Bool
    /// The authenticated user, if the listener requires a password; may change with every request.
    var user: String?
    /// The user that created the socket, once looked up.
    var number: UInt32?
    /// It knew of no proxy: the kernel led its connection here.
    var isRedirected = false
    /// Another lupin created the socket, for a client of its own.
    var isThroughSibling = false
}

/// A client's connection to one of the listeners.
final class DownstreamConnection: ChannelPump, IndexedMember, TurnWork {
    let slot: ParkingSlot
    let channel: Channel
    let resources: WorkerResources
    private(set) var http1: DownstreamHTTP1
    /// Set once the client speaks HTTP/2: from then on its streams are served.
    private(set) var http2: DownstreamHTTP2?
    /// No request has come yet, so the client may still start HTTP/2.
    var isFresh = true {
        didSet { if isFresh != oldValue { resources.freshConnections += isFresh ? 1 : -1 } }
    }
    private var isAgreedUponHTTP2 = false
    /// Set once a CONNECT was intercepted: every later request comes from inside it.
    private(set) var interceptedTunnel: InterceptedTunnel?
    var interception: Interception?
    var client: Client
    /// The listener that accepted the connection.
    let listener: WorkerListener
    /// The snapshot by which `client.isAdmitted` was decided.
    var admittedBy: Int
    /// Both ends of the client's connection, if they differ from those of the channel.
    let clientEnds: (peer: SocketAddress, local: SocketAddress)?
    /// An exchange that began on a stream of another connection, and continues here.
    private var beginning: (exchange: Exchange, interception: Interception)?
    var isClientLookedUp = false
    private var hasBegun = false
    /// The work that a task begins with; nil for what `hasBegun` and `beginning` imply.
    var arrival: Arrival?
    /// A request that was read in this turn and has not begun yet.
    private var found: ParsedRequest?
    /// When an idle client is closed, in microseconds of the loop's clock.
    var idleDeadline = UInt64.max
    /// It rests, and has released its buffers.
    private var isLight = true
    /// The index in the worker's roster of connections.
    var indexInSet = DownstreamConnection.nowhere
    /// There is neither a task nor an exchange: any event on the channel begins one.
    var isResting = false
    /// The client is among those that `limits.client_connections` counts.
    private var isCounted = false
    /// The holder of the connection, once looked up because there are many connections.
    var holder: ConnectionHolder?
    /// The error that the connection is refused with.
    private var refusal: LupinError?
    /// When it came to rest, in microseconds of the loop's clock.
    private(set) var restsSince: UInt64 = 0
    /// Since when the client has been expected to complete a head or a handshake; nil while it is
    /// not.
    var headAwaitedSince: UInt64?
    /// It is being closed to make room for others.
    var isEvicted = false

    init(
        _ channel: Channel,
        _ resources: WorkerResources,
        _ listener: WorkerListener
    ) {
        self.channel = channel
        self.listener = listener
        self.resources = resources
        admittedBy = resources.snapshot.number
        let original = listener.policy.isForRedirected ? channel.originalDestination : nil
        let peer = channel.peer ?? SocketAddress(address: .v4(0), port: 0)
        clientEnds = original.map { (peer, $0) }
        slot = ParkingSlot(on: resources.loop)
        let address = peer.address.unmapped
        client = Client(
            address: address,
            port: peer.port,
            isAdmitted: resources.snapshot.access.admits(client: address),
            isLocal: AccessPolicy.isLocal(address),
            number: listener.policy.user,
            isRedirected: original != nil
        )
        let limits = HTTP1Limits(resources.snapshot.limits)
        http1 = DownstreamHTTP1(channel, slot, limits: limits, listener: listener, clientEnds)
    }

    /// The inside of a CONNECT that a client sent on a stream of HTTP/2.
    init(
        inside channel: Channel,
        _ resources: WorkerResources,
        _ listener: WorkerListener,
        _ client: Client,
        ends: (peer: SocketAddress, local: SocketAddress)?
    ) {
        self.channel = channel
        self.listener = listener
        self.resources = resources
        admittedBy = resources.snapshot.number
        self.client = client
        clientEnds = ends
        slot = ParkingSlot(on: resources.loop)
        isClientLookedUp = true
        hasBegun = true
        let limits = HTTP1Limits(resources.snapshot.limits)
        http1 = DownstreamHTTP1(channel, slot, limits: limits, listener: listener, ends)
    }

    /// Takes over an exchange whose CONNECT was granted elsewhere.
    func begin(_ exchange: Exchange, _ interception: Interception) {
        exchange.move(to: http1, slot)
        beginning = (exchange, interception)
    }

    /// The listener's current requirements.
    var policy: ListenerPolicy { listener.policy }

    /// Whether the connection ends after its current exchange.
    var isLeaving: Bool { resources.isDraining || listener.isClosed }

    /// Whether the connection is closed for good.
    var isOver: Bool { !channel.isOpen }

    /// Starts to serve; without a task if nothing has to be done before the first request.
    ///
    /// A client that sends nothing at all gets as much time as for a head. With a `refusal` it gets
    /// only that.
    func start(_ refusal: LupinError? = nil) {
        let timeouts = resources.snapshot.timeouts
        idleDeadline = resources.loop.deadline(in: min(timeouts.clientHeader, timeouts.clientIdle))
        let limit = resources.snapshot.limits.clientConnections
        self.refusal = refusal
        if policy.isForRedirected, !beginRedirected() { return end() }
        guard policy.tls == nil, limit == nil, refusal == nil else { return resumeTask() }
        hasBegun = true
        rest()
    }

    /// Does the work that needs a task, until the connection rests or ends; closes it at the end.
    func serve() async {
        var ending = Ending.keep
        if !hasBegun {
            hasBegun = true
            ending = await open()
        }
        if let (exchange, interception) = beginning {
            beginning = nil
            ending = await intercept(exchange, interception)
        }
        if ending == .keep, let arrival = arrival.take() { ending = await serve(arrival) }
        if ending == .close, !http1.mayCloseAtOnce { await linger() }
        settle(ending)
    }

    /// Does the work that precedes the first request.
    private func open() async -> Ending {
        if let limit = resources.snapshot.limits.clientConnections {
            isCounted = resources.shared.connections.admit(client.address, limit: limit)
            if !isCounted { refusal = .tooManyConnections(limit) }
        }
        // A client that expects TLS could not read a refusal in clear text.
        if let tls = policy.tls, await !secure(with: tls) { return .gone }
        guard let refusal else { return .keep }
        // A client that agreed upon HTTP/2 could not read a response in HTTP/1.1.
        return isAgreedUponHTTP2 ? .close : await refuse(refusal)
    }

    /// Continues as `ending` says, without a task.
    func settle(_ ending: Ending) {
        switch ending {
        case .keep: isAgreedUponHTTP2 ? beginHTTP2() : rest()
        case .multiplexed: beginHTTP2()
        case .close, .reset, .gone, .intercept: close(reset: ending == .reset)
        }
    }

    /// Performs the TLS handshake of an HTTPS proxy; returns false when it fails.
    private func secure(with tls: ListenerTLS) async -> Bool {
        guard let filter = try? tls.filter() else { return false }
        channel.insert(filter)
        headAwaitedSince = resources.loop.now
        defer { headAwaitedSince = nil }
        let handshake = Handshake(
            channel: channel,
            filter: filter,
            slot: slot,
            readiness: .downstreamReadable | .downstreamWritable,
            // No request has come yet, so a stop does not wait for the handshake unless the client
            // would notice the stop by it.
            interruptions: resources.shared.hasSuccessor ? .cut : .draining | .cut,
            deadline: resources.loop.deadline(in: resources.snapshot.timeouts.tls)
        )
        do throws(HandshakeFailure) {
            try await handshake.run()
            if filter.session.chosenProtocol == "h2" { isAgreedUponHTTP2 = true }
            return true
        } catch {
            resources.shared.logger.debug("TLS with \(client.address.text) failed: \(error)")
            return false
        }
    }

    // MARK: Inside a CONNECT

    /// Serves requests from inside an intercepted CONNECT from now on.
    func enter(
        _ interceptedTunnel: InterceptedTunnel,
        _ interception: Interception,
        as user: String?
    ) {
        client.user = user
        self.interceptedTunnel = interceptedTunnel
        self.interception = interception
        isFresh = true
        isAgreedUponHTTP2 = interceptedTunnel.tls?.session.chosenProtocol == "h2"
        http1 = DownstreamHTTP1(
            channel,
            slot,
            limits: HTTP1Limits(resources.snapshot.limits),
            listener: listener,
            clientEnds
        )
    }

    // MARK: HTTP/2

    /// Continues without a task: events of the link begin exchanges, one per stream.
    private func beginHTTP2() {
        isFresh = false
        http1.leave()
        let context = DownstreamHTTP2.Context(
            client: client,
            listener: listener,
            interceptedTunnel: interceptedTunnel,
            interception: interception,
            ends: clientEnds ?? channel.ends
        )
        let service = DownstreamHTTP2(channel, resources, context) { [weak self] in
            guard let self else { return }
            http2 = nil
            endAll()
            resources.remove(self)
        }
        http2 = service
        service.start()
    }

    private func endAll() {
        slot.retire()
        if isCounted { resources.shared.connections.release(client.address) }
        isCounted = false
    }

    /// Drains the connection: idle ones end now, busy ones after their current exchanges.
    func drain() {
        slot.wake(.draining)
        http2?.leave()
    }

    /// Ends everything now: the drain time is over.
    func cut() {
        slot.wake(.cut)
        http2?.cut()
    }

    // MARK: Resting

    /// Waits for the next request, without a task.
    private func rest() {
        isResting = true
        restsSince = resources.now
        let http1 = http1
        http1.expectRequest()
        channel.pump = self
        if channel.isReadableNow || http1.holdsBytes {
            // No event will announce these bytes. Other connections get their turn first: a client
            // that pipelines without end and reads as fast would never let them.
            resources.loop.later { [self] in channelIsReady(channel) }
        } else if isLeaving, !awaitsRequest {
            end()
        }
    }

    /// Microseconds of rest after which the next request is not expected immediately.
    private static let restDelay: UInt64 = 5_000

    /// Releases buffers of a connection that has rested for a while.
    private func giveMemoryBack() {
        guard !isLight, resources.loop.now &- restsSince >= Self.restDelay else { return }
        isLight = true
        http1.rest()
        resources.connectionRests()
    }

    /// Closes a resting connection that has timed out, or that rests when lupin stops.
    ///
    /// Returns true when it did.
    @discardableResult
    func endRest(isStopping: Bool) -> Bool {
        if let http2 {
            http2.sweep()
            return false
        }
        // Its first bytes may not have been read yet.
        let asksKernel = isFresh || resources.shared.hasSuccessor
        if isResting, isStopping, asksKernel, !channel.isQuiet(asksKernel: true) {
            channelIsReady(channel)
            return false
        }
        guard isResting else { return false }
        if isStopping, awaitsRequest { return false }
        guard isStopping || resources.loop.now >= idleDeadline else {
            giveMemoryBack()
            return false
        }
        end()
        return true
    }

    /// Whether the client has connected, or had a response, so lately that a request may be on its
    /// way, and another process takes over the listeners.
    ///
    /// The client talks to a service that goes on, so it would count an end without a response as a
    /// failure. The response to that request says that it was the last.
    private var awaitsRequest: Bool {
        guard resources.shared.hasSuccessor, !resources.isCut else { return false }
        let time =
            isFresh && interceptedTunnel == nil
            ? WorkerResources.firstRequestTime : WorkerResources.lastRequestTime
        return resources.loop.now &- restsSince < time
    }

    /// Closes a resting connection for good.
    func end() { close(reset: false) }

    private func close(reset: Bool) {
        isResting = false
        channel.close(reset: reset)
        endAll()
        resources.remove(self)
    }

    /// Called when bytes came, or the client left.
    func channelIsReady(_ ready: Channel) {
        guard isResting, channel.isReadableNow || http1.holdsBytes else { return }
        isLight = false
        do throws(LupinError) {
            switch try look() {
            case .request(let request):
                isResting = false
                found = request
                resources.inStep(.act, self)
            case .multiplexed:
                isResting = false
                beginHTTP2()
            case .nothing: if isLeaving, !awaitsRequest { end() }
            case .beginning: resumeTask(for: .head)
            case .over: end()
            }
        } catch {
            resumeTask(for: .failure(error))
        }
    }

    /// Begins the request that was found, after those of other clients were read.
    func go(_ step: TurnStep) {
        guard let request = found.take() else { return }
        resources.isCut ? end() : begin(request)
    }

    /// Starts a new task for the work that is due.
    func resumeTask() {
        isResting = false
        channel.pump = nil
        resources.resume(self)
    }
}

/// How the connection continues after an exchange.
enum Ending: Equatable {
    /// Ready for the next request.
    case keep
    /// Close it after the client has had time to read.
    case close
    /// Close it so that the client sees an error.
    case reset
    /// The client is gone.
    case gone
    /// A CONNECT was granted that lupin intercepts.
    case intercept
    /// The client speaks HTTP/2 from here on.
    case multiplexed
}
