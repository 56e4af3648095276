// The facts of a stored response apart from its body: enough to decide about every request.

package import LupinCore
package import LupinPolicy

/// The head of a stored response and values derived from it.
///
/// All values that a hit needs are computed once, when the response is stored or read from disk.
/// They depend on the policy, so they are computed again for another policy.
package struct StoredResponse: Sendable {
    package let status: UInt16
    /// As stored: see `FieldSection.stored`.
    package let fields: FieldSection
    package let directives: ResponseDirectives
    package private(set) var freshness: Freshness
    /// nil when there is no valid one.
    package let etag: EntityTag?
    /// Seconds since 1970.
    package let lastModified: Int64?
    package let vary: VaryKey
    package let content: HeldContent
    /// When its request was sent, in microseconds since 1970.
    package private(set) var requestTimeUs: Int64
    /// The fields of the answer that is the whole response, except Age; they share the bytes of
    /// `fields`.
    let whole: FieldSection
    /// The content of that answer; none when it is empty.
    let wholeRanges: [Range<UInt64>]

    /// Computes the facts of a response; nil when its Vary lets no request have it.
    ///
    /// - Parameters:
    ///   - head: As received, or as read from the store.
    ///   - vary: The fields that it was selected by. For a new one: `VaryKey(of:request:policy:)`
    ///     with the request of the look-up.
    ///   - content: The part of the body that is held.
    ///   - policy: The policy of the cache.
    ///   - requestTimeUs: When the request was sent, in microseconds since 1970.
    ///   - responseTimeUs: When the response was received.
    ///   - isApart: The head shares no memory with a received one.
    package init(
        _ head: ResponseHead,
        vary: VaryKey,
        content: HeldContent,
        policy: CachePolicy,
        requestTimeUs: Int64,
        responseTimeUs: Int64,
        isApart: Bool = false
    ) {
        let directives = ResponseDirectives(head.fields, targeted: policy.targeted)
        freshness = Freshness(
            of: head,
            directives: directives,
            policy: policy,
            requestTimeUs: requestTimeUs,
            responseTimeUs: responseTimeUs
        )
        // Parts that make up the whole are stored as the whole (RFC 9111 §3.4).
        status = head.status == 206 && content.isComplete ? 200 : head.status
        let receivedAt = responseTimeUs / 1_000_000
        var fields = head.fields.stored(
            directives,
            policy: policy,
            receivedAt: receivedAt,
            isApart: isApart
        )
        if status != head.status { fields.remove(name: "Content-Range") }
        let length = content.completeLength ?? 0
        wholeRanges = length > 0 ? [0..<length] : []
        whole = fields.whole(status, length: length)
        self.fields = fields
        self.directives = directives
        etag = EntityTag(of: head.fields)
        lastModified = head.fields.moment(.lastModified, now: receivedAt)
        self.vary = vary
        self.content = content
        self.requestTimeUs = requestTimeUs
    }

    /// The same with all times moved by so many microseconds: from another machine's clock to this
    /// one's.
    package consuming func moved(by microseconds: Int64) -> StoredResponse {
        let (freshness, requestTimeUs) = (freshness, requestTimeUs)
        var moved = self
        moved.freshness = freshness.moved(by: microseconds)
        moved.requestTimeUs = requestTimeUs.addingSaturated(microseconds)
        return moved
    }

    /// The stored head.
    package var head: ResponseHead {
        var head = ResponseHead(status: status)
        head.fields = fields
        return head
    }

    /// The status of the answer that is the whole response.
    ///
    /// HEAD gets it even when only parts are held.
    var wholeStatus: UInt16 { StoredResponse.wholeStatus(status) }

    static func wholeStatus(_ status: UInt16) -> UInt16 { status == 206 ? 200 : status }

    /// Whether the origin demands validation of every use; a `ttl` of the policy overrides that.
    package var mustValidate: Bool {
        directives.flags.contains(.noCache) && freshness.source != .ttl
    }

    /// The one of `candidates`, all under one key, that a request gets: of those whose nominated
    /// fields match, the latest by Date (RFC 9111 §4, §4.1), and of equal ones the last received.
    package static func selected(
        from candidates: [StoredResponse],
        for request: FieldSection
    ) -> Int? {
        var best: Int?
        for i in candidates.indices where candidates[i].vary.matches(request) {
            if let current = best, candidates[current].isLater(than: candidates[i]) { continue }
            best = i
        }
        return best
    }

    func isLater(than other: StoredResponse) -> Bool {
        (freshness.date, freshness.responseTimeUs)
            > (other.freshness.date, other.freshness.responseTimeUs)
    }
}

/// The caching demands of a request; parsed once and used for every candidate.
package struct CacheRequest: Sendable, Equatable {
    package var directives: RequestDirectives
    /// Why no stored response answers it; nil when one may.
    package var bypass: BypassReason?
    package var isHead: Bool
    /// nil when there is no range, or the method isn't GET (RFC 9110 §14.2).
    package var ranges: RangeRequest?
    /// nil when there is none.
    package var ifRange: IfRange?

    /// Parses a request; `hasContent` means that a body follows, which GET does not define.
    ///
    /// `isKeyed` means that the key has all that distinguishes the content of a QUERY.
    package init(_ head: RequestHead, hasContent: Bool, isKeyed: Bool = false) {
        directives = RequestDirectives(head.fields)
        isHead = head.method == .head
        ranges = head.method == .get ? RangeRequest(of: head.fields) : nil
        ifRange = ranges == nil ? nil : IfRange(of: head.fields)
        let isApart = head.method == .query ? !isKeyed : hasContent
        bypass = BypassReason(head, directives, hasContent: isApart)
    }

    /// Whether the request may share one fetch with others (single flight): it wants the whole
    /// response, and makes no demands of its own.
    package var isCollapsible: Bool {
        bypass == nil && !isHead && ranges == nil && mayForward && !directives.isNoCache
            && directives.maxAge == nil && directives.minFresh == nil
    }

    /// Whether the request may go to the origin; when false it gets 504 (RFC 9111 §5.2.1.7).
    package var mayForward: Bool { !directives.isOnlyIfCached }
}

/// Why a request is not answered from the store.
package enum BypassReason: String, Sendable, Hashable, CaseIterable {
    /// Neither GET, HEAD nor QUERY, or a request about the whole server.
    case method
    /// The request has content that is no part of the key.
    case content = "request-content"
    case upgrade
    /// The client forbids storing: it gets no stored response either.
    case requestNoStore = "request-no-store"
    /// If-Match and If-Unmodified-Since are left to the origin (RFC 9111 §4.3.2).
    case precondition
    /// The client has logged in to its connection, so responses on it are its own; only the peer
    /// knows the user.
    case login

    init?(_ head: RequestHead, _ directives: RequestDirectives, hasContent: Bool) {
        let isAnswerable = head.method == .get || head.method == .head || head.method == .query
        if !isAnswerable || head.form == .asterisk {
            self = .method
        } else if hasContent {
            self = .content
        } else if head.fields.requestedUpgrade != nil {
            self = .upgrade
        } else if directives.isNoStore {
            self = .requestNoStore
        } else if head.fields.first(.ifMatch) != nil
            || head.fields.first(.ifUnmodifiedSince) != nil
        {
            self = .precondition
        } else {
            return nil
        }
    }
}
