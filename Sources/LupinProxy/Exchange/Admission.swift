// Checks access before any rule is matched, and interprets the request's target.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// What lupin answers itself.
    enum OwnAnswer {
        /// lupin's own page, by its path.
        case page(path: String)
        /// `OPTIONS *`, or TRACE and OPTIONS at their last hop.
        case lastHop
    }

    /// Checks client, target and loops.
    /// - Returns: The target beyond lupin; nil when lupin answers itself, as `own` says then.
    /// - Throws: The refusal.
    func admit(_ own: inout OwnAnswer?) throws(LupinError) -> KnownTarget? {
        guard client.isAdmitted else {
            throw .request(
                status: 403,
                detail: "access.clients does not list \(client.address.text)."
            )
        }
        try refuseLoops()
        let target: KnownTarget
        if let interceptedTunnel {
            target = try targetInside(interceptedTunnel)
        } else {
            switch request.form {
            case .asterisk:
                own = .lastHop
                return nil
            case .origin:
                own = .page(path: try ownPath())
                return nil
            case .absolute, .authority: target = try namedTarget()
            }
        }
        let origin = target.origin
        // HTTP/2 has no origin-form: a request that names the listener is for lupin itself.
        if request.version == .http2, request.form == .absolute, interceptedTunnel == nil,
            isOwn(origin.host, port: origin.port)
        {
            own = .page(path: pagePath)
            return nil
        }
        if isForSetup(origin) {
            own = .page(path: pagePath)
            return nil
        }
        if let denial = snapshot.access.denial(ofName: origin.host) { throw denial }
        if request.form == .authority {
            guard snapshot.access.allowsConnect(toPort: origin.port) else {
                throw .request(
                    status: 403,
                    host: origin.hostAndPort,
                    detail: "access.connect_ports does not list port \(origin.port)."
                )
            }
        }
        if try isAtLastHop() {
            own = .lastHop
            return nil
        }
        if let limit = snapshot.limits.bodyBytes, let length = framing.knownLength,
            length > UInt64(limit)
        {
            throw .bodyTooLong
        }
        return target
    }

    /// The path of a page of lupin's own.
    private var pagePath: String { String(request.pathText.prefix { $0 != "?" }) }

    /// Whether the request is for the page of `http://lupin/`; a rule for that host comes first.
    private func isForSetup(_ origin: Origin) -> Bool {
        request.form == .absolute && interceptedTunnel == nil
            && snapshot.leavesSetupHost && origin.isSetupPage
    }

    /// Refuses a request with our own name in Via: it has been here before (RFC 9110 §7.6.3).
    private func refuseLoops() throws(LupinError) {
        guard request.fields.first(.via) != nil else { return }
        var isOwn = false
        let pseudonym = resources.shared.pseudonym
        request.fields.forEachMember(of: .via) { member in
            let words = String(copying: member).split { $0 == " " || $0 == "\t" }
            isOwn = isOwn || (words.count > 1 && words[1] == pseudonym)
        }
        guard !isOwn else {
            throw LupinError(
                .proxyLoopDetected,
                detail: "The request has passed this proxy already."
            )
        }
    }

    /// The target in canonical form.
    private func namedTarget() throws(LupinError) -> KnownTarget {
        let scheme = request.form == .authority ? .https : request.scheme ?? .http
        let storage = request.fields.storage
        let bytes = storage.span.extracting(request.authority.range)
        guard let target = resources.target(scheme, bytes) else {
            throw .request(status: 400, detail: "The request target has an invalid host or port.")
        }
        return target
    }

    /// The requested origin, as far as it can be parsed, for the record of a refusal.
    var requestedOrigin: Origin? {
        guard hasRequest else { return nil }
        if let interceptedTunnel { return interceptedTunnel.target.origin }
        switch request.form {
        case .absolute, .authority: return (try? namedTarget())?.origin
        case .origin, .asterisk: return nil
        }
    }

    /// The target of a request inside a CONNECT: the CONNECT's own target, or an error.
    private func targetInside(_ interceptedTunnel: InterceptedTunnel) throws(LupinError)
        -> KnownTarget
    {
        guard request.form != .authority else {
            throw .request(status: 400, detail: "A CONNECT inside an intercepted CONNECT.")
        }
        let isAbsolute = request.form == .absolute
        let storage = request.fields.storage
        let range = isAbsolute ? request.authority : request.fields.first(.host)?.value
        guard let range else { return try interceptedTunnel.admit(nil) }
        let scheme =
            isAbsolute ? request.scheme ?? .http : interceptedTunnel.target.origin.scheme
        let bytes = storage.span.extracting(range.range)
        guard let named = resources.target(scheme, bytes) else {
            throw .request(status: 400, detail: "Host has an invalid host or port.")
        }
        return try interceptedTunnel.admit(named.origin)
    }

    /// The most hops that lupin lets Max-Forwards allow behind it (RFC 9110 §7.6.2).
    private static let hopsMax: UInt64 = 255

    /// Whether Max-Forwards of TRACE or OPTIONS is 0; else decrements it (RFC 9110 §7.6.2).
    ///
    /// - Throws: 400 if it is not one number: the next recipient might read another one.
    private func isAtLastHop() throws(LupinError) -> Bool {
        switch request.method {
        case .trace, .options: break
        default: return false
        }
        guard let text = request.fields.value(of: .maxForwards) else { return false }
        guard request.fields.count(of: .maxForwards) == 1,
            let hops = NumberReader.saturated(Array(text.utf8).span, at: Self.hopsMax + 1)
        else { throw .request(status: 400, detail: "Max-Forwards is not one number.") }
        if hops == 0 { return true }
        // Bounded: at least 1.
        changeFields { $0.set(name: FieldName.maxForwards.spelling, value: "\(hops - 1)") }
        return false
    }

    /// The path of a request to lupin itself.
    ///
    /// Only when Host is an address that we listen on, or localhost: a foreign page that resolves
    /// to us (DNS rebinding) learns nothing.
    private func ownPath() throws(LupinError) -> String {
        guard let line = request.fields.first(.host), isOwnName(line.value) else {
            throw .request(status: 400, detail: OwnPages.help)
        }
        return pagePath
    }

    /// The origin of a request to lupin itself: what the client calls it.
    var ownOrigin: Origin? {
        if let origin = requestedOrigin { return origin }
        guard let line = request.fields.first(.host) else { return nil }
        let storage = request.fields.storage
        let bytes = storage.span.extracting(line.value.range)
        guard let (host, port) = AuthorityText.parse(bytes) else { return nil }
        return Origin(scheme: .http, host: host, port: port ?? 80)
    }

    private func isOwnName(_ value: ByteRange) -> Bool {
        let storage = request.fields.storage
        let bytes = storage.span.extracting(value.range)
        guard let (host, port) = AuthorityText.parse(bytes) else { return false }
        return isOwn(host, port: port ?? 80)
    }

    private func isOwn(_ host: Host, port: UInt16) -> Bool {
        snapshot.listeners.contains { listener in
            guard listener.port == port else { return false }
            if host.text == "localhost" { return listener.address.reachesLoopback }
            guard let address = host.address else { return false }
            return address == listener.address
                || (listener.address.isUnspecified && address == downstream.localAddress)
                || (listener.address.reachesLoopback && address.isLoopback)
        }
    }
}
