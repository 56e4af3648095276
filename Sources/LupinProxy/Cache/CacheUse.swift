// What one exchange knows of the cache: its key, the responses found, and its Cache-Status.
package import LupinCaching
import LupinCore
import LupinIO
package import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire

/// One exchange's use of the cache.
package final class CacheUse {
    let planned: PlannedCache
    let key: CacheKey
    /// What lupin attaches to the request, including credentials that are still to come.
    var attachments: Attachments
    let asked: CacheRequest
    /// The request for the look-up: after the steps of rules, before credentials and conditions.
    let base: AdaptedRequest
    /// The keys of the look-up: the request's own, and general ones if the policy obeys
    /// No-Vary-Search.
    private(set) var keys: [CacheKey]
    private(set) var candidates: [CachedResponse] = []
    var selected: Int?
    package internal(set) var conditions: ValidationConditions?
    /// The request to the origin for bytes that complete the held parts.
    var completion: PartCompletion?
    /// The stored response that a newer one outdates.
    var outdated: CachedResponse?
    /// When the stored response may be served although it is stale.
    var mayServe = StaleUse.nothing
    /// The fetch that this exchange leads.
    var flight: Flight?
    var status = CacheStatus.forward(.miss)
    /// The status as last reported.
    private(set) var text = ""
    /// The URLs that may have the response that came; nil for that of the request.
    private(set) var variance: NoVarySearch?
    /// When the request went out, in microseconds since 1970.
    var requestTimeUs: Int64 = 0
    /// The fields of a 304 whose cookies are for this client alone.
    var cookies: FieldSection?
    /// What it has to do with the shared store; nil where it has nothing.
    var shared: SharedUse?

    package init(
        _ planned: PlannedCache,
        _ key: CacheKey,
        _ asked: CacheRequest,
        _ base: AdaptedRequest,
        _ attachments: Attachments
    ) {
        self.planned = planned
        self.attachments = attachments
        self.key = key
        keys = [key]
        self.asked = asked
        self.base = base
    }

    var policy: CachePolicy { planned.policy }

    /// The stored response for the request; nil when there is none.
    var found: CachedResponse? { selected.map { candidates[$0] } }

    /// Looks up the responses stored by now; `others` are responses that had no room in memory.
    func look(in store: ResponseStore, besides others: [CachedResponse] = []) {
        // Found aside: a change in place, and every look at them is checked for exclusive access.
        var found: [CachedResponse]
        if planned.policy.obeysNoVarySearch {
            keys = store.keys(of: key)
            found = store.responses(keys)
        } else {
            found = store.responses(key)
        }
        if !others.isEmpty {
            found += others.filter { other in !found.contains { $0.id == other.id } }
        }
        if !found.allSatisfy({ $0.isSeen(by: planned) }) {
            found = found.map { $0.seen(by: planned) }
        }
        candidates = found
        if found.count == 1 {
            selected = base.selects(found[0]) ? 0 : nil
        } else {
            selected = StoredResponse.selected(from: facts, for: base.head.fields)
        }
    }

    /// Finds a response that was just stored for the request; nil where it had no room.
    func find(_ stored: CachedResponse?, in store: ResponseStore) {
        guard let stored, candidates.isEmpty, !planned.policy.obeysNoVarySearch else {
            return look(in: store, besides: stored.map { [$0] } ?? [])
        }
        candidates = [stored]
        selected = 0
    }

    /// Notes that a stored response is served.
    func noteHit(ttl: Int64) {
        status = .hit(ttl: ttl)
        if shared?.isSource == true { status.detail = "shared" }
    }

    /// Notes that no response in memory is for the request.
    func noteMiss() {
        status = .forward(candidates.isEmpty ? .uriMiss : .varyMiss)
        if !candidates.isEmpty { prepareValidation() }
    }

    /// Sets the conditions of the request to the origin.
    func prepareValidation() {
        conditions = StoredResponse.conditions(
            for: facts,
            selected: selected,
            request: base.head,
            asked: asked
        )
    }

    /// Discards everything that was found.
    func forget() {
        candidates = []
        selected = nil
        conditions = nil
        completion = nil
        mayServe = .nothing
    }

    /// Reads from a response which URLs may have it.
    ///
    /// A part that completes `held` and has no No-Vary-Search is for the URLs of `held`.
    func hear(_ head: ResponseHead, completing held: CachedResponse? = nil) {
        guard planned.policy.obeysNoVarySearch else { return }
        let says = head.fields.value(of: "No-Vary-Search") != nil
        variance = held == nil || says ? NoVarySearch(of: head.fields) : held?.key.variance
    }

    /// The key under which the response that came is stored.
    var storingKey: CacheKey { variance.map(key.generalized) ?? key }

    /// Reports that a stored response was found by No-Vary-Search, if it was.
    func noteFinding(_ cached: CachedResponse) {
        if cached.key.isGeneral, status.detail == nil { status.detail = "no-vary-search" }
    }

    /// The facts of all candidates; a copy, for callers that need them together.
    var facts: [StoredResponse] { candidates.map(\.facts) }

    /// The text of the status, which is reported from now on.
    func renderStatus() -> String {
        text = status.text()
        return text
    }

    /// The value of `Cache-Status`; nil when the policy sends none.
    var field: String? {
        guard let name = planned.policy.statusName else { return nil }
        return name == CachePolicy.defaultStatusName ? text : status.text(name: name)
    }
}

/// What the cache asks of a request. Here, since a getter of its head returns a copy.
extension AdaptedRequest {
    func key(partition: String) -> CacheKey {
        CacheKey(request.head, to: request.origin, partition: partition)
    }

    /// By what a parent proxy knows the client; nil where it doesn't.
    var clientLogin: String? {
        guard let parent = hop.connectedParent else { return nil }
        guard hop.leavesProxyAuthorization else { return parent.identity }
        return request.head.fields.value(of: .proxyAuthorization)
    }

    /// Whether it logs in to its connection.
    var logsInToConnection: Bool { request.head.logsInToConnection }

    func cacheRequest(hasContent: Bool, isKeyed: Bool) -> CacheRequest {
        CacheRequest(request.head, hasContent: hasContent, isKeyed: isKeyed)
    }

    /// The fields of a QUERY, which say how its content is read.
    var queryFields: FieldSection { request.head.fields }

    func separations(_ planned: PlannedCache, isUserKnown: Bool) -> [CacheSeparation] {
        planned.policy.separations(of: request.head.fields, isUserKnown: isUserKnown)
    }

    /// Whether the fields that select a stored response are those of this request.
    func selects(_ cached: CachedResponse) -> Bool { cached.isSelected(by: request.head.fields) }

    /// Whether the response of another machine may answer the request.
    func isAnswered(by told: StoredResponse, _ policy: CachePolicy) -> Bool {
        told.answers(request.head.fields, policy: policy)
    }

    /// The answer of a stored response, in its whole or in part.
    func answer(
        of cached: CachedResponse,
        _ asked: CacheRequest,
        nowUs: Int64,
        boundary: @autoclosure () -> String
    ) -> CachedAnswer {
        cached.answer(to: request.head, asked, nowUs: nowUs, boundary: boundary())
    }
}
