// Requests that are, byte for byte, like one that was answered from memory a moment ago.
import LupinCore
import LupinIO
import LupinWire

/// An answer from memory that an equal request gets, too.
///
/// Caches are asked for the same in the same words. What was worked out for the first of two equal
/// requests (target, plan, key, selection, freshness, head, record) holds for the second as long as
/// the answer would read the same: by the same rules, of the same stored response, at the same age
/// in seconds.
final class RepeatedHit {
    /// The request's head as it came.
    let head: [UInt8]
    let response: CachedResponse
    /// The answer's head as it went out.
    let answer: [UInt8]
    let content: StoredPiece
    let record: RepeatedRecord
    private let age: Int64
    /// The client said that the request is its last.
    let isLast: Bool

    init(_ made: Made, head: [UInt8], answer: [UInt8], _ record: RepeatedRecord) {
        self.head = head
        self.answer = answer
        self.record = record
        (response, content, age, isLast) = (made.response, made.content, made.age, made.isLast)
    }

    /// What an exchange answered with.
    struct Made {
        let response: CachedResponse
        let content: StoredPiece
        /// In seconds, as its head says it.
        let age: Int64
        let isLast: Bool
    }

    /// Whether an equal request of `client` gets the same now.
    func holds(for client: Visitor, in resources: WorkerResources) -> Bool {
        record.holds(in: resources) && response.isSole && client.mayRepeat
            && response.facts.freshness.age(at: resources.wallNow) == age
    }
}

/// What one worker remembers of such requests.
final class RepeatedHits {
    private var hits: [Int: RepeatedHit] = [:]
    private var passes: [Int: RepeatedPass] = [:]
    /// Digests of heads that were answered so once: only what comes again is worth remembering.
    private var expected = [Int](repeating: 0, count: expectedMax)

    /// Bytes of their contents, which memory may have dropped.
    private var bytes = 0

    private static let hitsMax = 512
    private static let bytesMax = 8 << 20
    private static let expectedMax = 1024

    /// What an equal request was answered with.
    func hit(_ head: Span<UInt8>, _ digest: Int) -> RepeatedHit? {
        guard let hit = hits[digest] else { return nil }
        let known = hit.head
        return known.span.begins(head) ? hit : nil
    }

    /// Whether a head with that digest was answered so before.
    func isExpected(_ digest: Int) -> Bool { expected[digest & (Self.expectedMax - 1)] == digest }

    func expect(_ digest: Int) { expected[digest & (Self.expectedMax - 1)] = digest }

    func remember(_ hit: RepeatedHit, _ digest: Int) {
        forget(digest)
        bytes += hit.content.count
        // What was dropped elsewhere must not live on here for long.
        if hits.count >= Self.hitsMax || bytes > Self.bytesMax {
            forgetAll()
            bytes = hit.content.count
        }
        hits[digest] = hit
    }

    func forget(_ digest: Int) {
        guard let hit = hits.removeValue(forKey: digest) else { return }
        bytes -= hit.content.count
    }

    /// Forgets everything: other rules hold.
    func forgetAll() {
        hits = [:]
        passes = [:]
        bytes = 0
    }

    /// What is known of an equal request that was of no use to the cache a moment ago.
    func pass(
        _ head: Span<UInt8>,
        _ digest: Int,
        by snapshot: Snapshot,
        now: UInt64
    ) -> RepeatedPass? {
        guard let pass = passes[digest] else { return nil }
        let known = pass.head
        guard pass.snapshot === snapshot, now < pass.until, known.span.begins(head) else {
            passes[digest] = nil
            return nil
        }
        return pass
    }

    func remember(_ pass: RepeatedPass, _ digest: Int) {
        if passes.count >= Self.hitsMax { passes = [:] }
        passes[digest] = pass
    }
}

/// A request whose response could not be stored.
///
/// For a moment equal ones go past the cache, as if there were none: they cost what they cost
/// without it. What could be stored by then is a moment late.
final class RepeatedPass {
    let head: [UInt8]
    let snapshot: Snapshot
    /// In microseconds of the loop's clock.
    let until: UInt64
    let status: PassedStatus

    /// How long it holds.
    static let time = Duration.seconds(1)

    init(_ status: PassedStatus, head: [UInt8], until: UInt64, by snapshot: Snapshot) {
        self.status = status
        self.head = head
        self.until = until
        self.snapshot = snapshot
    }
}

/// Why a request goes past the cache, in the words of `Cache-Status`.
struct PassedStatus: Equatable {
    /// For the record.
    let text: String
    /// For the client; nil where the policy tells it nothing.
    let field: String?
}

extension Exchange {
    /// What an equal request may be answered with; nil where more than its head decides, or
    /// somebody wants to see every exchange.
    func repeatable(
        _ use: CacheUse,
        _ cached: CachedResponse,
        _ content: StoredContent,
        _ served: CachedAnswer
    ) -> RepeatedHit.Made? {
        guard isDelivered, enclosure == nil, downstream is DownstreamHTTP1,
            downstream.mayPersist || downstream.isLastRequest,
            request.method == .get, request.version == .http11, framing.isEmpty, !expectsContinue,
            client.user == nil, snapshot.repeatsRequests, resources.shared.interceptor == nil,
            stages == nil, !isObserved, logLevel == .exchange, !hasMoved
        else { return nil }
        guard let plan, plan.isPassive, use.attachments.isEmpty, plan.responseSteps.isEmpty,
            plan.throttle == ThrottleSettings(), use.policy.isShared, use.isPlain,
            use.candidates.count == 1, content.pieces.count == 1,
            served.head.status == cached.facts.status, served.contentLength == content.count
        else { return nil }
        return RepeatedHit.Made(
            response: cached,
            content: content.pieces[0],
            age: cached.facts.freshness.age(at: resources.wallNow),
            isLast: downstream.isLastRequest
        )
    }
}

extension CacheUse {
    /// A fresh response was served, and the request had no wishes about that.
    fileprivate var isPlain: Bool {
        guard status.forward == nil, status.detail == nil, (status.ttl ?? 0) > 0 else {
            return false
        }
        return asked.directives == RequestDirectives() && asked.ranges == nil
            && asked.bypass == nil && base.head.fields.first(.ifNoneMatch) == nil
            && base.head.fields.first(.ifModifiedSince) == nil
    }
}
