// Interception of a CONNECT: detects what the client speaks inside, and ends its TLS.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire

/// The interception of a CONNECT whose 200 has been sent.
final class Interception {
    let origin: Origin
    /// Whether a client that refuses our certificate, or does not speak HTTP, may have a tunnel:
    /// true when all rules that need clear text do so for convenience only.
    let mayTunnel: Bool
    /// A rule names this very address, so a server name in the client's TLS changes nothing.
    let namesAddress: Bool
    /// The key under which a refusal of our certificate is noted.
    let client: ClientRejections.Key
    /// The client has been seen to speak HTTP, without TLS.
    let isPlain: Bool
    /// The way through a parent proxy that was opened before the 200; nil where none was asked.
    var parentTunnel: ParentTunnel?

    init(
        origin: Origin,
        mayTunnel: Bool,
        namesAddress: Bool,
        client: ClientRejections.Key,
        isPlain: Bool = false
    ) {
        self.isPlain = isPlain
        self.client = client
        self.origin = origin
        self.mayTunnel = mayTunnel
        self.namesAddress = namesAddress
    }
}

extension Exchange {
    /// Intercepts this CONNECT; returns nil for a tunnel, because the client refused lupin's
    /// certificate lately.
    /// - Throws: 403 when a tunnel would undo what the rules demand.
    func intercept(
        for rule: Int?,
        at origin: Origin,
        mayTunnel: Bool
    ) async throws(LupinError) -> Interception? {
        let key = await rejectionKey(at: origin)
        let bypass = resources.shared.rejections.bypass(key, now: resources.loop.now)
        if let bypass {
            if mayTunnel {
                record.bypass = bypass
                return nil
            }
            throw .untrusting(key.who.name(resources.redactor), bypass, at: origin)
        }
        return Interception(
            origin: origin,
            mayTunnel: mayTunnel,
            namesAddress: rule.map { snapshot.rules.rules[$0].names(origin.host) } ?? false,
            client: key
        )
    }

    /// The key under which a refusal of our certificate is noted.
    func rejectionKey(at origin: Origin) async -> ClientRejections.Key {
        let who = ClientRejections.Who(
            client: client.address,
            // Looked up now: a client that refuses a certificate has left by the time lupin knows.
            user: await clientUser(),
            program: client.program,
            agent: request.fields.value(of: "user-agent")
        )
        return ClientRejections.Key(who: who, origin: origin)
    }

    /// Sends 200 to the client, as for a tunnel.
    func beginInterception() throws(LupinError) {
        _ = try grantTunnel().flush()
    }
}

/// The protocol that a client speaks inside a CONNECT, by its first bytes.
enum Inside {
    case tls(ClientHello)
    case http
    /// Any other protocol.
    case unknown
    /// No bytes for a while: the client is slow, or the server speaks first.
    case silent
    case gone
}

extension DownstreamConnection {
    /// Continues inside a CONNECT: further exchanges are those of the client inside.
    ///
    /// - Returns: `.keep` when the inside is ready for requests.
    func intercept(_ exchange: Exchange, _ interception: Interception) async -> Ending {
        guard await hasToldClient(exchange.snapshot) else {
            exchange.leave()
            return .gone
        }
        if interception.isPlain {
            enterPlain(exchange, interception)
            return .keep
        }
        // A client that may not have a tunnel gets more time: a slow start must not undo a pin.
        let timeouts = exchange.snapshot.timeouts
        let timeout = interception.mayTunnel ? timeouts.sniff : timeouts.tls
        var inside = await look(for: timeout, exchange.snapshot)
        if case .silent = inside, interception.mayTunnel {
            do throws(LupinError) {
                inside = try await lookAgain(exchange, interception.origin)
            } catch {
                return exchange.refuseInside(error)
            }
        }
        switch inside {
        case .gone:
            exchange.leave()
            return .gone
        case .silent where interception.mayTunnel:
            return await exchange.joinSpeakingServer(of: interception.origin)
        case .unknown where interception.mayTunnel:
            return await exchange.goOnAsTunnel(interception)
        case .unknown, .silent:
            return exchange.refuseInside(
                .request(
                    status: 403,
                    host: interception.origin.hostAndPort,
                    detail: "The client speaks neither TLS nor HTTP, and the rules for the host "
                        + "allow no blind tunnel."
                )
            )
        // In clear text the parent would get the requests themselves, by connections of ours.
        case .http where interception.mayTunnel && interception.parentTunnel?.isByLogin == true:
            return await exchange.goOnAsTunnel(interception)
        case .http:
            enterPlain(exchange, interception)
            return .keep
        case .tls(let hello):
            return await endTLS(hello, exchange, interception)
        }
    }

    /// Serves requests without TLS from inside the CONNECT from now on.
    private func enterPlain(_ exchange: Exchange, _ interception: Interception) {
        exchange.leave()
        let plain = Origin(
            scheme: .http,
            host: interception.origin.host,
            port: interception.origin.port
        )
        let interceptedTunnel = InterceptedTunnel(KnownTarget(plain), by: interception.parentTunnel)
        enter(interceptedTunnel, interception, as: exchange.client.user)
    }

