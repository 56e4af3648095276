// One stored response as all workers see it.
import LupinCaching
import LupinCore
import LupinPolicy
import Synchronization

/// A stored response: immutable, shared by all workers.
final class CachedResponse: Sendable {
    let id: UInt64
    let key: CacheKey
    let facts: StoredResponse
    /// The cache by whose policy the facts were computed.
    private let planned: PlannedCache
    /// nil when it is on disk only.
    let content: StoredContent?
    /// Its place on disk; nil when it is kept in memory only.
    let diskHandle: DiskHandle?

    init(
        id: UInt64,
        key: CacheKey,
        facts: StoredResponse,
        by planned: PlannedCache,
        content: StoredContent?,
        diskHandle: DiskHandle?
    ) {
        self.id = id
        self.key = key
        self.facts = facts
        self.planned = planned
        self.content = content
        self.diskHandle = diskHandle
    }

    /// The policy by which the facts were computed.
    var policy: CachePolicy { planned.policy }

    /// Its memory besides the content.
    static let overheadBytes = 1024

    /// The bytes that it takes of the store's room; its URL stands in the key and in the listing.
    var bytes: Int {
        Int(clamping: content?.count ?? 0) + facts.fields.storage.count
            + facts.vary.encodedValues.count + 2 * key.text.utf8.count + Self.overheadBytes
    }

    /// When it was received, in microseconds since 1970.
    var responseTimeUs: Int64 { facts.freshness.responseTimeUs }

    // Here, since callers that asked `facts` would copy them.

    /// Whether its facts were computed by the policy.
    func isSeen(by planned: PlannedCache) -> Bool {
        planned === self.planned || planned.policy == self.planned.policy
    }

    /// Whether the fields that select it are those of a request.
    func isSelected(by request: FieldSection) -> Bool { facts.vary.matches(request) }

    /// See ``StoredResponse/reuse(for:policy:nowUs:)``.
    func reuse(
        for asked: CacheRequest,
        by planned: PlannedCache,
        nowUs: Int64
    ) -> ReuseDecision {
        facts.reuse(for: asked, policy: planned.policy, nowUs: nowUs)
    }

    /// The answer to a request, in its whole or in part.
    func answer(
        to request: RequestHead,
        _ asked: CacheRequest,
        nowUs: Int64,
        boundary: @autoclosure () -> String
    ) -> CachedAnswer {
        facts.served(facts.answer(to: request, asked), nowUs: nowUs, boundary: boundary())
    }

    /// The same response under another policy.
    func seen(by planned: PlannedCache) -> CachedResponse {
        if isSeen(by: planned) { return self }
        let seen = StoredResponse(
            facts.head,
            vary: facts.vary,
            content: facts.content,
            policy: planned.policy,
            requestTimeUs: facts.requestTimeUs,
            responseTimeUs: facts.freshness.responseTimeUs
        )
        return renewed(seen, planned)
    }

    /// The same response with other facts.
    func renewed(_ facts: StoredResponse, _ planned: PlannedCache) -> CachedResponse {
        CachedResponse(
            id: id,
            key: key,
            facts: facts,
            by: planned,
            content: content,
            diskHandle: diskHandle
        )
    }

    /// The same response with its content in memory, under another ID.
    func held(_ content: StoredContent, id: UInt64) -> CachedResponse {
        CachedResponse(
            id: id,
            key: key,
            facts: facts,
            by: planned,
            content: content,
            diskHandle: diskHandle
        )
    }
}
