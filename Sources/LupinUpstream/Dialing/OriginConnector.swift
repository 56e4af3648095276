// From a next hop to a connection that may carry requests: socket, parent proxy, TLS.
//
// No exchange is known here: requests of clients reach their origins by it, and lupin's own
// servers (tokens, revocation, telemetry, Redis) are reached by it, too.
package import LupinCore
package import LupinIO
package import LupinPolicy
import LupinTLS
package import LupinWire

/// What a connection attempt measured, as far as it got.
///
/// A class, since several asynchronous steps write to it.
package final class ConnectionNotes {
    package var timing = Timing()
    package var peer: SocketAddress?
    package var tls: TLSVersion?
    /// Why the certificates were refused; that of a connection made is in its `SecuredConnection`.
    package var trust: TrustRecord?
    /// The connection that is being made, once its socket is there.
    package fileprivate(set) var channel: Channel?

    package init() {}
}

/// A new connection, by the version of HTTP that ALPN chose.
package enum Connected {
    case http1(UpstreamHTTP1)
    case http2(UpstreamHTTP2)
}

/// Reaches servers for a task that waits: by socket, a parent proxy's tunnel, and TLS.
package struct OriginConnector {
    let worker: any UpstreamWorker
    let policy: UpstreamPolicy
    /// The caller waits in it.
    let slot: ParkingSlot
    /// On whose behalf, for the access lists.
    package var client = IPAddress.v4(0x7F00_0001)
    package var timeouts: ConnectTimeouts
    /// When the connection must be there, whatever the timeouts of its steps allow, in microseconds
    /// of the loop's clock.
    package var deadline = UInt64.max
    /// What ends a wait: asked before each, since those may come that others wait for.
    package var interruptions: () -> WakeReasons = { .cut }
    /// The parent proxy that a rule names; nil for that of the settings.
    package var proxy: UpstreamProxy?
    /// The way that a parent proxy has granted to the client.
    package var parentTunnel: ParentTunnel?
    /// lupin's member of Via in a CONNECT, by which a chain of proxies detects that it leads back.
    package var via: ViaMember?

    /// For lupin itself.
    package init(in slot: ParkingSlot, _ worker: any UpstreamWorker, _ policy: UpstreamPolicy) {
        self.worker = worker
        self.policy = policy
        self.slot = slot
        timeouts = policy.timeouts
        via = policy.settings.via ? worker.via(.http11) : nil
    }

    /// The parent proxy on the way to `origin`; nil where it is reached directly.
    package func parent(to origin: Origin) throws(LupinError) -> ParentHop? {
        let way = policy.settings.way(
            for: origin.scheme,
            host: origin.host,
            port: origin.port,
            override: proxy
        )
        let parent: ParentProxy
        switch way {
        case .direct: return nil
        case .parent(let proxy): parent = proxy
        case .none(let obstacle):
            throw LupinError(
                .proxyConfigurationError,
                host: origin.hostAndPort,
                detail: "\(obstacle).",
                status: 502
            )
        }
        let isSecure = parent.scheme == .https
        return ParentHop(
            proxy: parent,
            security: isSecure ? try policy.securities.security(SecurityDemand()) : nil
        )
    }

    /// Makes a connection to a server of lupin's own that speaks another protocol, with TLS where
    /// `security` says how.
    package func connectBare(
        to origin: Origin,
        _ security: OriginSecurity?
    ) async throws(LupinError) -> Channel {
        let hop = security.map { NextHop.secure(origin, $0, through: nil) } ?? .origin(origin)
        let dialer = Dialer(worker, slot, policy, client: client)
        let channel: Channel
        do throws(DialFailure) {
            (channel, _) = try await dialer.dial(
                hop,
                timeouts: timeouts,
                until: deadline,
                isHostFromFile: true,
                interruptions: interruptions()
            )
        } catch {
            throw error.error
        }
        guard let security else { return channel }
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
        do throws(LupinError) {
            _ = try await shakeHands(
                channel,
                security,
                with: origin.host,
                hop,
                protocols: [],
                ConnectionNotes()
            )
        } catch {
            channel.close(reset: true)
            throw error
        }
        return channel
    }

    /// Makes a connection to `hop` for HTTP/1.1 or for bytes of unknown protocol.
    package func connectHTTP1(
        to hop: NextHop,
        isHostFromFile: Bool,
        noting notes: ConnectionNotes
    ) async throws(DialFailure) -> UpstreamHTTP1 {
        let connected = try await connect(
            to: hop,
            isHostFromFile: isHostFromFile,
            protocols: ["http/1.1"],
            noting: notes
        )
        switch connected {
        case .http1(let connection): return connection
        case .http2(let connection):
            connection.giveUp()
            throw DialFailure(error: .unofferedHTTP2(by: hop))
        }
    }

    /// Makes a connection to `hop`, and fills `notes`.
    ///
    /// `isHostFromFile` means that the host stands literally in the rules file; `protocols` are
    /// offered by ALPN, nil for those of the settings. A parent proxy's challenge is answered once.
    package func connect(
        to hop: NextHop,
        isHostFromFile: Bool,
        protocols: [String]?,
        noting notes: ConnectionNotes
    ) async throws(DialFailure) -> Connected {
        do throws(DialFailure) {
            return try await connectOnce(
                to: hop,
                isHostFromFile: isHostFromFile,
                protocols: protocols,
                mayAnswer: true,
                noting: notes
            )
        } catch {
            guard error.error == .parentAsks else { throw error }
        }
        return try await connectOnce(
            to: hop,
            isHostFromFile: isHostFromFile,
            protocols: protocols,
            mayAnswer: false,
            noting: notes
        )
    }

    private func connectOnce(
        to hop: NextHop,
        isHostFromFile: Bool,
        protocols: [String]?,
        mayAnswer: Bool,
        noting notes: ConnectionNotes
    ) async throws(DialFailure) -> Connected {
        let granted = parentTunnel?.lend(for: hop)
        if granted == nil, hop.isByLogin {
            // The client's message answers the challenge of another connection.
            parentTunnel?.end()
            throw DialFailure(error: .loginIsOver(to: hop))
        }
        let channel: Channel
        if let granted {
            channel = granted.channel
        } else {
            let dialer = Dialer(worker, slot, policy, client: client)
            (channel, notes.timing) = try await dialer.dial(
                hop,
                timeouts: timeouts,
                until: deadline,
                isHostFromFile: isHostFromFile,
                interruptions: interruptions()
            )
        }
        notes.peer = channel.peer
        notes.channel = channel
        defer { notes.channel = nil }
        do throws(LupinError) {
            return try await secure(
                channel,
                to: hop,
                protocols,
                isOpenToOrigin: granted != nil,
                mayAnswer: mayAnswer,
                noting: notes
            )
        } catch {
            channel.close(reset: true)
            throw DialFailure(error: error)
        }
    }

    private func secure(
        _ channel: Channel,
        to hop: NextHop,
        _ protocols: [String]?,
        isOpenToOrigin: Bool,
        mayAnswer: Bool,
        noting notes: ConnectionNotes
    ) async throws(LupinError) -> Connected {
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
        let limits = HTTP1Limits(
            policy.limits,
            isStrict: policy.settings.isStrict
        )
        if !isOpenToOrigin, let parent = hop.connectedParent {
            do throws(LupinError) {
                try await pass(parent, by: hop, on: channel, mayAnswer: mayAnswer, notes)
            } catch {
                // The origin has seen nothing yet.
                let isBlamed = error.parent != nil || error == .parentAsks
                throw isBlamed ? error : error.blaming(parent.text)
            }
        }
        guard case .secure(let origin, let security, let parent) = hop else {
            return .http1(UpstreamHTTP1(channel, to: hop, limits: limits))
        }
        let secured: SecuredConnection
        do throws(LupinError) {
            secured = try await shakeHands(
                channel,
                security,
                with: origin.host,
                hop,
                protocols: protocols,
                notes
            )
        } catch {
            throw error.behind(parent)
        }
        guard secured.filter.session.chosenProtocol == "h2" else {
            return .http1(UpstreamHTTP1(channel, to: hop, limits: limits, secured: secured))
        }
        // The library refuses a choice that was not offered; older ones don't.
        if let protocols, !protocols.contains("h2") { throw .unofferedHTTP2(by: hop) }
        let connection = UpstreamHTTP2(
            channel,
            to: hop,
            HTTP2Parameters(limits: policy.limits.http2, heads: limits),
            streamsMax: policy.settings.poolStreams,
            secured: secured,
            growth: worker.windowGrowth
        )
        connection.start()
        return .http2(connection)
    }

    /// Does what a parent proxy wants before the next hop is reached: TLS with it, and a CONNECT.
    private func pass(
        _ parent: ParentHop,
        by hop: NextHop,
        on channel: Channel,
        mayAnswer: Bool,
        _ notes: ConnectionNotes
    ) async throws(LupinError) {
        var secured: SecuredConnection?
        if let security = parent.security {
            secured = try await shakeHands(
                channel,
                security,
                with: parent.proxy.host,
                .parent(parent),
                protocols: ["http/1.1"],
                notes
            )
        }
        guard case .secure(let origin, _, _) = hop else { return }
        try await openTunnel(
            channel,
            secured,
            to: origin,
            through: parent,
            mayAnswer: mayAnswer
        )
    }

    /// Opens a tunnel to the origin through a parent proxy, by CONNECT.
    private func openTunnel(
        _ channel: Channel,
        _ secured: SecuredConnection?,
        to origin: Origin,
        through parent: ParentHop,
        mayAnswer: Bool
    ) async throws(LupinError) {
        let limits = HTTP1Limits(policy.limits, isStrict: policy.settings.isStrict)
        let link = UpstreamHTTP1(channel, to: .parent(parent), limits: limits, secured: secured)
        var head = RequestHead()
        head.method = .connect
        var options = RequestOptions(
            target: .authority,
            authority: origin.hostAndPort,
            framing: .none
        )
        options.proxyAuthorization =
            worker.servers.parentCredentials.field(
                for: parent.proxy,
                method: .connect,
                uri: origin.hostAndPort,
                content: []
            ) ?? parent.login
        options.via = via
        link.begin(head, options)
        // Where it fails, what the parent has sent before it closed says why, and is read next.
        _ = try? link.requestBody.flush()
        let deadline = min(slot.loop.deadline(in: timeouts.connect), deadline)
        var interims = 0
        while true {
            if let response = try link.nextHead() {
                if response.head.isInterim {
                    interims += 1
                    guard interims <= Self.interimsMax else {
                        throw .interimFlood(parent.proxy.host.text)
                    }
                    continue
                }
                guard response.head.status / 100 != 2 else { return }
                if response.head.status == 407, mayAnswer,
                    worker.servers.parentCredentials.challenged(by: parent.proxy, response.head)
                {
                    throw .parentAsks
                }
                if response.head.status == 407 {
                    // The client's next CONNECT is asked about first.
                    worker.servers.parentCredentials.noteClosed(parent.proxy)
                    if parent.proxy.userinfo != nil {
                        throw .loginRefused(by: parent, response.head)
                    }
                }
                throw .refusal(
                    by: parent,
                    of: origin,
                    status: response.head.status,
                    challenge: ParentChallenge(to: parent.login, in: response.head.fields)
                )
            }
            let interruptions = interruptions()
            let woken = await slot.park(
                for: .upstreamReadable | .upstreamWritable | interruptions,
                until: deadline
            )
            if woken.meets(interruptions) { throw woken.meets(.cut) ? .stopping : .clientGone }
            if slot.loop.now >= deadline { throw .noTunnelInTime(to: origin) }
            _ = try? link.requestBody.flush()
        }
    }
}

