// CONNECT: forwards bytes in both directions without reading them, until both sides are done.
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// Connects, and relays bytes between the client and the target.
    func tunnel(to origin: Origin) async throws(LupinError) {
        record.mode = .tunnel
        let hop = try tunnelHop(to: origin)
        markHopByHop(for: hop)
        try await openTunnel(to: origin, by: hop, tellsClient: true)
    }

    /// Connects, sends 200 unless the client has it already, and joins both sides.
    func openTunnel(
        to origin: Origin,
        by hop: NextHop,
        tellsClient: Bool
    ) async throws(LupinError) {
        guard try await reach(origin, by: hop, tellsClient: tellsClient), let upstream else {
            return
        }
        if tellsClient { grantTunnel() }
        try await join(upstream)
    }

    /// Connects to a tunnel's target.
    ///
    /// Returns false when there is no connection and the client has got a response that says so.
    func reach(
        _ origin: Origin,
        by hop: NextHop,
        tellsClient: Bool
    ) async throws(LupinError) -> Bool {
        if hop.parent != nil {
            let adapted = AdaptedRequest(UpstreamRequest(head: request, origin: origin), hop: hop)
            guard let obtained = try await obtainResponse(to: KnownTarget(origin), as: adapted)
            else { return false }
            let status = obtained.response.status
            guard status != 101 else {
                throw LupinError(
                    .httpUpgradeFailed,
                    host: hop.text,
                    detail: "The parent proxy answered CONNECT with 101."
                )
            }
            guard status / 100 == 2 else {
                guard tellsClient else {
                    throw LupinError(
                        .destinationUnavailable,
                        host: origin.hostAndPort,
                        detail: "The parent proxy answered CONNECT with \(status).",
                        status: 502
                    )
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

    /// Joins both sides and waits until both directions have ended.
    func join(_ upstream: any Upstream) async throws(LupinError) {
        record.tunnel = TunnelRecord()
        upload?.cancel()
        let client = downstream.openTunnel()
        let server = upstream.openTunnel()
        let sent = captured(frames: throttled(server.sink, .up), isFromClient: true)
        let received = captured(frames: throttled(client.sink, .down), isFromClient: false)
        let up = BodyRelay(from: client.source, to: sent, slot: slot)
        let down = BodyRelay(from: server.source, to: received, slot: slot)
        upload = up
        download = down
        pumpBodies()
        defer { close(up, down) }
        while !(up.isOver && down.isOver) {
            let active = max(up.lastActivity, down.lastActivity)
            let idle = waits.tunnelIdle
            let woken = await slot.park(
                for: .relayEnded | .cut,
                until: min(active &+ idle, throttleDeadline)
            )
            pumpThrottled()
            if hasClientClosed(up, down) { return }
            if let error = up.failure ?? down.failure { throw error }
            let isIdle = slot.loop.now &- max(up.lastActivity, down.lastActivity) >= idle
            if woken.meets(.cut) || (isIdle && !(up.isOver && down.isOver)) {
                record.tunnel?.closedBy = .lupin
                throw woken.meets(.cut) ? .stopping : .tunnelIdle
            }
            if record.tunnel?.closedBy == nil, up.isOver != down.isOver {
                record.tunnel?.closedBy = up.isOver ? .client : .upstream
            }
        }
        if hasClientClosed(up, down) { return }
        if let error = up.failure ?? down.failure { throw error }
    }

    /// Whether the client closed its socket after the end of either direction.
    ///
    /// Its kernel then answers unread bytes with RST, usually the origin's close_notify: such a
    /// tunnel ended regularly.
    private func hasClientClosed(_ up: BodyRelay, _ down: BodyRelay) -> Bool {
        guard let failure = up.failure ?? down.failure, failure == .clientGone else {
            return false
        }
        return up.state == .finished || down.state == .finished
    }

    private func close(_ up: BodyRelay, _ down: BodyRelay) {
        record.tunnel?.sentBytes = up.bytes
        record.tunnel?.receivedBytes = down.bytes
        if record.tunnel?.closedBy == nil {
            let clientEnded = up.failure == .clientGone || down.failure == .clientGone
            record.tunnel?.closedBy = clientEnded || up.state == .finished ? .client : .upstream
        }
    }

    private func connectTunnel(to hop: NextHop) async throws(LupinError) {
        var facts = AttemptRecord()
        var failures = 0
        while true {
            let began = slot.loop.now
            let notes = ConnectionNotes()
            note(.connecting(hop))
            do throws(DialFailure) {
                hold(try await connectHTTP1(to: hop, isHostFromFile: false, noting: notes))
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

extension BodyRelay {
    /// The error of the failed side; nil when neither failed.
    var failure: LupinError? {
        switch state {
        case .running, .finishing, .finished: nil
        case .sourceFailed(let error), .sinkFailed(let error): error
        }
    }
}
