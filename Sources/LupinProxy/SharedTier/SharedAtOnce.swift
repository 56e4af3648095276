// Looks into the store that machines share for an exchange that has no task.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

/// A look into the shared store that an exchange without a task waits for.
final class SharedWait {
    let use: CacheUse
    let target: KnownTarget
    let client: RedisClient
    /// The look under way, or the last one.
    fileprivate(set) var question: RedisQuestion
    /// Whether a response was found; nil while the answer is still to come.
    fileprivate(set) var isFound: Bool?

    fileprivate init(
        _ use: CacheUse,
        _ target: KnownTarget,
        _ client: RedisClient,
        _ question: RedisQuestion
    ) {
        self.use = use
        self.target = target
        self.client = client
        self.question = question
    }
}

extension Exchange: RedisAsker {
    /// Asks the shared store for a response that is not in memory.
    /// - Returns: Whether an answer will come; if not, nothing was done.
    func askOthers(_ use: CacheUse, _ target: KnownTarget) -> Bool {
        let store = resources.shared.responses
        // The disk comes first, and only a task can ask it. A task also decides where memory has a
        // response that may be served stale or validated.
        guard use.asked.mayForward, use.selected == nil, store.disk == nil,
            let client = sharedTier(for: use), let key = use.shared?.keys.entry
        else { return false }
        guard let connection = client.openConnection(for: key), leads(use, store) else {
            use.shared = nil
            return false
        }
        caching = use
        noteMiss(use)
        let question = client.look(for: key, by: connection, self, until: patience)
        let wait = SharedWait(use, target, client, question)
        sharedWait = wait
        if !question.isOpen { goOn(from: wait) }
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

    /// When the exchange needs a task, in microseconds of the loop's clock.
    private var patience: UInt64 {
        let (patience, isOverflow) =
            begun.addingReportingOverflow(WorkerResources.tasklessTime)
        return isOverflow ? .max : patience
    }

    func questionNeedsTask(_ question: RedisQuestion) { promote(because: .lateness) }

    func questionIsOver(_ question: RedisQuestion) {
        // A query that fails at once is noticed by the caller that sent it.
        if let sharedWait, sharedWait.question === question { goOn(from: sharedWait) }
    }

    private func goOn(from wait: SharedWait) {
        guard isTaskless else { return }
        let (use, client, question) = (wait.use, wait.client, wait.question)
        switch take(question.replies, under: question.key ?? [], use, client.tier) {
        case .variant(let key):
            if let connection = client.openConnection(for: key) {
                wait.question = client.look(for: key, by: connection, self, until: patience)
                if wait.question.isOpen { return }
            }
            wait.isFound = false
        case .taken: wait.isFound = true
        case .nothing: wait.isFound = false
        }
        client.tier.count(isHit: wait.isFound == true)
        do throws(LupinError) {
            if wait.isFound == true {
                sharedWait = nil
                if try serveFromMemory(use) { return }
            }
            promote(from: .shared(wait), because: .store)
        } catch {
            promote(from: .failure(error), because: .failure)
        }
    }
}
