// Handles a client that sends nothing inside a CONNECT: it is slow, or the server speaks first.
import LupinCore
import LupinIO
import LupinUpstream

extension DownstreamConnection {
    /// Connects to the target of a silent client, and waits until either side sends bytes.
    ///
    /// A program that starts slowly, above all on a busy machine, must not bypass its rules or get
    /// a certificate that it does not trust.
    ///
    /// - Returns: `.silent` when the server spoke, or neither side: the exchange is connected then.
    /// - Throws: Why there is no connection, for a client that stays silent.
    func lookAgain(_ exchange: Exchange, _ origin: Origin) async throws(LupinError) -> Inside {
        let timeout = exchange.snapshot.timeouts.tls
        do throws(LupinError) {
            try await exchange.reachSilently(origin)
            let deadline = resources.loop.deadline(in: timeout)
            switch try await waitForFirstWord(exchange, until: deadline) {
            case .server: return .silent
            case .client: break
            case .nobody:
                exchange.forgetWay()
                return .gone
            }
        } catch {
            if error == .clientGone || error == .stopping { return .gone }
            // A client that starts TLS after all gets the error inside, in its own exchange.
            exchange.dropUpstream()
            let inside = await look(for: timeout, exchange.snapshot)
            if case .silent = inside { throw error }
            exchange.forgetWay()
            return inside
        }
        exchange.forgetWay()
        return await look(for: timeout, exchange.snapshot)
    }

    private enum Speaker { case client, server, nobody }

    /// The side whose bytes come first; the server when both stay silent.
    /// - Throws: When the server closes without sending bytes.
    private func waitForFirstWord(
        _ exchange: Exchange,
        until deadline: UInt64
    ) async throws(LupinError) -> Speaker {
        while true {
            guard let received = try? channel.receive(), received != .end else { return .nobody }
            if received != .blocked || !channel.input.isEmpty { return .client }
            if try exchange.hasServerSpoken || resources.loop.now >= deadline { return .server }
            if resources.isDraining { return .nobody }
            let woken = await slot.park(
                for: .downstreamReadable | .upstreamReadable | .draining | .cut,
                until: deadline
            )
            if woken.meets(.cut) { return .nobody }
        }
    }
}

extension Exchange {
    /// Connects to a target without a response to the client, which has its 200 already.
    fileprivate func reachSilently(_ origin: Origin) async throws(LupinError) {
        let hop = try tunnelHop(to: origin)
        markHopByHop(for: hop)
        _ = try await reach(origin, by: hop, tellsClient: false)
    }

    /// Whether the connected server has sent bytes.
    fileprivate var hasServerSpoken: Bool {
        get throws(LupinError) {
            guard let channel = (upstream as? UpstreamHTTP1)?.channel else { return true }
            if channel.isQuiet(asksKernel: true) { return false }
            // Last bytes may precede the end that is known already.
            if channel.input.isEmpty { _ = try? channel.receive() }
            guard channel.input.isEmpty else { return true }
            throw LupinError(
                .connectionTerminated,
                detail: "The server closed the connection before anything was said."
            )
        }
    }

    /// Joins a silent client with the server that was connected for it.
    func joinSpeakingServer(of origin: Origin) async -> Ending {
        do throws(LupinError) {
            record.mode = .tunnel
            if let upstream { try await carry(upstream, to: origin, mayIntercept: false) }
        } catch {
            endUnanswered(error)
        }
        return finish()
    }
}
