// Decides whether a response is stored (RFC 9111 §3).

package import LupinCore
package import LupinPolicy

/// Why a response is not stored.
package enum NoStoreReason: Sendable, Hashable, CaseIterable {
    case method, requestContent, interim, notModified, tooEarly, challenge, partial
    case requestNoStore, noStore, mustUnderstand, isPrivate, authorization, setCookie
    case varyAny, noLifetime, useless
    /// Reasons that the store itself finds: the body broke off and can't be combined, it exceeds
    /// `max_object`, or it could not be written.
    case incomplete, tooLarge, storeFailed
    /// An embedding program's `CachedResponseHandler` refuses it.
    case handler
    /// It has a `ResponseFlaw`.
    case lenient
    /// The client has logged in to the connection by which it came.
    case login

    /// The token for logs and for `detail` of Cache-Status.
    package var token: String {
        switch self {
        case .method: "method"
        case .requestContent: "request-content"
        case .interim: "interim"
        case .notModified: "not-modified"
        case .tooEarly: "too-early"
        case .challenge: "proxy-challenge"
        case .partial: "partial"
        case .requestNoStore: "request-no-store"
        case .noStore: "no-store"
        case .mustUnderstand: "must-understand"
        case .isPrivate: "private"
        case .authorization: "authorization"
        case .setCookie: "set-cookie"
        case .varyAny: "vary-any"
        case .noLifetime: "no-lifetime"
        case .useless: "useless"
        case .incomplete: "incomplete"
        case .tooLarge: "too-large"
        case .storeFailed: "store-failed"
        case .handler: "handler"
        case .lenient: "lenient"
        case .login: "login"
        }
    }

    /// The reason for people.
    package var sentence: String {
        switch self {
        case .method: "only responses to GET and QUERY are stored"
        case .requestContent: "the request had content, which is no part of the key"
        case .interim: "the response is not a final one"
        case .notModified: "a 304 has no content"
        case .tooEarly: "a 425 is about one request's early data"
        case .challenge: "a 407 is a proxy's question for user and password"
        case .partial:
            "it is a part that can't be kept: of several ranges, or without a strong ETag to tell"
                + " what it is a part of"
        case .requestNoStore: "the request said no-store"
        case .noStore: "the origin said no-store"
        case .mustUnderstand: "the origin said must-understand, and the status is unknown"
        case .isPrivate: "the origin said private, and the cache is shared"
        case .authorization:
            "the request was authenticated, and the origin does not allow a shared cache to keep it"
        case .setCookie: "the response sets a cookie, and the cache is shared"
        case .varyAny: "the origin said Vary: *"
        case .noLifetime: "the status is not cacheable unless the origin gives a lifetime"
        case .useless: "it is stale already and can't be validated"
        case .incomplete: "the body broke off"
        case .tooLarge: "the body is larger than max_object"
        case .storeFailed: "the store could not keep it"
        case .handler: "a handler of the embedding program wants it not stored"
        case .lenient: "it has flaws, and was read nevertheless"
        case .login: "the client has logged in to its connection (NTLM, Negotiate)"
        }
    }
}

/// A directive of the origin that a policy overrode; reported because it deviates from RFC 9111.
package enum CacheOverride: String, Sendable, Hashable, CaseIterable {
    case noStore = "no-store"
    case isPrivate = "private"
    case cookies, vary, ttl
}

/// The decision about a response.
package enum StoreDecision: Sendable, Equatable {
    case store(StoreAdvice)
    case refuse(NoStoreReason)
}

/// How a response is stored.
package struct StoreAdvice: Sendable, Equatable {
    package var directives: ResponseDirectives
    package var freshness: Freshness
    /// The range that a 206 holds; nil for a complete response.
    package var range: ContentRange?
    /// In the order of the checks.
    package var overridden: [CacheOverride] = []
}

extension CacheRequest {
    /// Why no response to the request is stored, whatever it is; nil when that depends on it.
    package func refusal(method: Method) -> NoStoreReason? {
        // HEAD has no content to store; §4.3.5 defines its effect on a stored response.
        guard method == .get || method == .query else { return .method }
        if bypass == .content { return .requestContent }
        return directives.isNoStore ? .requestNoStore : nil
    }
}

