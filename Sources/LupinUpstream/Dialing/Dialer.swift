// From a next hop to a connected socket: names, deny list, addresses.
package import LupinCore
import LupinIO
package import LupinPolicy

/// Why there is no connection.
package struct DialFailure: Error {
    package var error: LupinError
    package var isEveryAddressRefused = false
}

/// Resolves and connects.
struct Dialer {
    private let worker: any UpstreamWorker
    private let slot: ParkingSlot
    private let policy: UpstreamPolicy
    private let client: IPAddress

    init(
        _ worker: any UpstreamWorker,
        _ slot: ParkingSlot,
        _ policy: UpstreamPolicy,
        client: IPAddress
    ) {
        self.worker = worker
        self.slot = slot
        self.policy = policy
        self.client = client
    }

    /// Connects to `hop`; returns the connection and the times that `dns` and `tcp` took.
    ///
    /// `deadline` is the exchange's own, besides `timeouts.dns` and `timeouts.connect`;
    /// `interruptions` end the attempt, since no connection is made for a client that left.
    func dial(
        _ hop: NextHop,
        timeouts: ConnectTimeouts,
        until deadline: UInt64,
        isHostFromFile: Bool,
        interruptions: WakeReasons
    ) async throws(DialFailure) -> (channel: Channel, timing: Timing) {
        // Every connection begins here: none is made while a tape is played, not even for a name.
        if let isolation = worker.isolation { throw DialFailure(error: isolation) }
        let loop = worker.loop
        var timing = Timing()
        let started = loop.now
        let addresses = try await resolve(
            hop,
            until: min(deadline, loop.deadline(in: timeouts.dns)),
            interruptions
        )
        if hop.host.address == nil { timing.dns = Int64(loop.now &- started) }
        let allowed = try check(addresses, hop, isHostFromFile: isHostFromFile)
        let connecting = loop.now
        let channel = try await connect(
            allowed,
            hop,
            until: min(deadline, loop.deadline(in: timeouts.connect)),
            interruptions
        )
        timing.tcp = Int64(loop.now &- connecting)
        return (channel, timing)
    }

    private func resolve(
        _ hop: NextHop,
        until deadline: UInt64,
        _ interruptions: WakeReasons
    ) async throws(DialFailure) -> [IPAddress] {
        if let address = hop.host.address { return [address] }
        if let addresses = hop.host.loopbackAddresses { return addresses }
        let host = hop.host.text
        do throws(ResolveFailure) {
            if let answer = worker.resolver.cached(host) { return try answer.get() }
            return try await worker.resolver.resolve(
                host,
                timeToLive: policy.settings.dnsTTL,
                slot: slot,
                until: deadline,
                interruptions: interruptions
            )
        } catch {
            let failure = resolveError(error, host).blaming(hop.connectedParent?.text)
            throw DialFailure(error: failure)
        }
    }

    private func resolveError(_ failure: ResolveFailure, _ host: String) -> LupinError {
        switch failure {
        case .notFound:
            return LupinError(
                .dnsError,
                host: host,
                detail: "No such host: \(host).",
                retry: .never
            )
        case .failed(let reason):
            return LupinError(.dnsError, host: host, detail: reason)
        case .timedOut:
            return LupinError(
                .dnsTimeout,
                host: host,
                detail: "No answer within timeouts.dns."
            )
        case .busy:
            return LupinError(
                .dnsError,
                host: host,
                detail: "Too many look-ups wait already.",
                side: .lupin
            )
        case .interrupted:
            return worker.isCut ? .stopping : .clientGone
        }
    }

    /// Checks every address after DNS resolution; only checked addresses are connected to, which
    /// prevents DNS rebinding.
    private func check(
        _ addresses: [IPAddress],
        _ hop: NextHop,
        isHostFromFile: Bool
    ) throws(DialFailure) -> [IPAddress] {
        var refusal: LupinError?
        let allowed = addresses.filter { address in
            guard
                let denial = policy.access.denial(
                    of: address,
                    port: hop.port,
                    host: hop.host,
                    client: client,
                    isHostFromFile: isHostFromFile || hop.isThroughParent
                )
            else { return true }
            refusal = denial
            return false
        }
        if allowed.isEmpty, let refusal { throw DialFailure(error: refusal) }
        return allowed
    }

    private func connect(
        _ addresses: [IPAddress],
        _ hop: NextHop,
        until deadline: UInt64,
        _ interruptions: WakeReasons
    ) async throws(DialFailure) -> Channel {
        let channel: Channel
        do throws(ConnectFailure) {
            channel = try await reach(addresses, hop, until: deadline, interruptions)
        } catch {
            throw DialFailure(
                error: connectError(error, hop).blaming(hop.connectedParent?.text),
                isEveryAddressRefused: error.isEveryAddressRefused
            )
        }
        guard policy.access.deniesSelf,
            let denial = await worker.denial(of: channel, to: hop, by: policy.access, in: slot)
        else { return channel }
        channel.close()
        throw DialFailure(error: denial)
    }

    /// Connects; without a descriptor it closes what is idle and tries once more.
    private func reach(
        _ addresses: [IPAddress],
        _ hop: NextHop,
        until deadline: UInt64,
        _ interruptions: WakeReasons
    ) async throws(ConnectFailure) -> Channel {
        var isSecondTry = false
        while true {
            var connector = Connector(on: worker.loop, slot: slot)
            do throws(ConnectFailure) {
                return try await connector.connect(
                    to: addresses,
                    port: hop.port,
                    until: deadline,
                    interruptions: interruptions
                )
            } catch {
                guard error.isOutOfDescriptors, !isSecondTry, worker.shedIdle()
                else { throw error }
                isSecondTry = true
            }
        }
    }

    private func connectError(_ failure: ConnectFailure, _ hop: NextHop) -> LupinError {
        let host = hop.text
        if failure.interruption.contains(.cut) { return .stopping }
        // Or the connection is no longer needed: another attempt was first.
        if failure.interruption.meets(.downstreamClosed | .outrun) { return .clientGone }
        if failure.isTimeout {
            return LupinError(
                .connectionTimeout,
                host: host,
                detail: "No connection within timeouts.connect."
            )
        }
        let words = failure.errors.last?.message ?? ""
        if failure.isExhausted {
            return LupinError(.connectionLimitReached, host: host, detail: words)
        }
        if failure.isUnroutable {
            return LupinError(.destinationIPUnroutable, host: host, detail: words)
        }
        let isRefused = failure.errors.contains { $0.isRefusal }
        return LupinError(
            isRefused ? .connectionRefused : .destinationUnavailable,
            host: host,
            detail: words
        )
    }
}

extension AccessPolicy {
    /// Checks the deny list for a target behind a parent proxy: names that the parent resolves
    /// can't be checked, but a literal address can.
    package func check(
        _ origin: Origin,
        behind hop: NextHop,
        client: IPAddress,
        isHostFromFile: Bool
    ) throws(LupinError) {
        guard hop.isThroughParent, let address = origin.host.address else { return }
        let denial = denial(
            of: address,
            port: origin.port,
            host: origin.host,
            client: client,
            isHostFromFile: isHostFromFile
        )
        if let denial { throw denial }
    }
}
