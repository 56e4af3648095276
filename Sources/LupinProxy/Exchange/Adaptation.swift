// The request as it goes upstream, and the way that it takes.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// A request as it goes upstream: the client's, changed by the adapters.
///
/// A class, because several functions pass it on, and copying its parts costs 200 instructions.
final class AdaptedRequest {
    let request: UpstreamRequest
    let hop: NextHop
    /// The client's own target, unless the request was directed elsewhere.
    let known: KnownTarget?

    init(_ request: UpstreamRequest, hop: NextHop, known: KnownTarget? = nil) {
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

    var head: RequestHead { request.head }
    var origin: Origin { request.origin }
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

    /// The request as it goes upstream: a fresh copy of the client's, changed by all adapters.
    ///
    /// Adapters of an embedding program come first, then the steps of rules, then credentials,
    /// which depend on the final origin.
    func adapt(for target: KnownTarget) async throws(LupinError) -> AdaptedRequest {
        try await authenticate(try await adaptSteps(for: target))
    }

    /// The same request without credentials: that of the cache look-up.
    func adaptSteps(for target: KnownTarget) async throws(LupinError) -> AdaptedRequest {
        let original = request
        let hop = try beginAdapting(target)
        let texts = try await authentication?.texts() ?? [:]
        let begun: UpstreamRequest
        do {
            begun = try await intercepted(target, adapterState(original, texts))
        } catch {
            throw noteFailure(error)
        }
        return try adaptSteps(of: begun, original, texts, from: target, by: hop)
    }

    /// The same request without a wait; nil when a credential needs one.
    ///
    /// With `signs` it has its credentials. No adapter of an embedding program is there.
    func adaptAtOnce(
        for target: KnownTarget,
        signs: Bool
    ) throws(LupinError) -> AdaptedRequest? {
        let original = request
        let hop = try beginAdapting(target)
        var texts: [String: String] = [:]
        if let authentication {
            guard let atHand = try authentication.textsAtHand() else { return nil }
            texts = atHand
        }
        let begun = UpstreamRequest(head: request, origin: target.origin)
        let way = try adaptSteps(of: begun, original, texts, from: target, by: hop)
        guard signs, let authentication else { return way }
        do throws(LupinError) {
            let signed = try authentication.adaptAtHand(way.request, texts: texts)
            return signed.map { noted($0, by: way) }
        } catch {
            throw noteFailure(error)
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
    private func intercepted(
        _ target: KnownTarget,
        _ state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        var request = UpstreamRequest(head: request, origin: target.origin)
        guard let interceptor = resources.shared.interceptor else { return request }
        awaited = .program
        defer { awaited = nil }
        request = try await interceptor.adapt(request, using: state)
        if let problem = request.problem {
            throw LupinError(.proxyInternalError, detail: problem, status: 502)
        }
        // Connection-specific fields are not forwarded, even if an adapter added them.
        HopByHop.markAdded(&request.head.fields)
        return request
    }

    private func noteSteps(of request: borrowing UpstreamRequest) {
        record.rules.steps = request.steps.notes
    }

    /// Attaches the credentials of the plan, as the last adapter.
    func authenticate(_ adapted: AdaptedRequest) async throws(LupinError) -> AdaptedRequest {
        guard let authentication else { return adapted }
        let texts = try await authentication.texts()
        do {
            let state = adapterState(request, texts)
            return noted(try await authentication.adapt(adapted.request, using: state), by: adapted)
        } catch {
            throw noteFailure(error)
        }
    }

    /// A request with its credentials, which goes the way of `adapted`.
    private func noted(_ signed: UpstreamRequest, by adapted: AdaptedRequest) -> AdaptedRequest {
        noteSteps(of: signed)
        return AdaptedRequest(signed, hop: adapted.hop, known: adapted.known)
    }

    private func noteFailure(_ error: any Error) -> LupinError {
        let failure = adaptationFailure(error)
        note(.failedToAdapt(failure))
        return failure
    }

    private func adapterState(
        _ original: RequestHead,
        _ texts: [String: String]
    ) -> RequestAdapterState {
        RequestAdapterState(
            id: record.id,
            attempt: attempts.count + 1,
            original: original,
            tokens: texts
        )
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
        if let proxy = parent?.proxy, proxy.userinfo == nil, enclosure == nil {
            parent?.login = ownLogin
        }
        return .secure(origin, try originSecurity(for: origin), through: parent)
    }

    /// The client's own Proxy-Authorization for the CONNECT that lupin makes for its request; nil
    /// where it is for lupin, or for one connection alone.
    private var ownLogin: String? {
        guard client.user == nil, let login = request.fields.value(of: .proxyAuthorization),
            ConnectionLogin(credentials: login.utf8Span.span) == nil
        else { return nil }
        return login
    }

    /// The way of a tunnel to `origin`.
    func tunnelHop(to origin: Origin) throws(LupinError) -> NextHop {
        try parentHop(to: origin).map(NextHop.parent) ?? .origin(origin)
    }

    func parentHop(to origin: Origin) throws(LupinError) -> ParentHop? {
        mayGoDirectly ? nil : try connector.parent(to: origin)
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
