// One refresh of a token for all machines that share it: a refresh token is used by one of them.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis
import LupinTLS

/// A token's state in the store that machines share, sealed with the team's key.
struct SharedGrant {
    private let client: RedisClient
    private let slot: ParkingSlot
    private let state: [UInt8]
    private let lease: [UInt8]

    /// How long other machines leave a refresh to the one that announced it, in ms; it covers a
    /// slow token server.
    private static let leaseTime: RedisArgument = "60000"
    /// How long a state is kept, in ms: longer than usual refresh tokens live unused.
    private static let lifetimeMs: Int64 = 90 * 24 * 3_600_000
    private static let pause = Duration.milliseconds(25)

    /// `identity` is what the token is issued for; other machines have it, too.
    init(_ client: RedisClient, identity: String, slot: ParkingSlot) {
        self.client = client
        self.slot = slot
        (state, lease) = client.tier.tokenKeys(of: identity)
    }

    enum Turn {
        /// Another machine has refreshed it.
        case refreshed(SharedTokenState, Credential)
        /// This machine refreshes it, from the last state there is.
        case ours(SharedTokenState?)
        /// The store does not answer.
        case alone
        /// Another machine does not come to an end.
        case busy
    }

    /// Waits until another machine has refreshed the token, or this one may.
    ///
    /// - Parameters:
    ///   - known: The serial of the state that this machine has used.
    ///   - generation: Its generation; a state with a smaller one is older, so that the server has
    ///     lost something, or somebody put it back.
    ///   - deadline: In µs of the loop's clock.
    /// - Returns: What to do.
    func turn(
        after known: String?,
        _ generation: UInt64,
        until deadline: UInt64
    ) async -> Turn {
        var commands = RedisCommands("SET", [.bytes(lease), "f", "NX", "PX", Self.leaseTime])
        commands.add("GET", [.bytes(state)])
        commands.add("PTTL", [.bytes(state)])
        while true {
            guard let replies = await answer(commands) else { return .alone }
            let isOurs: Bool
            switch replies[0] {
            case .status: isOurs = true
            case .nothing: isOurs = false
            default: return .alone
            }
            let found = replies[1].bytes.flatMap { client.tier.token(in: $0, under: state) }
            if let found, found.serial != known, found.generation >= generation {
                let remaining = replies[2].number ?? 0
                let elapsed = max(0, Self.lifetimeMs.subtractingSaturated(remaining))
                if let credential = found.credential(elapsed, before: slot.loop.now) {
                    if isOurs { release() }
                    return .refreshed(found, credential)
                }
            }
            if isOurs { return .ours(found) }
            guard slot.loop.now < deadline else { return .busy }
            let until = min(slot.loop.deadline(in: Self.pause), deadline)
            if await slot.park(for: .cut, until: until).meets(.cut) { return .busy }
        }
    }

    /// Stores a new state and ends the turn.
    /// - Returns: Whether the store has it.
    func keep(_ new: SharedTokenState) async -> Bool {
        guard let sealed = client.tier.sealed(new, under: state) else { return false }
        var commands = RedisCommands(
            "SET",
            [.bytes(state), .bytes(sealed), "PX", .number(Self.lifetimeMs)]
        )
        commands.add("DEL", [.bytes(lease)])
        guard let replies = await answer(commands) else { return false }
        if case .status = replies[0] { return true }
        return false
    }

    /// Ends the turn without a new state.
    func release() { client.ask(RedisCommands("DEL", [.bytes(lease)]), about: lease) }

    /// Asks again for a while: a server that is away for a moment must not cost a refresh token.
    private func answer(_ commands: RedisCommands) async -> [RedisReply]? {
        let deadline = slot.loop.deadline(in: Self.timeout)
        while true {
            if let replies = await ask(commands) { return replies }
            guard slot.loop.now < deadline else { return nil }
            let until = min(slot.loop.deadline(in: Self.pause), deadline)
            if await slot.park(for: .cut, until: until).meets(.cut) {
                slot.wake(.cut)
                return nil
            }
        }
    }

    private static let timeout = Duration.seconds(2)

    private func ask(_ commands: RedisCommands) async -> [RedisReply]? {
        guard let query = client.ask(commands, about: state, slot: slot) else { return nil }
        var isCut = false
        // The next one that waits must see it, too.
        defer { if isCut { slot.wake(.cut) } }
        return await client.replies(to: query) { until in
            let woken = await slot.park(for: .answered | .cut, until: until)
            if woken.meets(.cut) { isCut = true }
        }
    }
}

extension OAuth2Grant {
    /// Refreshes for all machines, or takes what another one got.
    func runShared(_ client: RedisClient) async throws(TokenFailure) -> Credential {
        let seed = try source.refreshToken?.text(content) ?? ""
        let digest = MessageDigest.sha256(seed.utf8Span.span).prefix(16)
        let seedName = digest.map { String($0, radix: 16) }.joined(separator: ".")
        let identity = [
            source.url.description, source.clientID, source.grant.rawValue, source.scope ?? "",
            seedName,
        ].joined(separator: "\n")
        let shared = SharedGrant(client, identity: identity, slot: slot)
        let (known, generation) = store.sharedState(of: definition)
        let deadline = resources.loop.deadline(in: Self.timeout)
        switch await shared.turn(after: known, generation, until: deadline) {
        case .refreshed(let state, let credential):
            note(state, seed)
            return credential
        case .ours(let last):
            do throws(TokenFailure) {
                return try await refresh(from: last, seed, shared)
            } catch {
                shared.release()
                throw error
            }
        case .alone:
            // With the refresh token that was last heard of: it may still be the current one.
            return try await refresh(from: nil, seed, shared)
        case .busy:
            let reason = "another machine does not finish its refresh"
            let host = source.url.origin.hostAndPort
            throw TokenFailure(.unreachable(host: host, reason: reason))
        }
    }

    private func refresh(
        from last: SharedTokenState?,
        _ seed: String,
        _ shared: SharedGrant
    ) async throws(TokenFailure) -> Credential {
        let (_, generation) = store.sharedState(of: definition)
        if let last, last.generation >= generation { note(last, seed) }
        let current = store.refreshToken(of: definition, seed: seed)
        var next = current
        let credential = try await fetch(current) { next = $0 }
        guard case .token(let token) = credential.content else { return credential }
        let life = credential.expiresAt.map {
            Int64(clamping: ($0 &- credential.obtainedAt) / 1_000_000)
        }
        let state = SharedTokenState(
            serial: resources.nextID().text,
            generation: max(last?.generation ?? 0, generation) &+ 1,
            accessToken: token,
            expiresIn: life,
            refreshToken: next
        )
        note(state, seed)
        if await !shared.keep(state) {
            resources.shared.logger.error(
                "other machines don't have the new \"\(definition.name)\": the shared store failed"
            )
        }
        return credential
    }

    /// Remembers what came from other machines, and hides it.
    private func note(_ state: SharedTokenState, _ seed: String) {
        resources.shared.secrets.add(state.accessToken)
        if let token = state.refreshToken {
            resources.shared.secrets.add(token)
            store.keep(refreshToken: token, of: definition, seed: seed)
        }
        store.note(sharedSerial: state.serial, state.generation, of: definition)
    }
}
