// CONNECT: forwards bytes in both directions, and reads no more than the client's first ones.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Connects, and relays bytes between the client and the target.
    ///
    /// - Returns: How the exchange continues inside, where the client speaks HTTP and names are
    ///   judged; nil when the tunnel has ended.
    func tunnel(to origin: Origin) async throws(LupinError) -> Interception? {
        record.mode = .tunnel
        let hop = try tunnelHop(to: origin)
        markHopByHop(for: hop)
        guard try await reach(origin, by: hop, tellsClient: true), let upstream else { return nil }
        grantTunnel()
        return try await carry(upstream, to: origin, mayIntercept: true)
    }

    /// Joins both sides of a tunnel, and ends it if what the client shows inside is refused.
    ///
    /// - Returns: As `tunnel` does; always nil unless `mayIntercept`.
    @discardableResult
    func carry(
        _ upstream: any Upstream,
        to origin: Origin,
        mayIntercept: Bool
    ) async throws(LupinError) -> Interception? {
        let client = downstream.openTunnel()
        let judge =
            snapshot.judgesNames
            ? ServerNamePolicy(snapshot: snapshot, origin: origin, subject: subject(at: origin))
            : nil
        let opening = ClientHelloSniffer(
            client.source,
            judge,
            timeout: judge == nil ? snapshot.timeouts.sniff : snapshot.timeouts.tls,
            slot: slot
        )
        try await join(upstream, (opening, client.sink), opening)
        switch opening.verdict {
        case .passes, nil: return nil
        case .http where mayIntercept && hasHeardNothing:
            forgetWay()
            return Interception(
                origin: origin,
                mayTunnel: false,
                namesAddress: false,
                client: await rejectionKey(at: origin),
                isPlain: true
            )
        case .http:
            dropUpstream()
            await end(with: .request(at: origin))
        case .refused(let refusal):
            dropUpstream()
            await end(with: refusal)
        }
        return nil
    }

    /// Whether nothing of the server has reached the client, its end neither.
    private var hasHeardNothing: Bool {
        record.tunnel?.receivedBytes == 0 && download?.isOver == false
    }

    /// Undoes the connection to the server.
    func forgetWay() {
        dropUpstream()
        attempts = []
    }

    /// Ends a tunnel of which nothing has gone out; a client that speaks TLS is told by an alert.
    private func end(with refusal: TunnelRefusal) async {
        let isOpen = download?.state != .finished
        guard let alert = refusal.alert, isOpen else { return endUnanswered(refusal.error) }
        let told = BodyRelay(
            from: BytesBody(TunnelRefusal.record(of: alert)),
            to: downstream.openTunnel().sink,
            slot: slot
        )
        upload = nil
        download = told
        pumpBodies()
        do throws(LupinError) {
            try await bring(told)
        } catch {
            return endUnanswered(refusal.error)
        }
        record.error = refusal.error
        record.outcome = .denied
    }

    /// Connects to a tunnel's target.
    ///
    /// Returns false when there is no connection and the client has got a response that says so.
    func reach(
        _ origin: Origin,
        by hop: NextHop,
        tellsClient: Bool
    ) async throws(LupinError) -> Bool {
        if case .parent(let parent) = hop {
            let adapted = AdaptedRequest(UpstreamRequest(head: request, origin: origin), hop: hop)
            guard let obtained = try await obtainResponse(to: KnownTarget(origin), as: adapted)
            else { return false }
            let status = obtained.response.status
            guard status != 101 else {
                throw LupinError(
                    .httpUpgradeFailed,
                    host: hop.text,
                    detail: "The parent proxy answered CONNECT with 101."
                ).blaming(parent.text)
            }
            guard status / 100 == 2 else {
                guard tellsClient else {
                    throw .refusal(by: parent, of: origin, status: status)
                }
                // A 407 is noted when it is delivered: it may be a step of a login.
                if status != 407 {
                    record.error = .refusal(by: parent, of: origin, status: status)
                        .naming(parentRule: plan?.proxyRule)
                }
                // The parent's own response, such as its 407, is the most precise.
                try await deliver(obtained)
                return false
            }
        } else {
            try await connectTunnel(to: hop)
        }
        return upstream != nil
    }

    /// Stages the 200 that opens a tunnel.
    @discardableResult
    func grantTunnel() -> any BodySink {
        var head = ResponseHead(status: 200)
        head.reason = head.fields.store("Connection established")
        if record.bypass != nil {
            head.fields.add(name: "Lupin-Id", value: record.id.short)
            head.fields.add(name: "Lupin-Bypass", value: BypassRecord.reason)
        }
        record.response = head
        return downstream.begin(head, ResponseBody(framing: .none))
    }

    /// Joins both sides of an upgraded connection and waits until both directions have ended.
    func join(_ upstream: any Upstream) async throws(LupinError) {
        try await join(upstream, downstream.openTunnel(), nil)
    }

    /// Joins both sides and waits until both directions have ended, or until `opening` stops them.
    private func join(
        _ upstream: any Upstream,
        _ client: (source: any BodySource, sink: any BodySink),
        _ opening: ClientHelloSniffer?
    ) async throws(LupinError) {
        record.tunnel = TunnelRecord()
        upload?.cancel()
        let server = upstream.openTunnel()
        let sent = captured(frames: throttled(server.sink, .up), isFromClient: true)
        let received = captured(frames: throttled(client.sink, .down), isFromClient: false)
        let up = BodyRelay(from: client.source, to: sent, slot: slot)
        let down = BodyRelay(from: server.source, to: received, slot: slot)
        down.announcesStart = opening != nil
        upload = up
        download = down
        pumpBodies()
        var tunnel = JoinedTunnel(up: up, down: down, opening)
        defer { record.tunnel = tunnel.record }
        let idle = timeouts.tunnelIdle
        while !tunnel.isOver {
            if opening?.isStopped == true { return }
            let woken = await slot.park(
                for: .relayEnded | .cut,
                until: min(tunnel.deadline(idle: idle), throttleDeadline)
            )
            pumpThrottled()
            if down.bytes > 0, opening?.hearServer() == true { pumpBodies() }
            if opening?.giveUp() == true { pumpBodies() }
            let isCut = woken.meets(.cut)
            if try tunnel.hasEndedWell(now: slot.loop.now, idle: idle, isCut: isCut) { return }
        }
        _ = try tunnel.hasEndedWell()
    }

    private func connectTunnel(to hop: NextHop) async throws(LupinError) {
        var facts = AttemptRecord()
        var failures = 0
        while true {
            let began = slot.loop.now
            note(.connecting(hop))
            let notes = beginConnecting()
            defer { endConnecting() }
            do throws(DialFailure) {
                hold(
                    try await connector.connectHTTP1(to: hop, isHostFromFile: false, noting: notes)
                )
                facts.take(notes)
                append(traced(facts, since: began))
                return
            } catch {
                var failure = FailedAttempt(method: .connect, error: error.error)
                failure.retries = failures
                failure.hasSentBytes = false
                failure.isEveryAddressRefused = error.isEveryAddressRefused
                let result = RetryPolicy.safe.evaluate(failure)
                facts.take(notes)
                facts.error = error.error
                failures += 1
                guard case .retry(let reason) = result else {
                    if case .doNotRetry(let reason) = result { facts.reason = reason }
                    facts.decision = .giveUp
                    append(traced(facts, since: began))
                    noteAttemptEnd()
                    throw error.error
                }
                facts.decision = .retry
                facts.reason = reason
                append(traced(facts, since: began))
                noteAttemptEnd()
                facts = AttemptRecord()
                facts.cause = .retry
                facts.start = Int64(clamping: slot.loop.now &- begun)
            }
        }
    }
}
