// Looks into the store that machines share, without a wait.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

extension CacheHandler {
    /// Asks the shared store for a response that is not in memory.
    /// - Returns: Whether an answer will come; if not, nothing was done.
    func askOthers() -> Bool {
        // The disk comes first, and only a task can ask it. A task also decides where memory has a
        // response that may be served stale or validated.
        guard use.asked.mayForward, use.found == nil, store.disk == nil,
            let redis = sharedTier, let key = use.shared?.keys.entry
        else { return false }
        guard redis.openConnection(for: key) != nil, leads else {
            use.shared = nil
            return false
        }
        use.noteMiss()
        use.shared?.query = client.look(for: key, redis)
        return true
    }

    /// Whether no other exchange fetches the response, now that this one may.
    private var leads: Bool {
        guard use.asked.isCollapsible, use.policy.isCollapsing,
            let (flight, isLeader) = store.join(use.key, now: loop.now)
        else { return true }
        if isLeader { use.flight = flight }
        return isLeader
    }

    /// Takes what the shared store has answered into memory; of several responses that for the
    /// request is asked for.
    /// - Returns: Whether there is one; nil while an answer is to come.
    func hear(_ redis: RedisClient) -> Bool? {
        if let isFound = use.shared?.isFound { return isFound }
        var isFound = false
        if let query = use.shared?.query {
            if query.isOpen { return nil }
            switch take(query.replies, under: query.key ?? [], redis.tier) {
            case .variant(let key):
                use.shared?.query = client.look(for: key, redis)
                return hear(redis)
            case .taken: isFound = true
            case .nothing: break
            }
        }
        redis.tier.count(isHit: isFound)
        use.shared?.isFound = isFound
        return isFound
    }
}
