// The request as it goes upstream, and the way that it takes.
import LupinCaching
package import LupinCore
import LupinIO
import LupinPolicy
package import LupinUpstream
import LupinWire

/// A request as it goes upstream: the client's, changed by the adapters.
///
/// A class, because several functions pass it on, and copying its parts costs 200 instructions.
package final class AdaptedRequest {
    let request: UpstreamRequest
    package let hop: NextHop
    /// The client's own target, unless the request was directed elsewhere.
    let known: KnownTarget?

    package init(_ request: UpstreamRequest, hop: NextHop, known: KnownTarget? = nil) {
        self.request = request
        self.hop = hop
        self.known = known
    }

    /// The target whose shelf in the pool belongs to the request's way.
    var target: KnownTarget? { known?.directHop == hop ? known : nil }

    /// Sends the head; here, where no copy of it is needed.
    func begin(
        on upstream: any Upstream,
        _ options: borrowing RequestOptions
    ) throws(LupinError) {
        try upstream.begin(request.head, options)
    }

    /// A copy with conditions of the cache instead of the client's.
    func with(_ conditions: ValidationConditions) -> AdaptedRequest {
        var conditional = request
        conditions.apply(to: &conditional.head)
        return AdaptedRequest(conditional, hop: hop, known: known)
    }

    /// A copy that requests the bytes that the cache lacks.
    func with(_ completion: PartCompletion) -> AdaptedRequest {
        var partial = request
        completion.apply(to: &partial.head)
        return AdaptedRequest(partial, hop: hop, known: known)
    }

    /// A copy for a body that was edited: without digests, and without the codings that it lost.
    func withEditedBody(isPlain: Bool) -> AdaptedRequest {
        var changed = request
        changed.head.fields.removeDigests()
        if isPlain { changed.head.fields.remove(name: "Content-Encoding") }
        return AdaptedRequest(changed, hop: hop, known: known)
    }

    /// A copy without the client's credentials of a login to the connection, origin's or parent's.
    func withoutLogin() -> AdaptedRequest {
        var changed = request
        for name in [FieldName.authorization, .proxyAuthorization] {
            let isLogin = changed.head.fields.values(of: name.spelling).contains {
                LoginOffer(credentials: $0.utf8Span.span) != .none
            }
            if isLogin { changed.head.fields.remove(name: name.spelling) }
        }
        return AdaptedRequest(changed, hop: hop, known: known)
    }

    package var head: RequestHead { request.head }
    package var origin: Origin { request.origin }
    /// The host stands literally in the rules file.
    var isHostFromFile: Bool { request.steps.isHostFromFile }
}

extension Exchange {
    /// The request as it goes upstream when nothing changes it; nil when an adapter may.
    ///
    /// Separate from `adapt`, since most requests take this way and need no wait.
    func unadapted(for target: KnownTarget) throws(LupinError) -> AdaptedRequest? {
        guard goesAsItCame else { return nil }
        let hop = try beginAdapting(target)
        return AdaptedRequest(
            UpstreamRequest(head: request, origin: target.origin),
            hop: hop,
            known: target
        )
    }

    /// Whether nothing changes the request but for its connection.
    var goesAsItCame: Bool { !hasAdapters && !hasDotSegments }

    /// Whether the way to `target` is its direct one in clear text.
    func isDirect(to target: KnownTarget) -> Bool {
        target.origin.scheme == .http && mayGoDirectly
    }

    private var hasAdapters: Bool {
        if resources.shared.hasInterceptor { return true }
        return plan?.isPassive == false
    }

    /// The request after all adapters but credentials: a fresh copy of the client's, first as the
    /// program's adapters left it, and then changed by the steps of rules.
    /// - Returns: nil when a credential that steps name, or the program, has to be waited for.
    func stepped(
        for target: KnownTarget,
        _ intercepted: UpstreamRequest?
    ) throws(LupinError) -> AdaptedRequest? {
        let original = next?.original ?? request
        let hop = try beginAdapting(target)
        let texts = if let authentication { try authentication.texts() } else { [String: String]() }
        guard let texts, intercepted != nil || !resources.shared.hasInterceptor else {
            keep(original: original)
            return nil
        }
        return try adaptSteps(
            of: intercepted ?? UpstreamRequest(head: request, origin: target.origin),
            original,
            texts,
            from: target,
            by: hop
        )
    }

