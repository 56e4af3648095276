// Fetches the certificates that an origin presents, by one handshake without a verdict.
package import LupinCore
package import LupinIO
package import LupinPolicy
package import LupinTLS

/// Why no certificates were received, as a sentence for people.
package struct OriginProbeFailure: Error, Sendable {
    package let sentence: String
}

/// Fetches an origin's certificates directly: without parent proxy or rules.
package enum OriginProbe {
    /// Connects, performs the handshake and closes.
    ///
    /// Must be called on the executor's loop.
    /// - Parameters:
    ///   - host: The host to connect to, and the server name of the handshake (SNI).
    ///   - port: The port that it listens on.
    ///   - settings: `upstream.tls`, for versions.
    ///   - timeout: The time limit for the look-up, the connection and the handshake each.
    ///   - executor: The executor of the caller's loop.
    /// - Returns: The certificates that were presented, valid or not.
    /// - Throws: Why there are none.
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
        // A server that demands a client certificate has sent its own before it refuses.
        if let certificates = shown.certificates { return certificates }
        throw OriginProbeFailure(sentence: sentence(failure, host))
    }

    /// The certificates that the verification callback received.
    private final class Shown {
        var certificates: PeerCertificates?
    }

    private static func addresses(
        of host: Host,
        _ slot: ParkingSlot,
        _ timeout: Duration
    ) async throws(OriginProbeFailure) -> [IPAddress] {
        if let address = host.address { return [address] }
        if let addresses = host.loopbackAddresses { return addresses }
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
            let endpoint = "\(host.uriText):\(port)"
            if error.isTimeout {
                throw OriginProbeFailure(sentence: "\(endpoint) doesn't answer")
            }
            let reason = error.errors.first?.message ?? "no address"
            throw OriginProbeFailure(sentence: "cannot connect to \(endpoint): \(reason)")
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
