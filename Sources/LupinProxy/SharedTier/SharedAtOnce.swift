// Looks into the store that machines share, for exchanges without a task and with one.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

extension Exchange: RedisAsker {
    /// Asks the shared store for a response that is not in memory.
    /// - Returns: Whether an answer will come; if not, nothing was done.
    func askOthers(_ use: CacheUse) -> Bool {
        let store = resources.shared.responses
        // The disk comes first, and only a task can ask it. A task also decides where memory has a
        // response that may be served stale or validated.
        guard use.asked.mayForward, use.selected == nil, store.disk == nil,
            let client = sharedTier(for: use), let key = use.shared?.keys.entry
        else { return false }
        guard client.openConnection(for: key) != nil, leads(use, store) else {
            use.shared = nil
            return false
        }
        noteMiss(use)
        use.shared?.query = look(for: key, client)
        return true
    }

    /// Whether no other exchange fetches the response, now that this one may.
    private func leads(_ use: CacheUse, _ store: ResponseStore) -> Bool {
        guard use.asked.isCollapsible, use.planned.policy.isCollapsing,
            let (flight, isLeader) = store.join(use.key, now: slot.loop.now)
        else { return true }
        if isLeader { use.flight = flight }
        return isLeader
    }

    /// Asks for what the shared store has under a key; without a task by an open connection alone.
    func look(for key: [UInt8], _ client: RedisClient) -> RedisQuery? {
        guard isTaskless else { return client.ask(client.tier.look(key), about: key, slot: slot) }
        return client.openConnection(for: key).map { connection in
            client.look(for: key, by: connection, self, until: taskDeadline)
        }
    }

    /// When the exchange needs a task, in microseconds of the loop's clock.
    private var taskDeadline: UInt64 {
        let (taskDeadline, isOverflow) =
            begun.addingReportingOverflow(WorkerResources.tasklessTime)
        return isOverflow ? .max : taskDeadline
    }

    func queryNeedsTask(_ query: RedisQuery) { promote(because: .lateness) }

    func queryIsOver(_ query: RedisQuery) {
        // A query that fails at once is noticed by the caller that sent it.
        if caching?.shared?.query === query { goOn() }
    }

    /// Serves what the shared store has answered.
    func hearOthers() throws(LupinError) -> Need? {
        guard isTaskless, let use = caching, let client = resources.redis else { return .store }
        guard let isFound = hear(use, client) else { return hasClientLeft ? .clientLeft : .bytes }
        guard isFound, try serveFromMemory(use) else { return .store }
        return nil
    }

    /// Takes what the shared store has answered into memory; of several responses that for the
    /// request is asked for.
    /// - Returns: Whether there is one; nil while an answer is to come.
    func hear(_ use: CacheUse, _ client: RedisClient) -> Bool? {
        if let isFound = use.shared?.isFound { return isFound }
        var isFound = false
        if let query = use.shared?.query {
            if query.isOpen { return nil }
            switch take(query.replies, under: query.key ?? [], use, client.tier) {
            case .variant(let key):
                use.shared?.query = look(for: key, client)
                return hear(use, client)
            case .taken: isFound = true
            case .nothing: break
            }
        }
        client.tier.count(isHit: isFound)
        use.shared?.isFound = isFound
        return isFound
    }
}