    /// The request with the credentials of the plan; nil when one has to be waited for.
    func signed(_ base: AdaptedRequest) throws(LupinError) -> AdaptedRequest? {
        guard let authentication else { return base }
        do throws(LupinError) {
            guard let signed = try authentication.adapt(base.request) else { return nil }
            noteSteps(of: signed)
            return AdaptedRequest(signed, hop: base.hop, known: base.known)
        } catch {
            throw noteFailure(error)
        }
    }

    /// Waits for the credential that an adapter lacks.
    func fetchCredential() async throws(LupinError) {
        do throws(LupinError) {
            try await authentication?.fetchMissing()
        } catch {
            throw noteFailure(error)
        }
    }

    /// The request after all adapters, with or without credentials, after every wait for them.
    ///
    /// For questions beside the attempts of the exchange.
    func adapt(
        for target: KnownTarget,
        signs: Bool
    ) async throws(LupinError) -> AdaptedRequest {
        let isPlain = goesAsItCame
        self.target = target
        next = nil
        defer { next = nil }
        while true {
            let made =
                signs
                ? try adapted(for: target, isPlain: isPlain)
                : try base(for: target, isPlain: isPlain)
            if let made { return made }
            try await meet(lackingNeed)
        }
    }

    /// Marks what is not forwarded; returns the way of the client's request.
    private func beginAdapting(_ target: KnownTarget) throws(LupinError) -> NextHop {
        let hop = try nextHop(to: target)
        markHopByHop(for: hop)
        return hop
    }

    /// Runs the steps of the rules, which need no wait.
    private func adaptSteps(
        of begun: consuming UpstreamRequest,
        _ original: RequestHead,
        _ texts: [String: String],
        from target: KnownTarget,
        by hop: NextHop
    ) throws(LupinError) -> AdaptedRequest {
        var adapted = begun
        do {
            let adapter = StepAdapter(plan)
            try adapter.apply(to: &adapted, original: original, id: record.id, tokens: texts)
            attachCookies(to: &adapted)
            try compress(&adapted)
        } catch {
            throw noteFailure(error)
        }
        noteSteps(of: adapted)
        return try directed(adapted, from: target, by: hop)
    }

    /// An adapted request with the way to its final origin.
    private func directed(
        _ adapted: consuming UpstreamRequest,
        from target: KnownTarget,
        by clientHop: NextHop
    ) throws(LupinError) -> AdaptedRequest {
        let isElsewhere = adapted.origin != target.origin
        if isElsewhere, let denial = snapshot.access.denial(ofName: adapted.origin.host) {
            throw denial
        }
        var hop = clientHop
        if isElsewhere {
            hop = try nextHop(to: adapted.origin)
            let isByOther = hop.connectedParent?.proxy != clientHop.connectedParent?.proxy
            if isByOther { hop = hop.withoutLogin }
        }
        // The fields were kept for the parent proxy on the client's way, and for no other peer.
        if hop.parent == nil || hop.parent != clientHop.parent {
            HopByHop.dropProxyAuthorization(&adapted.head.fields)
        }
        return AdaptedRequest(consume adapted, hop: hop, known: isElsewhere ? nil : target)
    }

    /// The client's request, changed by the adapters of an embedding program.
    func intercepted(_ target: KnownTarget) async throws(LupinError) -> UpstreamRequest? {
        guard let interceptor = resources.shared.interceptor else { return nil }
        // Fields of the connection are marked by now.
        var request = UpstreamRequest(head: request, origin: target.origin)
        let state = RequestAdapterState(
            id: record.id,
            attempt: attempts.count + 1,
            original: next?.original ?? request.head,
            tokens: try authentication?.texts() ?? [:]
        )
        awaited = .program
        defer { awaited = nil }
        do {
            request = try await interceptor.adapt(request, using: state)
            if let problem = request.problem {
                throw LupinError(.proxyInternalError, detail: problem, status: 502)
            }
        } catch {
            throw noteFailure(error)
        }
        // Connection-specific fields are not forwarded, even if an adapter added them.
        HopByHop.markAdded(&request.head.fields)
        return request
    }

    private func noteSteps(of request: borrowing UpstreamRequest) {
        record.rules.steps = request.steps.notes
    }

