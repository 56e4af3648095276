// Whether a stored response answers a request, and what has to happen before (RFC 9111 §4).

/// What a stored response may do for a request.
package enum ReuseDecision: Sendable, Equatable {
    /// It is served; age and time to live in seconds.
    case fresh(age: Int64, ttl: Int64)
    /// It is stale, and this is what it may be used for; `ttl` is 0 or less.
    case stale(age: Int64, ttl: Int64, mayServe: StaleUse)
    /// Somebody wants it validated, stale or not.
    case validate(ValidationReason, age: Int64, ttl: Int64, mayServe: StaleUse)
    /// Only parts are held, and these are missing; empty where nobody knows what.
    case incomplete(missing: [Range<UInt64>])
    /// Nothing stored answers such a request.
    case bypass(BypassReason)
    /// Only a stored response would do, and this one doesn't: 504 (§5.2.1.7).
    case gatewayTimeout
}

/// What a response that should be validated may be used for all the same.
package enum StaleUse: Sendable, Equatable {
    /// Nothing: without an answer of the origin the client gets 502 or 504.
    case nothing
    /// The client takes it as it is (max-stale).
    case now
    /// It is served now, and validated in the background (RFC 5861 §3).
    case whileRevalidating
    /// It is served if the origin fails: see `StaleWindows.isError` (RFC 5861 §4).
    case onError
}

/// Why a response that may be fresh is validated.
package enum ValidationReason: String, Sendable, Hashable, CaseIterable {
    /// `no-cache` of the request, or Pragma.
    case requestNoCache = "request-no-cache"
    case requestMaxAge = "request-max-age"
    case requestMinFresh = "request-min-fresh"
    /// `no-cache` of the response.
    case noCache = "no-cache"

    /// Whether the client wants it; else the origin does.
    package var isAsked: Bool { self != .noCache }
}

extension StoredResponse {
    /// Decides about the response for a request whose nominated fields it matches; `nowUs` is in
    /// microseconds since 1970.
    package func reuse(
        for request: CacheRequest,
        policy: CachePolicy,
        nowUs: Int64
    ) -> ReuseDecision {
        if let reason = request.bypass {
            return request.mayForward ? .bypass(reason) : .gatewayTimeout
        }
        if let missing = missing(for: request) {
            return request.mayForward ? .incomplete(missing: missing) : .gatewayTimeout
        }
        let decision = decide(for: request.directives, policy, nowUs)
        if request.mayForward { return decision }
        switch decision {
        case .fresh, .stale(_, _, .now), .stale(_, _, .whileRevalidating): return decision
        default: return .gatewayTimeout
        }
    }

    private func decide(
        for asked: RequestDirectives,
        _ policy: CachePolicy,
        _ nowUs: Int64
    ) -> ReuseDecision {
        let ageUs = freshness.ageUs(at: nowUs)
        let (age, ttl) = (freshness.age(at: nowUs), freshness.remaining(at: nowUs))
        if asked.isNoCache {
            return .validate(.requestNoCache, age: age, ttl: ttl, mayServe: .nothing)
        }
        if mustValidate { return .validate(.noCache, age: age, ttl: ttl, mayServe: .nothing) }
        let isTooOld = asked.maxAge.map { $0 == 0 || ageUs > $0.microsecondsSaturated } ?? false
        let windows = StaleWindows(self, policy: policy, asked: asked)
        guard freshness.isFresh(at: nowUs) else {
            let staleUs = freshness.stalenessUs(at: nowUs)
            return .stale(
                age: age,
                ttl: ttl,
                mayServe: windows.use(staleUs: staleUs, asked, isTooOld: isTooOld)
            )
        }
        // RFC 8246 §2.1: a reload doesn't reach what is immutable; only no-cache does.
        if isTooOld, !directives.flags.contains(.immutable) {
            let use = windows.ifError > 0 ? StaleUse.onError : .nothing
            return .validate(.requestMaxAge, age: age, ttl: ttl, mayServe: use)
        }
        let remainingUs = freshness.lifetime.microsecondsSaturated.subtractingSaturated(ageUs)
        if let least = asked.minFresh, remainingUs < least.microsecondsSaturated {
            let use = windows.ifError > 0 ? StaleUse.onError : .nothing
            return .validate(.requestMinFresh, age: age, ttl: ttl, mayServe: use)
        }
        return .fresh(age: age, ttl: ttl)
    }

