// Chooses the connection of an attempt: a shared one, an idle one, or a new one.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Attempt {
    /// A connection for the attempt: the client's own, a shared or an idle one, or a new one.
    func connect() async throws(LupinError) -> any Upstream {
        // After a failure a new connection is made: its cause may have closed all idle ones.
        let mayReuse = !wantsOwnConnection && exchange.attempts.last?.error == nil
        if mayReuse, let bound = bound() { return bound }
        if !wantsOwnConnection, let stream = try await sharedStream() { return stream }
        if mayReuse, let pooled = pooled() { return pooled }
        return try await dial()
    }

    /// The same for a first attempt, if there is one that needs no wait.
    func atHand() -> (any Upstream)? {
        if let bound = bound() { return bound }
        guard mayShare else { return pooled() }
        if let shared = shared() { return mustAsk(shared) ? nil : shared.lease() }
        return exchange.resources.pool.streams.isDialing(hop) ? nil : pooled()
    }

    private func dial() async throws(LupinError) -> any Upstream {
        let streams = exchange.resources.pool.streams
        // HTTP/2 is agreed upon in TLS, so clear text has nothing to share or to offer.
        let protocols = hop.isSecure ? offered : nil
        // Exchanges that wait for a shareable connection wait for this one.
        let isShared = hop.isSecure && streams.beginDial(hop, wants: protocols)
        var isConnected = false
        defer { if isShared { streams.endDial(hop, isConnected: isConnected) } }
        exchange.note(.connecting(hop))
        let notes = exchange.beginConnecting()
        defer { exchange.endConnecting() }
        do throws(DialFailure) {
            let connected = try await exchange.connector.connect(
                to: hop,
                isHostFromFile: isHostFromFile,
                protocols: protocols,
                noting: notes
            )
            note(notes)
            isConnected = true
            switch connected {
            case .http1(let connection):
                connection.access = accessOfNew(connection.peer)
                if protocols == nil { streams.remember(hop, wantsHTTP1: false) }
                return connection
            case .http2(let connection):
                connection.access = accessOfNew(connection.peer)
                streams.keep(connection)
                return connection.lease()
            }
        } catch {
            note(notes)
            isEveryAddressRefused = error.isEveryAddressRefused
            throw logsIn ? error.error.ofLogin : error.error
        }
    }

    /// Whether neither the request nor, as far as known, its origin wants HTTP/1.1.
    private var mayShare: Bool {
        guard exchange.resources.pool.streams.mayShare(hop), !logsIn else { return false }
        guard let upgrade = exchange.wishes.upgrade else { return true }
        // Without its key the client could not verify that the WebSocket begins.
        return upgrade.isOnly(WebSocketHandshake.name)
            && adapted.head.fields.value(of: WebSocketHandshake.keyField) != nil
    }

    /// An HTTP/2 connection that the request may use, though the origin may be silent for long.
    private func shared() -> UpstreamHTTP2? {
        let streams = exchange.resources.pool.streams
        let isForWebSocket = exchange.wishes.upgrade != nil
        while let connection = streams.connection(to: hop, forWebSocket: isForWebSocket) {
            if isDelicate { connection.link.look() }
            guard connection.link.isOpen else { continue }
            return mayUse(connection) ? connection : nil
        }
        return nil
    }

    /// Whether a PING must show first that the origin is there; else one goes beside the request.
    private func mustAsk(_ connection: UpstreamHTTP2) -> Bool {
        guard connection.isDoubtful else { return false }
        if !isDelicate { connection.link.ping() }
        return isDelicate
    }

    /// Whether the request can't be sent twice: it must not be lost on a shared connection that the
    /// origin has just closed, so one extra read of the socket is justified.
    private var isDelicate: Bool {
        !exchange.request.method.isIdempotent || !exchange.framing.isEmpty
    }

    /// An idle connection that the request may use.
    private func pooled() -> UpstreamHTTP1? {
        let pooled =
            switch sent {
            case .asItCame(let target): exchange.resources.lease(directlyTo: target)
            case .adapted(let adapted):
                exchange.resources.pool.lease(for: adapted.hop, known: adapted.target)
            }
        guard let pooled else { return nil }
        if pooled.hasRestedLong(at: exchange.now), isDelicate {
            pooled.channel.close()
            return nil
        }
        pooled.access = current(pooled.access, at: pooled.peer)
        if mayUse(pooled.access, at: pooled.peer) { return pooled }
        if mayBeOwn(pooled.access.isKnownNotOwn) {
            pooled.channel.close()
        } else {
            exchange.resources.pool.keep(pooled)
        }
        return nil
    }

    /// The connection that the client has logged in to, if the request may use it.
    private func bound() -> UpstreamHTTP1? {
        guard let bound = exchange.downstream.bound?.lend(for: hop) else { return nil }
        bound.access = current(bound.access, at: bound.peer)
        if mayUse(bound.access, at: bound.peer) { return bound }
        bound.channel.close()
        return nil
    }

    /// Whether the current access rules let the request use a shared connection.
    private func mayUse(_ connection: UpstreamHTTP2) -> Bool {
        connection.access = current(connection.access, at: connection.peer)
        if mayBeOwn(connection.access.isKnownNotOwn) { connection.leave() }
        return mayUse(connection.access, at: connection.peer)
    }

    /// Whether existing connections are unsuitable: the last response was about its connection.
    private var wantsOwnConnection: Bool {
        guard let last = exchange.attempts.last else { return false }
        return last.decision == .retry && (last.status == 421 || last.status == 408)
    }

    /// The ALPN protocols to offer; nil for those of the settings.
    ///
    /// An upgrade and a login need HTTP/1.1, and some origins demand it.
    private var offered: [String]? {
        exchange.wishes.upgrade != nil || logsIn
            || exchange.resources.pool.streams.wantsHTTP1(hop)
            ? ["http/1.1"] : nil
    }

    /// Whether the request logs in to its connection, so that it needs one of its own: clients
    /// share those of HTTP/2.
    private var logsIn: Bool { adapted.logsInToConnection }

    /// A stream of a shared connection; nil when there is none and none is being made.
    private func sharedStream() async throws(LupinError) -> UpstreamStream? {
        guard mayShare else { return nil }
        let streams = exchange.resources.pool.streams
        let deadline = min(
            exchange.slot.loop.deadline(in: exchange.timeouts.connect),
            exchange.attemptDeadline
        )
        let failures = streams.failures(at: hop)
        while true {
            if let shared = shared() {
                if !mustAsk(shared) { return shared.lease() }
                // Alive or not, another exchange may have taken its room.
                if try await !isAlive(shared) { shared.giveUp() }
                continue
            }
            // When a dial fails, all that wait connect for themselves, at once and not in a row.
            // A hedge does not wait for what the slow attempt waits for.
            guard exchange.wishes.upgrade == nil, facts.cause != .hedge, streams.isDialing(hop),
                streams.failures(at: hop) == failures
            else { return nil }
            streams.wait(for: hop, in: exchange.slot)
            let woken = await exchange.slot.park(
                for: .answered | exchange.interruptions,
                until: deadline
            )
            streams.stopWaiting(for: hop, in: exchange.slot)
            try checkInterruptions(woken)
            if exchange.now >= deadline { return nil }
        }
    }

    /// Whether an origin that was silent for long still answers.
    private func isAlive(_ connection: UpstreamHTTP2) async throws(LupinError) -> Bool {
        let deadline = min(
            exchange.slot.loop.deadline(in: Self.pingTimeout),
            exchange.attemptDeadline
        )
        let waiting = exchange.resources.pool.streams
        if !connection.link.awaitsPong { connection.link.ping() }
        while connection.link.isOpen, connection.isDoubtful {
            waiting.wait(for: hop, in: exchange.slot)
            let woken = await exchange.slot.park(
                for: .answered | exchange.interruptions,
                until: deadline
            )
            waiting.stopWaiting(for: hop, in: exchange.slot)
            try checkInterruptions(woken)
            if exchange.now >= deadline { break }
        }
        return connection.link.isOpen && !connection.isDoubtful
    }

    /// How long a PING may take.
    private static let pingTimeout = Duration.seconds(2)

    private func checkInterruptions(_ woken: WakeReasons) throws(LupinError) {
        if woken.meets(.cut) { throw .stopping }
        if woken.meets(exchange.interruptions) { throw .clientGone }
    }

    /// The reach under the current access rules, which may have changed meanwhile.
    private func current(_ access: AddressAccess, at peer: SocketAddress?) -> AddressAccess {
        if access.judgedBy == exchange.snapshot.number { return access }
        return self.access(of: peer, isKnownNotOwn: access.isKnownNotOwn)
    }

    /// Whether the access rules let this request use a connection made for another client or rule.
    private func mayUse(_ access: AddressAccess, at peer: SocketAddress?) -> Bool {
        if access.isOpen(toLocal: exchange.client.isLocal, by: exchange.snapshot.number) {
            return true
        }
        if mayBeOwn(access.isKnownNotOwn) { return false }
        return !isDenied(
            peer,
            to: exchange.client.address,
            isHostFromFile: isHostFromFile
        )
    }

    private func access(of peer: SocketAddress?, isKnownNotOwn: Bool) -> AddressAccess {
        let isUnknown = mayBeOwn(isKnownNotOwn)
        let isForLocal = !isUnknown && !isDenied(peer, to: .v4(0x7F00_0001), isHostFromFile: false)
        return AddressAccess(
            judgedBy: exchange.snapshot.number,
            isKnownNotOwn: isKnownNotOwn,
            isRestricted: isUnknown || isDenied(peer, to: .v4(0), isHostFromFile: false),
            isOpenToLocalClients: isForLocal
        )
    }

    /// The reach of a connection just made: `Dialer` asks when the rules want it.
    private func accessOfNew(_ peer: SocketAddress?) -> AddressAccess {
        access(of: peer, isKnownNotOwn: exchange.snapshot.access.deniesSelf)
    }

    /// Whether a connection from before a reload may lead to another lupin, which the rules deny
    /// since then; a new one shows.
    private func mayBeOwn(_ isKnownNotOwn: Bool) -> Bool {
        !isKnownNotOwn && !hop.isThroughParent && exchange.snapshot.access.deniesSelf
    }

    private func isDenied(
        _ peer: SocketAddress?,
        to client: IPAddress,
        isHostFromFile: Bool
    ) -> Bool {
        guard let peer, !hop.isThroughParent else { return false }
        let denial = exchange.snapshot.access.denial(
            of: peer.address,
            port: peer.port,
            host: hop.host,
            client: client,
            isHostFromFile: isHostFromFile
        )
        return denial != nil
    }
}

extension LupinError {
    /// The same error of a connection for a login, where the server may speak HTTP/2 alone.
    fileprivate var ofLogin: LupinError {
        guard kind == .tlsAlertReceived || kind == .tlsProtocolError else { return self }
        var error = self
        error.detail +=
            " The request logs in to its connection (NTLM, Negotiate), so HTTP/1.1 "
            + "alone was offered: does the server speak it?"
        return error
    }
}
