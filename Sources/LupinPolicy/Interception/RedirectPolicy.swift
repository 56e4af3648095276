// Decides whether lupin follows a redirect, and derives the next request (RFC 9110 §15.4).

package import LupinCore

/// `redirect:` of a rule; without one the client gets the redirect.
package struct RedirectPolicy: Sendable, Equatable {
    /// What happens to credentials when a redirect leads to another origin.
    package enum CrossOrigin: String, Sendable, CaseIterable {
        case dropCredentials = "drop-credentials"
        case keepCredentials = "keep-credentials"
    }

    /// The maximum number of redirects per client request.
    package var maxCount = 10
    /// Hosts to which no redirect is followed.
    package var deny: [HostPattern] = []
    package var crossOrigin = CrossOrigin.dropCredentials

    package init() {}

    /// Whether a response with this status may be followed at all.
    ///
    /// 300 leaves the choice to the user, 304 is about a cache, 305 and 306 are obsolete.
    package static func isRedirect(_ status: UInt16) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The form of a request in `visited`: its method and URL, and the cookies that it was sent
    /// with if a jar keeps them.
    package static func visit(
        _ request: RequestHead,
        to origin: Origin,
        cookies: String = ""
    ) -> String {
        let path = request.pathText
        // An absolute target may have a query without a path, which means `/` (RFC 9110 §4.2.3).
        let root = path.hasPrefix("?") ? "/" : ""
        return "\(request.method.token) \(origin.scheme.name)://\(origin.authority)\(root)\(path)"
            + with(cookies)
    }

    private static func with(_ cookies: String) -> String { cookies.isEmpty ? "" : " \(cookies)" }

    /// Decides about a response; the first reason against following it wins.
    ///
    /// - Parameters:
    ///   - response: The response from `origin`.
    ///   - request: The request as it was last sent, to `origin`.
    ///   - origin: The origin of the request.
    ///   - visited: The requests before this one, oldest first, each in the form of `visit`.
    ///   - isBodyReplayable: Whether every byte of the request's body can be sent again; true
    ///     without a body.
    ///   - sentCookies: The cookies of the request, if a jar keeps those of responses.
    ///   - cookies: The cookies that the next request would be sent with, if a jar keeps them.
    ///   - secretFields: Additional fields that are not sent to another origin: those that rules
    ///     attached as credentials.
    /// - Returns: The next request, or the reason for which the client gets the response.
    package func decide(
        response: ResponseHead,
        request: RequestHead,
        origin: Origin,
        visited: [String],
        isBodyReplayable: Bool,
        sentCookies: String = "",
        cookies: (RedirectTarget) -> String = { _ in "" },
        secretFields: [String] = []
    ) -> RedirectDecision {
        do throws(Delivery) {
            guard Self.isRedirect(response.status) else {
                throw Delivery("status \(response.status) is not followed")
            }
            try request.checkIsFollowed()
            let location = try Self.location(of: response)
            var target = try RedirectTarget(location, request, from: origin)
            if let pattern = deny.first(where: { $0.matches(target.origin.host) }) {
                throw Delivery("\(target.origin.host.text) is denied by \(pattern.source)")
            }
            if origin.scheme == .https, target.origin.scheme == .http {
                throw Delivery("it leads from https to http")
            }
            target.adapt(to: response.status, request.method)
            guard target.dropsBody || isBodyReplayable else {
                throw Delivery("the request body was not kept")
            }
            target.choose(dropped: crossOrigin, secretFields, of: request.fields)
            // A site that sets a cookie and leads back means another request.
            let next = target.visit + Self.with(cookies(target))
            let current = Self.visit(request, to: origin, cookies: sentCookies)
            guard next != current, !visited.contains(next) else {
                throw Delivery("it leads in a circle")
            }
            guard visited.count < maxCount else {
                throw Delivery("the maximum of \(maxCount) is reached")
            }
            return .follow(target)
        } catch {
            return .deliver(reason: error.reason)
        }
    }

    /// Returns the only Location; equal duplicates count as one.
    private static func location(of response: ResponseHead) throws(Delivery) -> URIReference {
        let fields = response.fields
        let lines = fields.lines.filter { $0.known == .location }
        guard let first = lines.first else { throw Delivery("there is no Location") }
        let value = fields.storage[first.value.range]
        guard lines.allSatisfy({ fields.storage[$0.value.range] == value }) else {
            throw Delivery("there are several Locations")
        }
        do {
            return try URIReference(fieldValue: fields.storage.span.extracting(first.value.range))
        } catch {
            switch error {
            case .empty: throw Delivery("Location is empty")
            case .tooLong: throw Delivery("Location is too long")
            case .controlByte: throw Delivery("Location holds a control byte")
            case .backslash: throw Delivery("Location holds a backslash")
            case .badScheme: throw Delivery("Location is no URL")
            }
        }
    }
}