    private func noteFailure(_ error: any Error) -> LupinError {
        let failure = adaptationFailure(error)
        note(.failedToAdapt(failure))
        return failure
    }

    /// The error of a failed adaptation, Alamofire's `requestAdaptationFailed`: nothing is sent.
    private func adaptationFailure(_ error: any Error) -> LupinError {
        switch error {
        case let error as LupinError: error
        case let problem as StepProblem:
            LupinError(
                .proxyInternalError,
                host: record.origin?.host.text,
                detail: problem.sentence,
                side: .config,
                status: 502
            )
        default:
            LupinError(
                .proxyInternalError,
                host: record.origin?.host.text,
                detail: "An adapter failed: \(error)",
                status: 502
            )
        }
    }

    /// Marks the fields that are not forwarded, and notes what they demand.
    func markHopByHop(for hop: NextHop) {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        wishes = HopByHop.mark(
            request: &fields,
            keepsProxyAuthorization: hop.leavesProxyAuthorization
        )
        swap(&fields, &request.fields)
        // RFC 9110 §7.8: Upgrade in an HTTP/1.0 request is ignored.
        switch request.version {
        case .http10: wishes.upgrade = nil
        case .http11: break
        case .http2: wishes.upgrade = protocolName.map(UpgradeList.init(named:))
        }
    }

    /// Whether the path has dot segments: then its normal form is sent.
    private var hasDotSegments: Bool {
        let storage = request.fields.storage
        let path = storage.span.extracting(request.pathAndQuery.range)
        return NormalPath.mayHaveDotSegments(path) && NormalPath(path).differsInDotSegments
    }

    /// The way of requests to `target`.
    private func nextHop(to target: KnownTarget) throws(LupinError) -> NextHop {
        if isDirect(to: target) { return target.directHop }
        guard mayGoDirectly else { return try nextHop(to: target.origin) }
        let security = try originSecurity(for: target.origin)
        if let hop = target.secureHop, case .secure(_, security, through: nil) = hop { return hop }
        let hop = NextHop.secure(target.origin, security, through: nil)
        target.secureHop = hop
        return hop
    }

    /// Whether neither the settings nor a rule name a parent proxy.
    private var mayGoDirectly: Bool {
        guard snapshot.isDirect else { return false }
        guard let plan else { return true }
        return !plan.hasProxy
    }

    private func nextHop(to origin: Origin) throws(LupinError) -> NextHop {
        var parent = try parentHop(to: origin)
        guard origin.scheme == .https else { return parent.map(NextHop.parent) ?? .origin(origin) }
        if let proxy = parent?.proxy, proxy.userinfo == nil, interceptedTunnel == nil {
            parent?.login = ownLogin
        }
        return .secure(origin, try originSecurity(for: origin), through: parent)
    }

    /// The client's own Proxy-Authorization for the CONNECT that lupin makes for its request; nil
    /// where it is for lupin, or for one connection alone.
    var ownLogin: String? {
        guard client.user == nil, let login = request.fields.value(of: .proxyAuthorization),
            ConnectionLogin(credentials: login.utf8Span.span) == nil
        else { return nil }
        return login
    }

    /// Whether no machine on a network reads what is sent to `origin`.
    func protects(_ origin: Origin) -> Bool {
        snapshot.upstream.settings.protects(origin, override: plan?.proxy)
    }

    /// The way of a tunnel to `origin`.
    func tunnelHop(to origin: Origin) throws(LupinError) -> NextHop {
        try parentHop(to: origin).map(NextHop.parent) ?? .origin(origin)
    }

    func parentHop(to origin: Origin) throws(LupinError) -> ParentHop? {
        guard !mayGoDirectly, var parent = try connector.parent(to: origin) else { return nil }
        let parentTunnel = interceptedTunnel?.parentTunnel
        parentTunnel?.show(to: &parent, for: origin, isRedirected: hasMoved)
        return parent
    }

    private func originSecurity(for origin: Origin) throws(LupinError) -> OriginSecurity {
        if snapshot.demandsTrustRule, plan?.trust == nil {
            throw .noTrustRule(for: origin)
        }
        var demand = SecurityDemand()
        demand.clientCertificate = clientCertificate
        if let plan {
            if let trust = plan.trust { demand.trust = trust }
            demand.tls = plan.tls
        }
        return try snapshot.upstream.securities.security(demand)
    }
}
