// A client that says nothing inside a CONNECT: is it slow, or does the server speak first?
import LupinCore
import LupinIO

extension DownstreamConnection {
    /// Connects to the target of a client that says nothing, and waits for who speaks first.
    ///
    /// A program that is slow to begin, on a busy machine above all, must not lose its rules and
    /// meet a certificate that it was not told to trust.
    ///
    /// - Returns: `.silent` when the server spoke, or nobody: the exchange is connected to it.
    /// - Throws: Why there is no connection, for a client that stays silent.
    func lookAgain(_ exchange: Exchange, _ origin: Origin) async throws(LupinError) -> Inside {
        let patience = exchange.snapshot.waits.tls
        do throws(LupinError) {
            try await exchange.reachSilently(origin)
            let deadline = resources.loop.deadline(in: patience)
            switch try await waitForFirstWord(exchange, until: deadline) {
            case .server: return .silent
            case .client: break
            case .nobody:
                exchange.forgetReach()
                return .gone
            }
        } catch {
            if error == .clientGone || error == .stopping { return .gone }
            // A client that speaks TLS after all is told inside, by its own exchange.
            exchange.dropUpstream()
            let inside = await look(for: patience, exchange.snapshot)
            if case .silent = inside { throw error }
            exchange.forgetReach()
            return inside
        }
        exchange.forgetReach()
        return await look(for: patience, exchange.snapshot)
    }

    private enum Speaker { case client, server, nobody }

    /// Whose bytes come first; when both stay silent, the server's turn is next.
    /// - Throws: The server left without a word.
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
    /// Connects to a target without a word to the client, which has its 200 already.
    fileprivate func reachSilently(_ origin: Origin) async throws(LupinError) {
        let hop = try tunnelHop(to: origin)
        markHopByHop(for: hop)
        _ = try await reach(origin, by: hop, tellsClient: false)
    }

    /// Whether the server that was reached has said something.
    fileprivate var hasServerSpoken: Bool {
        get throws(LupinError) {
            guard let channel = (upstream as? UpstreamHTTP1)?.channel else { return true }
            if channel.isQuiet(asksKernel: true) { return false }
            // Last words may lie behind the end that is known already.
            if channel.input.isEmpty { _ = try? channel.receive() }
            guard channel.input.isEmpty else { return true }
            throw LupinError(
                .connectionTerminated,
                detail: "The server closed the connection before anything was said."
            )
        }
    }

    /// The client speaks itself: what was done for a server that might is undone.
    fileprivate func forgetReach() {
        dropUpstream()
        attempts = []
    }

    /// Joins a silent client with the server that was reached for it.
    func joinSpeakingServer() async -> Ending {
        do throws(LupinError) {
            record.mode = .tunnel
            if let upstream { try await join(upstream) }
        } catch {
            endUnanswered(error)
        }
        return finish()
    }
}
