// How far each known field goes: which belong to a connection, a proxy or the framing.

/// How far a field of a message goes, and so which party may read, change and keep it.
package enum FieldScope: Sendable {
    /// To the other end of the connection (RFC 9110 §7.6.1).
    case connection
    /// To the next recipient, which may frame the message otherwise; lupin writes it itself.
    case framing
    /// From and to a proxy on the way (RFC 9110 §11.7).
    case proxy
    /// To the origin, and it follows the URL.
    case target
    /// End to end, and in the head only: a trailer comes too late (RFC 9110 §6.5.1).
    case head
    /// End to end, in the head or as a trailer.
    case message
}

extension FieldName {
    /// How far the field goes.
    ///
    /// All code that drops, keeps or protects fields asks here.
    package var scope: FieldScope {
        switch self {
        case .connection, .http2Settings, .keepAlive, .proxyConnection, .te, .upgrade:
            .connection
        case .contentLength, .trailer, .transferEncoding: .framing
        case .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization: .proxy
        case .host: .target
        // Routing.
        case .forwarded, .maxForwards, .via: .head
        // Request modifiers.
        case .accept, .acceptEncoding, .cacheControl, .expect, .ifMatch, .ifModifiedSince,
            .ifNoneMatch, .ifRange, .ifUnmodifiedSince, .range:
            .head
        // Authentication and state.
        case .authorization, .cookie, .persistentAuth, .setCookie, .wwwAuthenticate: .head
        // Control data of a response.
        case .age, .altSvc, .date, .expires, .location, .refresh, .retryAfter, .vary: .head
        // How the content is processed.
        case .contentEncoding, .contentRange, .contentType: .head
        case .etag, .lastModified, .link, .other, .proxyStatus, .referer, .server, .userAgent:
            .message
        }
    }
}

extension FieldScope {
    /// Whether the field is for the other end, and not for the way there.
    package var isEndToEnd: Bool {
        switch self {
        case .connection, .framing, .proxy, .target: false
        case .head, .message: true
        }
    }
}

extension FieldNameSet {
    /// The known names whose scope is one of `scopes`.
    ///
    /// It looks at every name: a frequent caller keeps the set.
    package init(of scopes: FieldScope...) {
        self.init()
        for name in FieldName.allCases where scopes.contains(name.scope) { insert(name) }
    }
}