extension CachePolicy {
    /// Decides about a response; the first applicable reason counts.
    ///
    /// - Parameters:
    ///   - response: The response as received, before the steps of rules.
    ///   - request: The request of the look-up: after the steps of rules, before lupin's
    ///     credentials and conditions. Its fields are used for Vary in both places.
    ///   - asked: The caching demands of the client's request, before conditions were added.
    ///   - attachments: What lupin attached.
    ///   - requestTimeUs: When the request was sent, in microseconds since 1970.
    ///   - responseTimeUs: When the response was received.
    /// - Returns: How it is stored, or why not.
    package func decide(
        response: ResponseHead,
        request: RequestHead,
        asked: CacheRequest,
        attachments: Attachments,
        requestTimeUs: Int64,
        responseTimeUs: Int64
    ) -> StoreDecision {
        if let reason = asked.refusal(method: request.method) { return .refuse(reason) }
        // The origin's `public` does not help: it may be the parent proxy that knows the user.
        // (What a redirect led to is not asked about.)
        if attachments.storing == .never { return .refuse(.login) }
        let directives = ResponseDirectives(response.fields, targeted: targeted)
        var overridden: [CacheOverride] = []
        if let reason = refusal(by: response.status, directives)
            ?? refusal(byOrigin: response, directives, &overridden)
            ?? refusal(ofShared: request, response, directives, attachments, &overridden)
        {
            return .refuse(reason)
        }
        var range: ContentRange?
        if response.status == 206 {
            guard request.method == .get, let found = ContentRange(of: response.fields),
                found.range != nil
            else {
                return .refuse(.partial)
            }
            range = found
        }
        let freshness = Freshness(
            of: response,
            directives: directives,
            policy: self,
            requestTimeUs: requestTimeUs,
            responseTimeUs: responseTimeUs
        )
        if let reason = refusal(by: freshness, response, directives) { return .refuse(reason) }
        if freshness.source == .ttl { overridden.append(.ttl) }
        return .store(
            StoreAdvice(
                directives: directives,
                freshness: freshness,
                range: range,
                overridden: overridden
            )
        )
    }

    private func refusal(
        by status: UInt16,
        _ directives: ResponseDirectives
    ) -> NoStoreReason? {
        if status < 200 { return .interim }
        if status == 304 { return .notModified }
        // It does not represent a resource (RFC 8470 §5.2).
        if status == 425 { return .tooEarly }
        // It is a proxy's on the way (RFC 9110 §15.5.8), and useless without its challenge.
        if status == 407 { return .challenge }
        let isDemanding = directives.flags.contains(.mustUnderstand)
        return isDemanding && !status.isUnderstood ? .mustUnderstand : nil
    }

    /// Reasons that apply to every cache.
    private func refusal(
        byOrigin response: ResponseHead,
        _ directives: ResponseDirectives,
        _ overridden: inout [CacheOverride]
    ) -> NoStoreReason? {
        // must-understand is for caches that know it, no-store for all others (§5.2.2.3).
        if directives.flags.contains(.noStore), !directives.flags.contains(.mustUnderstand) {
            guard ignored.contains(.noStore) else { return .noStore }
            overridden.append(.noStore)
        }
        if VaryKey.isAny(response.fields) {
            guard ignored.contains(.vary) else { return .varyAny }
        }
        if ignored.contains(.vary), response.fields.first(.vary) != nil { overridden.append(.vary) }
        return nil
    }

    /// Reasons that apply to a shared cache only.
    private func refusal(
        ofShared request: RequestHead,
        _ response: ResponseHead,
        _ directives: ResponseDirectives,
        _ attachments: Attachments,
        _ overridden: inout [CacheOverride]
    ) -> NoStoreReason? {
        guard isShared else { return nil }
        let flags = directives.flags
        if flags.contains(.private) {
            guard ignored.contains(.private) else { return .isPrivate }
            overridden.append(.isPrivate)
        }
        if isForOneUser(request, directives, attachments) { return .authorization }
        // RFC 9111 §7.3 leaves this to the origin; too many origins forget it.
        if response.fields.first(.setCookie) != nil, !flags.contains(.public) {
            guard ignored.contains(.cookies) else { return .setCookie }
            overridden.append(.cookies)
        }
        return nil
    }

    /// Whether a response is for the user of an authenticated request alone (§3.5); no `ignore:`
    /// overrides it.
    func isForOneUser(
        _ request: RequestHead,
        _ directives: ResponseDirectives,
        _ attachments: Attachments
    ) -> Bool {
        guard isShared else { return false }
        let isAuthenticated =
            attachments.storing >= .asAuthenticated || request.fields.first(.authorization) != nil
        let flags = directives.flags
        return isAuthenticated && directives.sMaxAge == nil && !flags.contains(.public)
            && !flags.contains(.mustRevalidate)
    }

    /// Refuses a response that could never be reused.
    private func refusal(
        by freshness: Freshness,
        _ response: ResponseHead,
        _ directives: ResponseDirectives
    ) -> NoStoreReason? {
        let isCacheable =
            freshness.isExplicit || freshness.source == .ttl || directives.flags.contains(.public)
            || (!isShared && directives.flags.contains(.private))
            || response.status.isHeuristicallyCacheable
        guard isCacheable else { return .noLifetime }
        let hasValidator =
            EntityTag(of: response.fields) != nil
            || response.fields.moment(.lastModified, now: freshness.date) != nil
        let isFresh = freshness.isFresh(at: freshness.responseTimeUs)
        if hasValidator || (isFresh && !directives.flags.contains(.noCache)) { return nil }
        if freshness.source == .ttl, freshness.lifetime > 0 { return nil }
        let windows = StaleWindows(directives, policy: self)
        return windows.whileRevalidate > 0 || windows.ifError > 0 ? nil : .useless
    }
}

extension UInt16 {
    /// Whether lupin implements the caching rules of the status: all that RFC 9110 §15 defines, and
    /// 308.
    fileprivate var isUnderstood: Bool {
        switch self {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }
}
