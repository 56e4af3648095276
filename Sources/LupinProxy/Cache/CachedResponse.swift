// One stored response as all workers see it.
import LupinCore
import Synchronization

/// A stored response: immutable, shared by all workers.
final class CachedResponse: Sendable {
    let id: UInt64
    let key: CacheKey
    let facts: StoredResponse
    /// By which policy the facts were made.
    let policy: CachePolicy
    /// nil where it lies on disk alone.
    let content: StoredContent?
    /// Where it lies on disk; nil for what is kept in memory only.
    let place: DiskPlace?

    init(
        id: UInt64,
        key: CacheKey,
        facts: StoredResponse,
        policy: CachePolicy,
        content: StoredContent?,
        place: DiskPlace?
    ) {
        self.id = id
        self.key = key
        self.facts = facts
        self.policy = policy
        self.content = content
        self.place = place
    }

    /// What it costs besides its content.
    static let overheadBytes = 1024

    /// What it takes of the store's room.
    var bytes: Int {
        Int(clamping: content?.count ?? 0) + facts.fields.storage.count + Self.overheadBytes
    }

    /// The same as another policy sees it.
    func seen(by policy: CachePolicy) -> CachedResponse {
        if policy == self.policy { return self }
        let seen = StoredResponse(
            facts.head,
            vary: facts.vary,
            content: facts.content,
            policy: policy,
            requestTimeUs: facts.requestTimeUs,
            responseTimeUs: facts.freshness.responseTimeUs
        )
        return renewed(seen, policy)
    }

    /// The same with other facts about it.
    func renewed(_ facts: StoredResponse, _ policy: CachePolicy) -> CachedResponse {
        CachedResponse(
            id: id,
            key: key,
            facts: facts,
            policy: policy,
            content: content,
            place: place
        )
    }

    /// The same with its content in memory, under another number.
    func held(_ content: StoredContent, id: UInt64) -> CachedResponse {
        CachedResponse(
            id: id,
            key: key,
            facts: facts,
            policy: policy,
            content: content,
            place: place
        )
    }
}
