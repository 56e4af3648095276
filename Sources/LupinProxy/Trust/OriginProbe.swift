// Which certificates an origin shows: one handshake, nothing sent over it, nothing judged.
package import LupinCore
package import LupinIO
package import LupinTLS

/// Why nothing was shown, in a sentence for people.
package struct OriginProbeFailure: Error, Sendable {
    package let sentence: String
}

/// Asks an origin for its certificates, directly: no parent proxy, no rules.
package enum OriginProbe {
    /// Connects, shakes hands and hangs up.
    ///
    /// Must be called on the executor's loop.
    /// - Parameters:
    ///   - host: Whom to ask, and the name that the handshake tells (SNI).
    ///   - port: Where it listens.
    ///   - settings: `upstream.tls`, for versions.
    ///   - timeout: For the look-up, the connection and the handshake each.
    ///   - executor: Runs the loop of the caller.
    /// - Returns: What was shown, good or bad.
    /// - Throws: Why there is nothing.
    package static func certificates(
        of host: Host,
        port: UInt16,
        _ settings: UpstreamTLSSettings,
        timeout: Duration = .seconds(10),
        on executor: LoopExecutor
    ) async throws(OriginProbeFailure) -> PeerCertificates {
        let loop = executor.loop
        let slot = ParkingSlot(on: loop)
        let addresses = try await addresses(of: host, slot, timeout)
        let channel = try await connect(to: addresses, port, host, slot, timeout)
        defer { channel.close(reset: true) }
        let shown = Shown()
        let filter: TLSFilter
        do throws(TLSFailure) {
            var configuration = ClientTLSConfiguration()
            configuration.minimum = settings.minimum
            configuration.protocols = ["http/1.1"]
            let session = try TLSSession.client(
                try TLSContext.client(configuration),
                serverName: host
            ) { certificates in
                shown.certificates = certificates
                return .accepted
            }
            filter = TLSFilter(session, isClient: true)
        } catch {
            throw OriginProbeFailure(sentence: "TLS can't be set up: \(error)")
        }
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
        channel.insert(filter)
        let handshake = Handshake(
            channel: channel,
            filter: filter,
            slot: slot,
            readiness: .upstreamReadable | .upstreamWritable,
            interruptions: [],
            deadline: loop.deadline(in: timeout)
        )
        var failure: HandshakeFailure?
        do throws(HandshakeFailure) { try await handshake.run() } catch { failure = error }
        // A server that wants a certificate of ours has shown its own before it refuses.
        if let certificates = shown.certificates { return certificates }
        throw OriginProbeFailure(sentence: sentence(failure, host))
    }

    /// What the check was asked about.
    private final class Shown {
        var certificates: PeerCertificates?
    }

    private static func addresses(
        of host: Host,
        _ slot: ParkingSlot,
        _ timeout: Duration
    ) async throws(OriginProbeFailure) -> [IPAddress] {
        if let address = host.address { return [address] }
        let threads: ResolverThreads
        do throws(SystemError) { threads = try ResolverThreads(count: 1) } catch {
            throw OriginProbeFailure(sentence: "No thread for the look-up: \(error.message)")
        }
        defer { threads.abandon() }
        do throws(ResolveFailure) {
            return try await Resolver(on: slot.loop, threads: threads).resolve(
                host.text,
                timeToLive: .zero,
                slot: slot,
                until: slot.loop.deadline(in: timeout),
                interruptions: []
            )
        } catch {
            switch error {
            case .notFound: throw OriginProbeFailure(sentence: "\(host.text) has no address")
            case .failed(let reason):
                throw OriginProbeFailure(sentence: "\(host.text) can't be looked up: \(reason)")
            case .timedOut, .busy, .interrupted:
                throw OriginProbeFailure(sentence: "the look-up of \(host.text) took too long")
            }
        }
    }

    private static func connect(
        to addresses: [IPAddress],
        _ port: UInt16,
        _ host: Host,
        _ slot: ParkingSlot,
        _ timeout: Duration
    ) async throws(OriginProbeFailure) -> Channel {
        var connector = Connector(on: slot.loop, slot: slot)
        do throws(ConnectFailure) {
            return try await connector.connect(
                to: addresses,
                port: port,
                until: slot.loop.deadline(in: timeout),
                interruptions: []
            )
        } catch {
            let place = "\(host.uriText):\(port)"
            if error.isTimeout {
                throw OriginProbeFailure(sentence: "\(place) doesn't answer")
            }
            let reason = error.errors.first?.message ?? "no address"
            throw OriginProbeFailure(sentence: "cannot connect to \(place): \(reason)")
        }
    }

    private static func sentence(_ failure: HandshakeFailure?, _ host: Host) -> String {
        switch failure {
        case .tls(let failure): "\(host.text) showed no certificate: \(failure)"
        case .broken(let reason): "the connection broke in the TLS handshake: \(reason)"
        case .timedOut: "\(host.text) took too long for the TLS handshake"
        case .interrupted, nil: "\(host.text) showed no certificate"
        }
    }
}
