// Whether lupin follows a redirect itself, and what the next request is then (RFC 9110 §15.4).

/// `redirect:` of a rule; without one the client gets the redirect.
package struct RedirectPolicy: Sendable, Equatable {
    /// What becomes of credentials when a redirect leads to another origin.
    package enum CrossOrigin: String, Sendable, CaseIterable {
        case dropCredentials = "drop-credentials"
        case keepCredentials = "keep-credentials"
    }

    /// Redirects that are followed for one request of the client.
    package var maxCount = 10
    /// Hosts that no redirect is followed to.
    package var deny: [HostPattern] = []
    package var crossOrigin = CrossOrigin.dropCredentials

    package init() {}

    /// Whether a response of this status may be followed at all.
    ///
    /// 300 leaves the choice to the user, 304 is about a cache, 305 and 306 are history.
    package static func isRedirect(_ status: UInt16) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// How `visited` names a request: its method and URL.
    package static func visit(_ request: RequestHead, to origin: Origin) -> String {
        let path = request.pathText
        // An absolute target may have a query and no path, which is `/` (RFC 9110 §4.2.3).
        let root = path.hasPrefix("?") ? "/" : ""
        return "\(request.method.token) \(origin.scheme.name)://\(origin.authority)\(root)\(path)"
    }

    /// Decides about a response, first reason first.
    ///
    /// - Parameters:
    ///   - response: As it came from `origin`.
    ///   - request: As it was last sent, to `origin`.
    ///   - origin: Where the request went.
    ///   - visited: The requests before this one, oldest first, each as `visit` names it.
    ///   - isBodyReplayable: Every byte of the request's body can be sent again; true where there
    ///     is no body.
    ///   - secretFields: Fields that go to no other origin, besides the usual ones: what rules
    ///     attached as credentials.
    /// - Returns: What to send next, or why the client gets the response.
    package func decide(
        response: ResponseHead,
        request: RequestHead,
        origin: Origin,
        visited: [String],
        isBodyReplayable: Bool,
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
            let current = Self.visit(request, to: origin)
            guard target.visit != current, !visited.contains(target.visit) else {
                throw Delivery("it leads in a circle")
            }
            guard visited.count < maxCount else {
                throw Delivery("the maximum of \(maxCount) is reached")
            }
            target.choose(dropped: crossOrigin, secretFields, of: request.fields)
            return .follow(target)
        } catch {
            return .deliver(reason: error.reason)
        }
    }

    /// The one Location; the same one twice is one.
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

/// What becomes of a response that may be a redirect.
package enum RedirectDecision: Sendable, Equatable {
    /// The client gets it as it is; the reason is for the record.
    case deliver(reason: String)
    case follow(RedirectTarget)
}

/// Why a redirect is left to the client.
private struct Delivery: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The request that a redirect asks for, as far as it differs from the one before.
package struct RedirectTarget: Sendable, Equatable {
    package let origin: Origin
    /// Begins with `/`; the fragment is cut, for it is no part of a request.
    package let pathAndQuery: String
    package private(set) var method: Method
    /// The body stays behind, and the fields that describe it.
    package private(set) var dropsBody = false
    /// Scheme, host or port differ.
    package let isCrossOrigin: Bool
    /// The fields of the request that must not be sent again, in lower case and in its order.
    package private(set) var droppedFields: [String] = []

    /// The URL, without a fragment.
    package var url: String { "\(origin.scheme.name)://\(origin.authority)\(pathAndQuery)" }

    /// The request as `RedirectPolicy.visit` names it.
    package var visit: String { "\(method.token) \(url)" }

    /// Turns the request that was redirected into this one.
    ///
    /// Host is not touched: it is written anew from the origin whenever a head is sent.
    package func apply(to head: inout RequestHead) {
        if head.method != method {
            head.method = method
            head.methodRange = head.fields.store(method.token)
        }
        head.pathAndQuery = head.fields.store(pathAndQuery)
        head.follow(origin)
        for name in droppedFields { head.fields.remove(name: name) }
    }

    /// Where `location` leads from the request's own URL.
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

    /// The method that a status leaves (RFC 9110 §15.4.2 to §15.4.9).
    ///
    /// 301 and 302 make a GET of a POST only: that is what clients do, and what §15.4.2 allows.
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
            let isForeign =
                // Meant for a proxy on the way to the old origin, whatever the rule says.
                line.known == .proxyAuthorization || (isSecret && policy == .dropCredentials)
            if (dropsBody && line.known.describesContent(name)) || (isCrossOrigin && isForeign) {
                droppedFields.append(name)
            }
        }
    }
}

extension FieldName {
    fileprivate var isCredential: Bool { self == .authorization || self == .cookie }

    /// Whether the field speaks of the body or announces it, so that it goes where the body goes.
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
    /// Not what is about a server, a tunnel or the way there, and no change of protocols.
    fileprivate func checkIsFollowed() throws(Delivery) {
        if method == .connect || method == .trace || form == .asterisk || form == .authority {
            throw Delivery("\(method.token) is not followed")
        }
        guard fields.lists("upgrade", in: .connection) else { return }
        var asksForUpgrade = false
        // `h2c` is obsolete (RFC 9113 §3.1) and goes no further: such a request is an ordinary one.
        fields.forEachUpgrade { _ in asksForUpgrade = true }
        if asksForUpgrade { throw Delivery("an upgrade is not followed") }
    }
}