    /// Waits until the 200 has been sent: if the client reads nothing, it would end up inside TLS.
    private func hasToldClient(_ snapshot: Snapshot) async -> Bool {
        let deadline = resources.loop.deadline(in: snapshot.timeouts.tls)
        while true {
            guard let isSent = try? channel.flush() else { return false }
            if isSent { return true }
            let woken = await slot.park(for: .downstreamWritable | .cut, until: deadline)
            if woken.meets(.cut) || channel.isBroken || resources.loop.now >= deadline {
                return false
            }
        }
    }

    /// Waits for enough first bytes to recognize the protocol.
    func look(for timeout: UInt64, _ snapshot: Snapshot) async -> Inside {
        let loop = resources.loop
        var deadline = loop.deadline(in: timeout)
        var hasBegun = false
        headAwaitedSince = loop.now
        defer { headAwaitedSince = nil }
        while true {
            let input = channel.input
            if !input.isEmpty {
                switch ClientHello.parse(input.bytes) {
                case .hello(let hello): return .tls(hello)
                case .notTLS:
                    if let isRequest = RequestBeginning.isThere(input.bytes) {
                        return isRequest ? .http : .unknown
                    }
                case .unreadable: return .unknown
                case .needsMore:
                    if input.isFull { return .unknown }
                }
                if !hasBegun {
                    hasBegun = true
                    deadline = loop.deadline(in: snapshot.timeouts.tls)
                }
            }
            guard let received = try? channel.receive() else { return .gone }
            switch received {
            case .bytes: continue
            case .full: return .unknown
            case .end: return .gone
            case .blocked: channel.acknowledge()
            }
            if resources.isDraining, !hasBegun { return .gone }
            let woken = await slot.park(
                for: .downstreamReadable | .draining | .cut,
                until: deadline
            )
            if woken.meets(.cut) { return .gone }
            // On a busy loop, bytes that came in time may be seen late.
            if loop.now >= deadline, !woken.meets(.downstreamReadable) {
                return hasBegun ? .unknown : .silent
            }
        }
    }

    /// Whether streams are of no use: they could need several connections, and a client logs in to
    /// one.
    private func wantsHTTP1(_ hello: ClientHello, _ interception: Interception) -> Bool {
        guard hello.protocols.contains("http/1.1") else { return false }
        let logins = resources.shared.connectionLogins
        return interception.parentTunnel?.isByLogin == true
            || logins.holds(interception.origin, now: resources.loop.now)
    }

    private func endTLS(
        _ hello: ClientHello,
        _ exchange: Exchange,
        _ interception: Interception
    ) async -> Ending {
        let origin = interception.origin
        let named = hello.serverName.flatMap { Host($0) }
        let isForeign = named != nil && named != origin.host
        // The client resolved the name itself, so the rules that apply are unknown.
        if isForeign, origin.host.address != nil, !interception.namesAddress {
            guard interception.mayTunnel else {
                return exchange.refuseInside(
                    .request(
                        status: 403,
                        host: origin.hostAndPort,
                        detail: "CONNECT named an address and the TLS inside a name."
                    )
                )
            }
            return await exchange.goOnAsTunnel(interception)
        }
        let offersHTTP2 = policy.protocols.contains(.http2) && !wantsHTTP1(hello, interception)
        // A program that speaks another protocol would only fail here.
        if interception.mayTunnel, !hello.protocols.isEmpty,
            !hello.protocols.contains("http/1.1"),
            !(offersHTTP2 && hello.protocols.contains("h2"))
        {
            return await exchange.goOnAsTunnel(interception)
        }
        let filter: TLSFilter
        do throws(LupinError) {
            filter = try exchange.snapshot.issuer.filter(
                for: named ?? origin.host,
                offersHTTP2: offersHTTP2,
                wallSeconds: resources.wallSecond
            )
        } catch {
            return exchange.refuseInside(error)
        }
        channel.insert(filter)
        let handshake = Handshake(
            channel: channel,
            filter: filter,
            slot: slot,
            readiness: .downstreamReadable | .downstreamWritable,
            interruptions: .cut,
            deadline: resources.loop.deadline(in: exchange.snapshot.timeouts.tls)
        )
        do throws(HandshakeFailure) {
            headAwaitedSince = resources.loop.now
            defer { headAwaitedSince = nil }
            try await handshake.run()
        } catch {
            return exchange.endFailedHandshake(error, interception)
        }
        exchange.leave()
        let foreignName = isForeign ? hello.serverName : nil
        let interceptedTunnel = InterceptedTunnel(
            KnownTarget(origin),
            by: interception.parentTunnel,
            foreignName: foreignName,
            tls: filter
        )
        enter(interceptedTunnel, interception, as: exchange.client.user)
        return .keep
    }
}

