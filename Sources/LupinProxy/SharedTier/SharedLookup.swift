// How the cache looks into the store that machines share, and agrees with them on one fetch.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

/// The state of an exchange in the shared store.
struct SharedUse {
    let keys: SharedTier.Keys
    /// The fields that select among the URL's responses there; nil where there is only one.
    var variants: (names: [String], series: [UInt8])?
    /// This exchange has announced its fetch to the others.
    var hasLease = false
    /// The response that is served came from the shared store.
    var isSource = false
    /// The look under way, or the last one.
    var query: RedisQuery?
    /// Whether it has found a response; nil while that is not known.
    var isFound: Bool?
}

/// Responses whose times differ by less than this are the same response.
private let sameTimeUs: Int64 = 100_000
/// The value of a lease: a machine fetches, or there is no need to wait since the response can't be
/// shared.
private let claimed = Array("f".utf8)
private let unshared: RedisArgument = "n"
private let firstPause = Duration.milliseconds(5)
private let pauseMax = Duration.milliseconds(50)
/// How long others are told that a URL's responses are not shared, in ms.
private let unsharedTime: RedisArgument = "120000"

extension CacheHandler {
    /// The shared store, if the response may lie there: it belongs to no user, and its key has no
    /// secret.
    var sharedTier: RedisClient? {
        guard let redis = client.resources.redis, use.asked.bypass == nil, use.variance == nil,
            use.planned.mayBeShared, use.key.isForAll
        else { return nil }
        if use.shared == nil { use.shared = SharedUse(keys: redis.tier.keys(of: use.key)) }
        return redis
    }

    /// Copies the response from the shared store into memory, and looks again.
    /// - Returns: Whether there was one.
    func loadFromShared(_ redis: RedisClient) async throws(LupinError) -> Bool {
        if let key = use.shared?.keys.entry, use.shared?.query == nil {
            use.shared?.query = client.look(for: key, redis)
        }
        while true {
            if let isFound = hear(redis) { return isFound }
            guard let query = use.shared?.query else { return false }
            _ = try await replies(to: query, redis)
            // There will be no answer in time.
            if query.isOpen { use.shared?.query = nil }
        }
    }

    /// The result of a query for a key of the shared store.
    enum SharedFinding {
        case nothing
        /// A response, which is in memory now.
        case taken
        /// The URL has several responses; the one for the request is under this key.
        case variant([UInt8])
    }

    private func follow(
        _ found: SharedFinding,
        _ redis: RedisClient
    ) async throws(LupinError) -> Bool {
        switch found {
        case .nothing: return false
        case .taken: return true
        case .variant(let key):
            guard let replies = try await ask(redis.tier.look(key), about: key, redis),
                case .taken = take(replies, under: key, redis.tier)
            else { return false }
            return true
        }
    }

    /// Takes the response in the replies, if the team has signed it and it hasn't expired.
    func take(
        _ replies: [RedisReply]?,
        under key: [UInt8],
        _ tier: SharedTier
    ) -> SharedFinding {
        guard let replies, replies.count >= 2, let bytes = replies[0].bytes, !bytes.isEmpty,
            let keys = use.shared?.keys
        else { return .nothing }
        guard let entry = SharedEntry(bytes, under: key, tier.signature) else {
            tier.count { $0.rejected += 1 }
            return .nothing
        }
        let remaining = replies[1].number ?? 0
        guard let elapsed = entry.elapsedMs(remainingMs: remaining, nowUs: nowUs)
        else { return .nothing }
        switch entry.content {
        case .response(let facts, let body):
            let writtenAt = entry.writtenAtUs
            let isTaken = take(facts.span, body, writtenAt, elapsed, tier)
            return isTaken ? .taken : .nothing
        case .variants(let names, let series):
            guard key == keys.entry else { return .nothing }
            use.shared?.variants = (names, series)
            let variant = VaryKey(names: names, request: use.base.head.fields)
            return .variant(tier.key(of: variant, series, keys))
        }
    }

    /// Stores what was found in memory, unless it is no newer than what is there.
    private func take(
        _ facts: Span<UInt8>,
        _ body: [UInt8],
        _ writtenAtUs: Int64,
        _ elapsedMs: Int64,
        _ tier: SharedTier
    ) -> Bool {
        let policy = use.planned.policy
        guard
            let told = StoredResponse(
                encoded: facts,
                length: UInt64(body.count),
                policy: policy
            ),
            told.sharingRefusal == nil, use.base.isAnswered(by: told, policy)
        else { return false }
        // The writer had it for a while before it had all of it.
        let receivedUs = told.freshness.responseTimeUs
        let heldMs = max(0, writtenAtUs.subtractingSaturated(receivedUs)) / 1000
        let ageMs = elapsedMs.addingSaturated(heldMs)
        let response = told.received(ageMs, before: nowUs)
        let time = response.freshness.responseTimeUs
        guard !tier.dropping.isDropped(use.key, since: time) else { return false }
        if let known = use.found?.responseTimeUs {
            // Our own response comes back with a time that is a little off.
            if known.addingSaturated(sameTimeUs) >= time { return false }
        }
        let cached = store.insert(
            use.key,
            nil,
            response,
            StoredContent(whole: body),
            by: use.planned,
            mayLieOnDisk: store.disk != nil && mayLieOnDisk(response),
            requestTimeUs: nil
        )
        use.shared?.isSource = true
        use.find(cached, in: store)
        return use.selected != nil
    }

    /// The replies; nil when the store can't answer in time, or is left alone.
    private func ask(
        _ commands: RedisCommands,
        about key: [UInt8],
        _ redis: RedisClient
    ) async throws(LupinError) -> [RedisReply]? {
        guard let query = redis.ask(commands, about: key, slot: client.slot) else { return nil }
        return try await replies(to: query, redis)
    }