extension LupinError {
    /// A parent proxy answered a CONNECT with something else than a tunnel.
    package static func refusal(
        by parent: ParentHop,
        of origin: Origin,
        status: UInt16,
        challenge: ParentChallenge? = nil
    ) -> LupinError {
        LupinError(
            .destinationUnavailable,
            host: origin.hostAndPort,
            detail: "The parent proxy \(parent.text) answered CONNECT with \(status).",
            // A retry would get the same refusal, and could lock the account.
            retry: status < 500 ? .never : nil,
            status: 502
        ).blaming(parent.text, status: status, challenge: status == 407 ? challenge : nil)
    }

    /// A parent proxy did not answer a CONNECT, and so no request was sent.
    fileprivate static func noTunnelInTime(to origin: Origin) -> LupinError {
        LupinError(
            .httpResponseTimeout,
            host: origin.hostAndPort,
            detail: "The parent proxy gave no tunnel within timeouts.connect.",
            retry: .connect
        )
    }

    /// The same error of the TLS with an origin behind a parent proxy, which may have caused it.
    fileprivate func behind(_ parent: ParentHop?) -> LupinError {
        guard let parent, side == .upstream, kind != .tlsCertificateError else { return self }
        var error = self
        error.detail += " The way leads through a tunnel of the parent proxy \(parent.text)."
        return error
    }

    /// The client has logged in to a connection with the parent proxy, and that one has ended.
    fileprivate static func loginIsOver(to hop: NextHop) -> LupinError {
        LupinError(
            .destinationUnavailable,
            host: hop.text,
            detail: "The client's login at the parent proxy \(hop.connectedParent?.text ?? "") was "
                + "for one connection, which has ended. The client must log in again, with a new "
                + "CONNECT.",
            side: .downstream,
            retry: .never,
            status: 502
        )
    }

    fileprivate static func unofferedHTTP2(by hop: NextHop) -> LupinError {
        LupinError(
            .tlsProtocolError,
            host: hop.host.text,
            detail: "The server chose HTTP/2, which was not offered."
        )
    }

    /// A parent proxy sent a Digest challenge; never seen outside of this file.
    fileprivate static let parentAsks = LupinError(
        .destinationUnavailable,
        detail: "The parent proxy asks for credentials.",
        status: 502
    )
}
