// Finds requests among a client's bytes and begins them, without a task or with one.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire

extension DownstreamConnection {
    /// The work that a task begins with.
    enum Arrival {
        /// A head has begun, and its rest has not come yet.
        case head
        /// A request whose client has to be looked up.
        case request(ParsedRequest)
        /// The bytes are no valid request.
        case failure(LupinError)
        /// An exchange that needs a task from there on.
        case exchange(Exchange)
        /// The client has yet to read our last response.
        case farewell
    }

    func resumeTask(for arrival: Arrival) {
        self.arrival = arrival
        resumeTask()
    }

    func serve(_ arrival: Arrival) async -> Ending {
        do throws(LupinError) {
            switch arrival {
            case .head:
                switch try await awaitHead() {
                case .request(let request): return await serve(request)
                case .multiplexed: return .multiplexed
                // The bytes were empty lines, which are ignored (RFC 9112 §2.2).
                case .nothing: return .keep
                case .beginning, .over: return .gone
                }
            case .request(let request): return await serve(request)
            case .failure(let error): throw error
            case .exchange(let exchange): return await run(exchange)
            case .farewell: return .close
            }
        } catch {
            noteRejection()
            return await refuse(error)
        }
    }

    private func serve(_ request: ParsedRequest) async -> Ending {
        let snapshot = adoptSnapshot()
        if needsLookUp(snapshot) { await lookUpClient() }
        let exchange = exchange(request, by: snapshot)
        exchange.enter()
        return await run(exchange)
    }

    private func run(_ exchange: Exchange) async -> Ending {
        var ending = await exchange.run()
        if ending == .intercept, let interception = exchange.interception {
            ending = await intercept(exchange, interception)
        }
        noteEnd(of: exchange)
        http1.recycle(exchange.takeFields())
        return ending
    }

    /// Serves a request without a task, as far as possible.
    func begin(_ request: ParsedRequest) {
        let snapshot = adoptSnapshot()
        if needsLookUp(snapshot) { return resumeTask(for: .request(request)) }
        exchange(request, by: snapshot).begin(for: self)
    }

    fileprivate func noteEnd(of exchange: Exchange) {
        client.number = exchange.client.number
        http1.endResponse()
        idleDeadline = resources.deadline(in: exchange.snapshot.timeouts.clientIdle)
    }

    /// Nil inside a CONNECT, which was authenticated itself.
    private var authenticator: Authenticator? {
        interceptedTunnel == nil ? policy.authenticator : nil
    }

    /// The snapshot for the next exchange; readmits the client under a new one.
    private func adoptSnapshot() -> Snapshot {
        let snapshot = resources.snapshot
        if snapshot.number != admittedBy {
            admittedBy = snapshot.number
            client.isAdmitted = snapshot.access.admits(client: client.address)
        }
        return snapshot
    }

    /// The result of looking for a request.
    enum Found {
        case request(ParsedRequest)
        /// No bytes have come.
        case nothing
        /// An incomplete head has come.
        case beginning
        /// The client starts HTTP/2.
        case multiplexed
        /// The connection has ended: no request will come.
        case over
    }

    /// Looks for a request among the received bytes.
    /// - Throws: The problem with it, to be answered.
    func look() throws(LupinError) -> Found {
        if resources.isDraining, !http1.hasBegun { return .over }
        if isFresh, try beginsHTTP2() { return .multiplexed }
        if !isFresh, let request = try http1.nextRequest() { return .request(request) }
        if http1.hasEnded { return .over }
        return http1.hasBegun || http1.holdsBytes ? .beginning : .nothing
    }

    /// Waits for the rest of a head that has begun.
    /// - Throws: The problem with it, to be answered.
    private func awaitHead() async throws(LupinError) -> Found {
        headAwaitedSince = resources.loop.now
        defer { headAwaitedSince = nil }
        // Fixed from the first byte: a client that drips bytes gets no more time.
        let deadline = resources.loop.deadline(in: resources.snapshot.timeouts.clientHeader)
        while true {
            let woken = await slot.park(
                for: .downstreamReadable | .draining | .cut,
                until: deadline
            )
            if woken.meets(.cut) { return .over }
            let found = try look()
            guard case .beginning = found else { return found }
            guard resources.loop.now < deadline else {
                throw .request(
                    status: 408,
                    detail: "The request's head was not complete in time."
                )
            }
        }
    }

    /// Whether a client's first bytes start HTTP/2, if the listener accepts it.
    ///
    /// While there are too few bytes to decide, the connection stays fresh.
    private func beginsHTTP2() throws(LupinError) -> Bool {
        guard let isHTTP2 = try http1.beginsHTTP2() else { return false }
        noteAcceptance()
        if isHTTP2, policy.protocols.contains(.http2) { return true }
        isFresh = false
        guard policy.protocols.contains(.http1) else {
            throw .request(status: 505, detail: "This listener takes HTTP/2 alone.")
        }
        return false
    }

    /// Answers bytes that never became a request.
    func refuse(_ error: LupinError) async -> Ending {
        if error == .clientGone { return .gone }
        return await exchange(nil, by: resources.snapshot).refuse(error, to: http1.method)
    }

    private func exchange(_ request: ParsedRequest?, by snapshot: Snapshot) -> Exchange {
        let exchange = Exchange(
            request,
            from: client,
            http1,
            slot,
            resources,
            snapshot,
            interceptedTunnel,
            bytesBefore: http1.bytesBeforeRequest
        )
        if let authenticator { exchange.makeRare().authenticator = authenticator }
        return exchange
    }

    /// In TLS 1.3 a client reports that it refuses our certificate only after the handshake.
    private func noteRejection() {
        guard let interception, let failure = interceptedTunnel?.tls?.failure,
            case .peerRejectedOurCertificate(let alert) = failure.kind
        else { return }
        resources.noteRejection(of: interception, by: alert, resources.snapshot)
    }

    /// A client that sends bytes inside TLS has accepted our certificate.
    private func noteAcceptance() {
        if interceptedTunnel?.tls != nil { resources.noteAcceptance(of: interception) }
    }

    /// A program that connects past the proxy is reported by name.
    private func needsLookUp(_ snapshot: Snapshot) -> Bool {
        !isClientLookedUp && (snapshot.needsProgram || policy.isForRedirected)
    }

    /// Looks up the owner of the client's socket, off the loop.
    private func lookUpClient() async {
        isClientLookedUp = true
        guard let ends = clientEnds ?? channel.ends else { return }
        let owner = await resources.shared.processes.owner(
            of: ends.peer,
            to: ends.local,
            slot: slot
        )
        client.program = owner?.program
        client.pid = owner?.pid
    }
}

extension DownstreamConnection: ExchangeKeeper {
    func exchangeEnded(_ exchange: Exchange, _ ending: Ending) {
        noteEnd(of: exchange)
        if ending == .close, !http1.mayCloseAtOnce { return resumeTask(for: .farewell) }
        settle(ending)
    }

    func resumeInTask(_ exchange: Exchange) {
        arrival = .exchange(exchange)
        resources.resume(self)
    }

    func recycle(_ fields: consuming FieldSection) { http1.recycle(fields) }
}
