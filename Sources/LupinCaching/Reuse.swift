// Decides whether a stored response answers a request, and what must happen first (RFC 9111 §4).

package import LupinCore
package import LupinPolicy

/// How a stored response may be used for a request.
package enum ReuseDecision: Sendable, Equatable {
    /// It is served; age and time to live in seconds.
    case fresh(age: Int64, ttl: Int64)
    /// It is stale, and `mayServe` says how it may be used; `ttl` is 0 or less.
    case stale(age: Int64, ttl: Int64, mayServe: StaleUse)
    /// Client or origin demands validation, whether or not it is stale.
    case validate(ValidationReason, age: Int64, ttl: Int64, mayServe: StaleUse)
    /// Only parts are held, and these are missing; empty when it is unknown what is missing.
    case incomplete(missing: [Range<UInt64>])
    /// No stored response answers the request.
    case bypass(BypassReason)
    /// The client accepts only a stored response, and this one doesn't fit: 504 (§5.2.1.7).
    case gatewayTimeout
}

extension ReuseDecision {
    /// Whether the response is served without asking the origin first.
    package var isServed: Bool {
        switch self {
        case .fresh, .stale(_, _, .now), .stale(_, _, .whileRevalidating): true
        case .stale, .validate, .incomplete, .bypass, .gatewayTimeout: false
        }
    }
}

/// How a response that should be validated may be used without validation.
package enum StaleUse: Sendable, Equatable {
    /// Not at all: if the origin does not respond, the client gets 502 or 504.
    case nothing
    /// It is served as it is, since the client accepts that (max-stale).
    case now
    /// It is served now, and validated in the background (RFC 5861 §3).
    case whileRevalidating
    /// It is served if the origin fails: see `StaleWindows.isError` (RFC 5861 §4).
    case onError
}

/// Why a response is validated although it may be fresh.
package enum ValidationReason: String, Sendable, Hashable, CaseIterable {
    /// `no-cache` of the request, or Pragma.
    case requestNoCache = "request-no-cache"
    case requestMaxAge = "request-max-age"
    case requestMinFresh = "request-min-fresh"
    /// `no-cache` of the response.
    case noCache = "no-cache"

    /// Whether the client demands it; if not, the origin does.
    package var isAsked: Bool { self != .noCache }
}

extension StoredResponse {
    /// Decides about the response for a request whose nominated fields match; `nowUs` is in
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
        return decision.isServed ? decision : .gatewayTimeout
    }

    /// Whether requests that say nothing about caching are answered without asking the origin.
    ///
    /// Then requests that arrive during the fetch may wait for it (§4: a cache can collapse
    /// requests where it may use the response for them).
    package func answersOthers(policy: CachePolicy, nowUs: Int64) -> Bool {
        decide(for: RequestDirectives(), policy, nowUs).isServed
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
        guard freshness.isFresh(at: nowUs) else {
            let windows = StaleWindows(self, policy: policy, asked: asked)
            let staleUs = freshness.stalenessUs(at: nowUs)
            return .stale(
                age: age,
                ttl: ttl,
                mayServe: windows.use(staleUs: staleUs, asked, isTooOld: isTooOld)
            )
        }
        // RFC 8246 §2.1: a reload does not validate an immutable response; only no-cache does.
        if isTooOld, !directives.flags.contains(.immutable) {
            let use = useOnError(policy, asked)
            return .validate(.requestMaxAge, age: age, ttl: ttl, mayServe: use)
        }
        let remainingUs = freshness.lifetime.microsecondsSaturated.subtractingSaturated(ageUs)
        if let least = asked.minFresh, remainingUs < least.microsecondsSaturated {
            let use = useOnError(policy, asked)
            return .validate(.requestMinFresh, age: age, ttl: ttl, mayServe: use)
        }
        return .fresh(age: age, ttl: ttl)
    }

    private func useOnError(_ policy: CachePolicy, _ asked: RequestDirectives) -> StaleUse {
        StaleWindows(self, policy: policy, asked: asked).ifError > 0 ? .onError : .nothing
    }

    /// Evaluates the client's own conditions for a partial response: when the client has the same
    /// representation already, no missing bytes are needed.
    ///
    /// Returns nil when the conditions don't match.
    package func reuseUnchanged(
        for request: CacheRequest,
        _ head: RequestHead,
        policy: CachePolicy,
        nowUs: Int64
    ) -> ReuseDecision? {
        isNotModified(for: head.fields) ? decide(for: request.directives, policy, nowUs) : nil
    }

    /// The ranges to send if they are held; nil when the request gets the whole.
    func wanted(by request: CacheRequest) -> RangeRequest? {
        request.ifRange.map(holdsFor) ?? true ? request.ranges : nil
    }

    /// The ranges that a partial response lacks for a request; nil when it lacks nothing.
    func missing(for request: CacheRequest) -> [Range<UInt64>]? {
        if content.isComplete { return nil }
        // A head lacks nothing except, at most, the length.
        if request.isHead { return content.completeLength == nil ? [] : nil }
        let asked = wanted(by: request)
        guard let length = content.completeLength else {
            // Ranges with an explicit end can be found without a length.
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

/// How long a stale response may still be served, in seconds (RFC 5861).
package struct StaleWindows: Sendable, Equatable {
    package private(set) var whileRevalidate: Int64 = 0
    package private(set) var ifError: Int64 = 0
    /// The origin forbids serving it stale at all (RFC 9111 §4.2.4).
    package let isForbidden: Bool

    /// The windows of response and policy; the larger one counts, unless the origin forbids both.
    ///
    /// In a shared cache s-maxage forbids stale use, as proxy-revalidate does (§5.2.2.10).
    package init(_ directives: ResponseDirectives, policy: CachePolicy) {
        self.init(directives, policy: policy, isNoCache: directives.flags.contains(.noCache))
    }

    /// The same windows, extended by what the request allows.
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
        // A client with max-age or min-fresh wants a fresh response and waits for it.
        let isDemanding = isTooOld || asked.minFresh != nil
        if !isDemanding, whileRevalidate > 0, staleUs <= whileRevalidate.microsecondsSaturated {
            return .whileRevalidating
        }
        return ifError > 0 && staleUs <= ifError.microsecondsSaturated ? .onError : .nothing
    }

    /// Whether a stale response may replace a response of this status (RFC 5861 §4); a missing
    /// response is handled elsewhere.
    package static func isError(_ status: UInt16) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}