/// The decision about a response that may be a redirect.
package enum RedirectDecision: Sendable, Equatable {
    /// The client gets it unchanged; the reason is for the record.
    case deliver(reason: String)
    case follow(RedirectTarget)
}

/// The reason for which the client gets the redirect.
private struct Delivery: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The differences of the redirected request from the previous one.
package struct RedirectTarget: Sendable, Equatable {
    package let origin: Origin
    /// Begins with `/`, without the fragment, which is not sent in requests.
    package let pathAndQuery: String
    package private(set) var method: Method
    /// Whether the body, and the fields that describe it, are dropped.
    package private(set) var dropsBody = false
    /// Whether scheme, host or port differ.
    package let isCrossOrigin: Bool
    /// The fields of the request that must not be sent again, in lower case, in the original order.
    package private(set) var droppedFields: [String] = []

    /// The URL, without a fragment.
    package var url: String { "\(origin.scheme.name)://\(origin.authority)\(pathAndQuery)" }

    /// The request in the form of `RedirectPolicy.visit`.
    package var visit: String { "\(method.token) \(url)" }

    /// Changes the redirected request into this one.
    ///
    /// Host is unchanged here: it is derived from the origin whenever a head is sent.
    package func apply(to head: inout RequestHead) {
        if head.method != method {
            head.method = method
            head.methodRange = head.fields.store(method.token)
        }
        head.pathAndQuery = head.fields.store(pathAndQuery)
        head.follow(origin)
        for name in droppedFields { head.fields.remove(name: name) }
    }

    /// Resolves `location` against the request's own URL.
    fileprivate init(
        _ location: URIReference,
        _ request: RequestHead,
        from base: Origin
    ) throws(Delivery) {
        let current = URIReference(origin: base, pathAndQuery: request.pathText)
        let target = location.resolved(against: current)
        let scheme: Scheme
        switch target.scheme {
        case "http": scheme = .http
        case "https": scheme = .https
        default: throw Delivery("it leads neither to http nor to https")
        }
        guard let authority = target.authority else { throw Delivery("Location is no URL") }
        guard !authority.contains(0x40) else {
            throw Delivery("it would send credentials from a response")
        }
        guard let (host, port) = AuthorityText.parse(authority.span) else {
            throw Delivery("Location has no valid host and port")
        }
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        var bytes = target.path.isEmpty ? [0x2F] : target.path
        if let query = target.query { bytes += [0x3F] + query }
        pathAndQuery = String(decoding: bytes, as: UTF8.self)
        isCrossOrigin = origin != base
        method = request.method
    }

    /// Sets the method for the next request by the status (RFC 9110 §15.4.2 to §15.4.9).
    ///
    /// 301 and 302 only change POST to GET, as clients do and §15.4.2 allows.
    fileprivate mutating func adapt(to status: UInt16, _ old: Method) {
        switch status {
        case 301, 302:
            guard old == .post else { return }
            method = .get
            dropsBody = true
        case 303:
            method = old == .head ? .head : .get
            dropsBody = true
        default: break
        }
    }

    fileprivate mutating func choose(
        dropped policy: RedirectPolicy.CrossOrigin,
        _ secrets: [String],
        of fields: FieldSection
    ) {
        let secrets = secrets.map { $0.lowercased() }
        for line in fields.lines {
            let name = fields.text(line.name).lowercased()
            guard !droppedFields.contains(name) else { continue }
            let isSecret = line.known.isCredential || name == "cookie2" || secrets.contains(name)
            // Proxy-Authorization is for the parent proxy: the next way decides about it.
            let isForeign = isSecret && policy == .dropCredentials
            if (dropsBody && line.known.describesContent(name)) || (isCrossOrigin && isForeign) {
                droppedFields.append(name)
            }
        }
    }
}

extension FieldName {
    fileprivate var isCredential: Bool { self == .authorization || self == .cookie }

    /// Whether the field describes or announces the body, so that it is dropped with the body.
    ///
    /// RFC 9110 §15.4 names Content-*, Digest and Last-Modified; RFC 9530 has the other digests.
    fileprivate func describesContent(_ name: String) -> Bool {
        switch self {
        case .transferEncoding, .trailer, .expect, .lastModified: true
        default:
            name.hasPrefix("content-") || name == "digest" || name == "repr-digest"
        }
    }
}

extension RequestHead {
    /// Throws for requests about a server, a tunnel or the path to it, and for upgrades.
    fileprivate func checkIsFollowed() throws(Delivery) {
        if method == .connect || method == .trace || form == .asterisk || form == .authority {
            throw Delivery("\(method.token) is not followed")
        }
        if fields.requestedUpgrade != nil { throw Delivery("an upgrade is not followed") }
    }
}