    /// What the client's own conditions make of a response of which something is missing: that it
    /// has the same one already needs none of the bytes.
    ///
    /// nil where they say something else.
    package func reuseUnchanged(
        for request: CacheRequest,
        _ head: RequestHead,
        policy: CachePolicy,
        nowUs: Int64
    ) -> ReuseDecision? {
        isNotModified(for: head.fields) ? decide(for: request.directives, policy, nowUs) : nil
    }

    /// The ranges that a request gets if they are there; nil where it is to have the whole.
    func wanted(by request: CacheRequest) -> RangeRequest? {
        request.ifRange.map(holdsFor) ?? true ? request.ranges : nil
    }

    /// What a partial response lacks for a request; nil if it lacks nothing.
    func missing(for request: CacheRequest) -> [Range<UInt64>]? {
        if content.isComplete { return nil }
        // Of a head nothing is missing but, at most, the length.
        if request.isHead { return content.completeLength == nil ? [] : nil }
        let asked = wanted(by: request)
        guard let length = content.completeLength else {
            // Ranges that say where they end can be found without a length.
            let known = asked?.parts.map { part -> Range<UInt64>? in
                guard case .from(let first, let last?) = part else { return nil }
                return first..<(last + 1)
            }
            let isHeld = known?.allSatisfy { $0.map(content.holds) ?? false } ?? false
            return isHeld ? nil : []
        }
        guard let asked else { return content.missing(in: 0..<length) }
        let missing = asked.resolved(length: length).flatMap { content.missing(in: $0) }
        return missing.isEmpty ? nil : missing
    }
}

/// How long after its end of life a response may still be served, in seconds (RFC 5861).
package struct StaleWindows: Sendable, Equatable {
    package private(set) var whileRevalidate: Int64 = 0
    package private(set) var ifError: Int64 = 0
    /// The origin forbids to serve it stale at all (RFC 9111 §4.2.4).
    package let isForbidden: Bool

    /// What response and policy allow; the larger one counts, unless the origin forbids both.
    ///
    /// In a shared cache s-maxage forbids it as proxy-revalidate does (§5.2.2.10).
    package init(_ directives: ResponseDirectives, policy: CachePolicy) {
        self.init(directives, policy: policy, isNoCache: directives.flags.contains(.noCache))
    }

    /// The same, with what the request allows.
    init(_ stored: StoredResponse, policy: CachePolicy, asked: RequestDirectives) {
        self.init(stored.directives, policy: policy, isNoCache: stored.mustValidate)
        if !isForbidden { ifError = max(ifError, asked.staleIfError ?? 0) }
    }

    private init(_ directives: ResponseDirectives, policy: CachePolicy, isNoCache: Bool) {
        let flags = directives.flags
        let isForbiddenToShared =
            policy.isShared && (flags.contains(.proxyRevalidate) || directives.sMaxAge != nil)
        isForbidden = isNoCache || flags.contains(.mustRevalidate) || isForbiddenToShared
        guard !isForbidden else { return }
        let allowed = policy.staleWhileRevalidate.components.seconds
        whileRevalidate = max(allowed, directives.staleWhileRevalidate ?? 0)
        ifError = max(policy.staleIfError.components.seconds, directives.staleIfError ?? 0)
    }

    fileprivate func use(
        staleUs: Int64,
        _ asked: RequestDirectives,
        isTooOld: Bool
    ) -> StaleUse {
        if isForbidden { return .nothing }
        if let most = asked.maxStale, staleUs <= most.microsecondsSaturated { return .now }
        // A client that wants a fresh response waits for it: max-age, and min-fresh all the more.
        let isDemanding = isTooOld || asked.minFresh != nil
        if !isDemanding, whileRevalidate > 0, staleUs <= whileRevalidate.microsecondsSaturated {
            return .whileRevalidating
        }
        return ifError > 0 && staleUs <= ifError.microsecondsSaturated ? .onError : .nothing
    }

    /// Whether a status is an error that a stale response may stand in for (RFC 5861 §4); that
    /// there was no answer at all is another.
    package static func isError(_ status: UInt16) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}