// MARK: The CONNECT's own exchange

extension Exchange {
    /// Ends without a record: the exchanges inside have their own.
    func leave() {
        downstream.attach(nil)
        resources.live.remove(self)
    }

    /// Continues as a tunnel after all; the client has its 200 already.
    func goOnAsTunnel(_ interception: Interception) async -> Ending {
        let origin = interception.origin
        do throws(LupinError) {
            record.mode = .tunnel
            let hop = try tunnelHop(to: origin)
            markHopByHop(for: hop)
            if let parentTunnel = interception.parentTunnel, parentTunnel.isByLogin,
                let granted = parentTunnel.lend()
            {
                hold(granted)
            } else {
                guard try await reach(origin, by: hop, tellsClient: false) else { return finish() }
            }
            guard let upstream else { return finish() }
            try await carry(upstream, to: origin, mayIntercept: false)
        } catch {
            // An HTTP response would be bytes of the tunnel.
            endUnanswered(error)
        }
        return finish()
    }

    /// Ends the CONNECT when closing is the only way to tell the client.
    func refuseInside(_ error: LupinError) -> Ending {
        endUnanswered(error)
        return finish()
    }

    /// Closes so that the client sees a broken connection.
    func endUnanswered(_ error: LupinError) {
        record.error = error.naming(parentRule: plan?.proxyRule)
        record.outcome =
            error == .clientGone || downstream.isClientGone
            ? .aborted : error.isDenial ? .denied : .error
        upload?.cancel()
        download?.cancel()
        downstream.abort()
    }

    /// Records a failed TLS handshake with the client, and notes a refused certificate.
    func endFailedHandshake(_ failure: HandshakeFailure, _ interception: Interception) -> Ending {
        record.mode = .intercept
        record.outcome = .aborted
        switch failure {
        case .tls(let failure):
            var detail = "TLS with the client failed: \(failure)."
            if case .peerRejectedOurCertificate(let alert) = failure.kind {
                detail =
                    "The client refused lupin's certificate (\(alert.name)); "
                    + "\(LupinError.trustRemedy)."
                resources.noteRejection(of: interception, by: alert, snapshot)
            }
            record.error = LupinError(
                .httpRequestError,
                host: interception.origin.hostAndPort,
                detail: detail
            )
        case .timedOut:
            record.error = .request(
                status: 408,
                host: interception.origin.hostAndPort,
                detail: "The client's TLS handshake was not complete within timeouts.tls."
            )
        case .broken, .interrupted: record.error = .clientGone
        }
        downstream.abort()
        return finish()
    }
}

extension WorkerResources {
    /// How long a client that may not have a tunnel gets 403 after it refused a certificate.
    private static let refusalLifetime = Duration.seconds(60)

    /// Notes that the client of `interception` accepted our certificate.
    func noteAcceptance(of interception: Interception?) {
        guard let interception else { return }
        shared.rejections.noteAcceptance(by: interception.client.who, now: loop.now)
    }

    /// Notes that a client refused our certificate, and logs it once.
    func noteRejection(
        of interception: Interception,
        by alert: TLSAlert,
        _ snapshot: Snapshot
    ) {
        // A client that gets no tunnel may soon have learnt to trust the CA.
        let tunnelled = interception.mayTunnel ? snapshot.settings.intercept.tunnelsRejecting : nil
        let bypass = shared.rejections.note(
            interception.client,
            because: alert.name,
            at: ClientRejections.Moment(loop: loop.now, wall: wallNow),
            longest: (tunnelled ?? Self.refusalLifetime).microseconds
        )
        guard let bypass else { return }
        let host = interception.origin.hostAndPort
        let seconds = (bypass.untilMicroseconds - wallNow) / 1_000_000
        let next =
            interception.mayTunnel
            ? "for \(seconds) s it gets a tunnel to \(host), past the rules"
            : "its CONNECTs to \(host) get 403, since the rules allow no tunnel"
        let name = interception.client.who.name(redactor, own: SystemUsers.own)
        let remedy = LupinError.trustRemedy
        shared.logger.warning(
            "\(name) refuses lupin's certificate (\(alert.name)): \(next); \(remedy)"
        )
    }
}

extension LupinError {
    /// The remedy for a client that doesn't trust the CA.
    fileprivate static let trustRemedy =
        "let it trust the CA: `lupin ca install`, or run it by `lupin exec`, with the variables "
        + "that this sets"

    /// The error for a client that refused lupin's certificate, when rules allow no tunnel.
    fileprivate static func untrusting(
        _ name: String,
        _ bypass: BypassRecord,
        at origin: Origin
    ) -> LupinError {
        .request(
            status: 403,
            host: origin.hostAndPort,
            detail: "\(name) refused lupin's certificate (\(bypass.cause)), and the rules for "
                + "\(origin.host.text) allow no tunnel. To go on, \(trustRemedy)."
        )
    }
}