    private func replies(
        to query: RedisQuery,
        _ redis: RedisClient
    ) async throws(LupinError) -> [RedisReply]? {
        try await redis.replies(to: query) { until throws(LupinError) in
            try await client.park(.sharedStore, for: .answered, until: until)
        }
    }

    // MARK: One fetch for all machines

    /// Announces this fetch to the other machines; if one of them already fetches, waits for its
    /// response.
    /// - Returns: Whether the response has come.
    func awaitOthers(_ redis: RedisClient) async throws(LupinError) -> Bool {
        guard let keys = use.shared?.keys else { return false }
        let settings = redis.tier.settings
        let deadline = min(loop.deadline(in: settings.collapseWait), client.totalDeadline)
        var commands = RedisCommands(
            "SET",
            [
                .bytes(keys.lease), .bytes(claimed), "NX", "PX",
                .number(settings.lease.milliseconds),
            ]
        )
        commands += redis.tier.look(keys.entry)
        commands.add("GET", [.bytes(keys.lease)])
        var pause = firstPause
        while true {
            guard let replies = try await ask(commands, about: keys.lease, redis),
                replies.count == commands.count
            else { return false }
            // The store takes no values now, so no response will come.
            if case .failure = replies[0] { return false }
            if case .status = replies[0] { use.shared?.hasLease = true }
            // Look again even with the lease: another fetch may have ended since the last look.
            let found = take(Array(replies[1...2]), under: keys.entry, redis.tier)
            if try await follow(found, redis), isServable {
                redis.tier.count { $0.collapsed += 1 }
                return true
            }
            if use.shared?.hasLease == true { return false }
            // Its response can't be shared, or the server refuses claims.
            if replies[3].bytes != claimed, replies[3] != .nothing { return false }
            if loop.now >= deadline { return false }
            let until = min(loop.deadline(in: pause), deadline)
            while loop.now < until {
                try await client.park(.otherMachine, for: .answered, until: until)
            }
            pause = min(pause * 2, pauseMax)
        }
    }

    /// Whether the selected response answers the request without the origin.
    var isServable: Bool {
        guard let cached = use.found else { return false }
        return cached.reuse(for: use.asked, by: use.planned, nowUs: nowUs).isServed
    }

    /// Gives the lease back, if there is one; `isAlone` means that no response can be shared.
    func endLease(isAlone: Bool) {
        guard let shared = use.shared, shared.hasLease, let redis = client.resources.redis
        else { return }
        use.shared?.hasLease = false
        let lease = shared.keys.lease
        let command =
            isAlone
            ? RedisCommands("SET", [.bytes(lease), unshared, "PX", unsharedTime])
            : RedisCommands("DEL", [.bytes(lease)])
        redis.ask(command, about: lease)
    }

    // MARK: Storing

    /// Gives a response to the other machines, if it may be shared and is not too long.
    ///
    /// Otherwise drops what they have, since this one is newer.
    func share(_ facts: StoredResponse, _ content: StoredContent?) {
        guard sharedTier != nil else { return }
        if let content, isShared(facts, content) { return }
        endLease(isAlone: true)
        unshare()
    }

    /// Drops the response of the other machines: the origin has sent a newer one.
    func unshare() {
        guard let redis = sharedTier, let entry = use.shared?.keys.entry else { return }
        redis.ask(RedisCommands("DEL", [.bytes(entry)]), about: entry)
    }

    /// How long other machines may keep a response, in milliseconds; 0 for not at all.
    func sharingLifetimeMs(_ facts: StoredResponse, length: UInt64) -> Int64 {
        guard let settings = sharedTier?.tier.settings,
            facts.sharingRefusal == nil, mayLieOnDisk(facts),
            length <= UInt64(settings.objectBytesMax)
        else { return 0 }
        return facts.sharingLifetimeMs(
            nowUs: nowUs,
            policy: use.policy,
            max: settings.lifetimeMax
        )
    }

    private func isShared(_ facts: StoredResponse, _ content: StoredContent) -> Bool {
        guard let redis = sharedTier, let keys = use.shared?.keys,
            !redis.tier.dropping.isDropped(use.key, since: use.requestTimeUs)
        else { return false }
        let (tier, now) = (redis.tier, nowUs)
        let lifetime = sharingLifetimeMs(facts, length: content.count)
        guard lifetime > 0 else { return false }
        let response = SharedEntry(
            .response(facts: facts.encoded[...], body: content.joined),
            writtenAtUs: now,
            lifetimeMs: lifetime
        )
        var commands = RedisCommands()
        var key = keys.entry
        if !facts.vary.names.isEmpty {
            var variants = use.shared?.variants ?? ([], [])
            let isKnown = variants.names == facts.vary.names
            if !isKnown {
                variants = (facts.vary.names, Array(client.resources.nextID().text.utf8))
            }
            use.shared?.variants = variants
            var entry = response
            entry.content = .variants(names: variants.names, series: variants.series)
            // A known series that was dropped meanwhile must not come back, with its old variants.
            commands.add("SET", setting(keys.entry, entry, tier) + (isKnown ? ["XX"] : []))
            key = tier.key(of: facts.vary, variants.series, keys)
        }
        commands.add("SET", setting(key, response, tier))
        guard redis.ask(commands, about: keys.entry) != nil else { return false }
        tier.count { $0.stored += 1 }
        return true
    }

    /// The arguments of a SET.
    private func setting(
        _ key: [UInt8],
        _ entry: SharedEntry,
        _ tier: SharedTier
    ) -> [RedisArgument] {
        let value = entry.encoded(under: key, tier.signature)
        return [.bytes(key), .bytes(value), "PX", .number(entry.lifetimeMs)]
    }
}
