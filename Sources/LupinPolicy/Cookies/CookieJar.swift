// Stores cookies, expires them, and selects those for a request.

package import LupinCore

/// The cookies of many hosts (RFC 6265 §5.3 and §5.4).
///
/// The jar is host-scoped: it has no list of public suffixes. A Domain attribute is accepted if it
/// is the host itself or a name above it, and the cookie is host-only nevertheless; with any other
/// Domain, including one for an address, it is ignored. So a cookie is sent only to the host that
/// set it.
/// Ports and schemes share their cookies, as the RFC requires, but Secure ones are sent only over
/// https and to loopback.
///
/// A proxy doesn't know when a session ends: session cookies live as long as the jar and are not
/// written to its file.
package struct CookieJar: Sendable {
    /// The result of storing a cookie.
    package enum Outcome: Sendable, Equatable {
        case stored
        /// It had expired already, which is how a server deletes a cookie.
        case removed
        case ignored(CookieProblem)
    }

    /// The most cookies of one host.
    package static let hostCookiesMax = 50
    /// The most cookies in all.
    package static let cookiesMax = 3000

    private var hosts: [Host: [Cookie]] = [:]
    /// The number of cookies, including expired ones.
    package private(set) var count = 0
    /// Changes whenever the content of the file would change.
    package private(set) var revision: UInt64 = 0
    /// A counter that orders cookies by age and use.
    private var clock: UInt64 = 0

    package init() {}

    /// Every cookie with its host, in the order of creation.
    package var all: [(host: Host, cookie: Cookie)] {
        let pairs = hosts.flatMap { host, cookies in cookies.map { (host: host, cookie: $0) } }
        return pairs.sorted { $0.cookie.created < $1.cookie.created }
    }

    // MARK: From responses

    /// Stores the cookies of a response's Set-Cookie lines.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - origin: The origin of the request, after the steps of the rules.
    ///   - path: The path of the request; a query is ignored.
    ///   - isProtected: Whether no machine on a network reads them
    ///     (``UpstreamSettings/protects(_:override:)``): else Secure cookies stay out.
    ///   - now: Seconds since 1970.
    /// - Returns: Why some were ignored.
    @discardableResult
    package mutating func store(
        from fields: FieldSection,
        origin: Origin,
        path: String,
        isProtected: Bool,
        now: Int64
    ) -> [CookieProblem] {
        guard fields.names.contains(.setCookie) else { return [] }
        var problems: [CookieProblem] = []
        for line in fields.lines where line.known == .setCookie && !line.isHopByHop {
            do throws(CookieProblem) {
                let value = fields.storage.span.extracting(line.value.range)
                let setCookie = try SetCookie(parsing: value)
                let outcome = store(
                    setCookie,
                    from: origin,
                    path: path,
                    isProtected: isProtected,
                    now: now
                )
                if case .ignored(let problem) = outcome { problems.append(problem) }
            } catch {
                problems.append(error)
            }
        }
        return problems
    }

    /// Whether a Domain is the host's own, or of two labels or more above it.
    private static func holds(_ domain: String, for host: Host) -> Bool {
        guard let domain = Host(domain) else { return false }
        if domain == host { return true }
        guard host.address == nil, domain.address == nil, domain.text.contains(".") else {
            return false
        }
        return host.text.hasSuffix(".\(domain.text)")
    }

    /// Stores a cookie, or, if it has expired already, removes the one that it replaces.
    @discardableResult
    package mutating func store(
        _ setCookie: SetCookie,
        from origin: Origin,
        path: String,
        isProtected: Bool,
        now: Int64
    ) -> Outcome {
        let host = origin.host
        if let domain = setCookie.domain, !Self.holds(domain, for: host) {
            return .ignored(.foreignDomain)
        }
        let cookie = Cookie(
            name: setCookie.name,
            value: setCookie.value,
            path: setCookie.path ?? CookiePath.default(for: path),
            isSecure: setCookie.isSecure,
            isHTTPOnly: setCookie.isHTTPOnly,
            sameSite: setCookie.sameSite,
            expiry: setCookie.expiry(at: now)
        )
        guard cookie.path.utf8.count <= SetCookie.attributeBytesMax else {
            return .ignored(.pathTooLong)
        }
        if !isProtected {
            if cookie.isSecure { return .ignored(.insecureConnection) }
            if overlaysSecure(cookie, of: host, now: now) { return .ignored(.overlaysSecure) }
        }
        let problem = Cookie.prefixProblem(
            name: cookie.name,
            value: cookie.value,
            isSecure: cookie.isSecure,
            isBoundToHostAndRoot: setCookie.domain == nil && setCookie.hasPath
                && cookie.path == "/"
        )
        if let problem { return .ignored(problem) }
        return insert(cookie, for: host, now: now)
    }

    /// Whether there is a Secure cookie of the same name, at the new one's path or above.
    ///
    /// A cookie from an unencrypted connection must not replace it.
    private func overlaysSecure(_ new: Cookie, of host: Host, now: Int64) -> Bool {
        hosts[host, default: []].contains { old in
            old.isSecure && old.name == new.name && !old.isExpired(at: now)
                && CookiePath.matches(new.path, old.path)
        }
    }

    // MARK: Keeping

    /// Replaces the cookie with the same name and path, or appends the new one.
    mutating func insert(_ cookie: Cookie, for host: Host, now: Int64) -> Outcome {
        var cookie = cookie
        var cookies = hosts[host] ?? []
        clock &+= 1
        cookie.created = clock
        cookie.used = clock
        if let i = cookies.firstIndex(where: { $0.name == cookie.name && $0.path == cookie.path }) {
            let old = cookies[i]
            // A cookie that is set again keeps its creation order.
            cookie.created = old.created
            let isSame =
                old.value == cookie.value && old.expiry == cookie.expiry
                && old.isSecure == cookie.isSecure && old.isHTTPOnly == cookie.isHTTPOnly
            if !isSame, old.isPersistent || cookie.isPersistent { revision &+= 1 }
            cookies.remove(at: i)
            count -= 1
        } else if cookie.isPersistent, !cookie.isExpired(at: now) {
            revision &+= 1
        }
        guard !cookie.isExpired(at: now) else {
            hosts[host] = cookies.isEmpty ? nil : cookies
            return .removed
        }
        cookies.append(cookie)
        hosts[host] = cookies
        count += 1
        makeRoom(at: host, now: now)
        let isKept = hosts[host, default: []].contains { $0.created == cookie.created }
        return isKept ? .stored : .ignored(.full)
    }

    /// Enforces the limits of host and jar: removes expired cookies first, then, at the host, those
    /// that are not Secure, and among equals the least recently used one.
    private mutating func makeRoom(at host: Host, now: Int64) {
        if let cookies = hosts[host], cookies.count > Self.hostCookiesMax {
            let alive = cookies.filter { !$0.isExpired(at: now) }
            let excess = max(0, alive.count - Self.hostCookiesMax)
            let order = alive.sorted { a, b in
                a.isSecure == b.isSecure ? a.isLessUsed(than: b) : !a.isSecure
            }
            let gone = Set(order.prefix(excess).map(\.created))
            keep(alive.filter { !gone.contains($0.created) }, at: host)
        }
        guard count > Self.cookiesMax else { return }
        removeExpired(now: now)
        while count > Self.cookiesMax {
            var oldest: (host: Host, cookie: Cookie)?
            for (host, cookies) in hosts {
                for cookie in cookies
                where oldest.map({ cookie.isLessUsed(than: $0.cookie) }) ?? true {
                    oldest = (host, cookie)
                }
            }
            guard let oldest else { return }
            let others = hosts[oldest.host, default: []]
            keep(others.filter { $0.created != oldest.cookie.created }, at: oldest.host)
        }
    }

    /// Removes all expired cookies.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package mutating func removeExpired(now: Int64) -> Int {
        let before = count
        for (host, cookies) in hosts where cookies.contains(where: { $0.isExpired(at: now) }) {
            keep(cookies.filter { !$0.isExpired(at: now) }, at: host)
        }
        return before - count
    }

    /// Replaces the cookies of a host with some of them.
    private mutating func keep(_ cookies: [Cookie], at host: Host) {
        let before = hosts[host] ?? []
        guard before.count != cookies.count else { return }
        count += cookies.count - before.count
        if before.count(where: \.isPersistent) != cookies.count(where: \.isPersistent) {
            revision &+= 1
        }
        hosts[host] = cookies.isEmpty ? nil : cookies
    }

    // MARK: For requests

    /// The cookies for a request: longer paths first, then older ones first.
    ///
    /// Sending counts as use, and expired cookies of the host are dropped.
    ///
    /// - Parameters:
    ///   - origin: The origin of the request, after the steps of the rules.
    ///   - path: The path of the request; a query is ignored.
    ///   - isProtected: Whether no machine on a network reads them
    ///     (``UpstreamSettings/protects(_:override:)``): else Secure cookies stay out.
    ///   - now: Seconds since 1970.
    /// - Returns: The cookies for the Cookie field.
    package mutating func cookies(
        for origin: Origin,
        path: String,
        isProtected: Bool,
        now: Int64
    ) -> CookieList {
        guard var cookies = hosts[origin.host] else { return CookieList() }
        if cookies.contains(where: { $0.isExpired(at: now) }) {
            cookies.removeAll { $0.isExpired(at: now) }
            keep(cookies, at: origin.host)
        }
        clock &+= 1
        var chosen: [Cookie] = []
        for i in cookies.indices where isProtected || !cookies[i].isSecure {
            guard CookiePath.matches(path, cookies[i].path) else { continue }
            cookies[i].used = clock
            chosen.append(cookies[i])
        }
        guard !chosen.isEmpty else { return CookieList() }
        hosts[origin.host] = cookies
        chosen.sort { a, b in
            let (a, b) = ((a.path.utf8.count, a.created), (b.path.utf8.count, b.created))
            return a.0 == b.0 ? a.1 < b.1 : a.0 > b.0
        }
        return CookieList(chosen.map { (name: $0.name, value: $0.value) })
    }
}
