// What goes upstream for a client's request, which way, and how often it is tried.
import LupinCore
import LupinIO
import LupinWire

/// A request as it goes upstream: the client's, changed by the steps of its rules.
///
/// A class, because several functions pass it on and a copy of its parts costs 200 instructions.
final class AdaptedRequest {
    let head: RequestHead
    let origin: Origin
    let hop: NextHop
    /// The host stands literally in the rules file.
    let isHostFromFile: Bool
    /// The client's own target, whose pool shelf is known.
    let target: KnownTarget?

    init(
        head: RequestHead,
        origin: Origin,
        hop: NextHop,
        isHostFromFile: Bool,
        target: KnownTarget? = nil
    ) {
        self.head = head
        self.origin = origin
        self.hop = hop
        self.isHostFromFile = isHostFromFile
        self.target = target
    }
}

extension Exchange {
    /// The request as it goes upstream: a fresh copy of the client's, changed by the steps.
    func adapt(for target: KnownTarget) throws(LupinError) -> AdaptedRequest {
        let isDirect = snapshot.isDirect && plan?.proxy == nil
        let isPlain = target.origin.scheme == .http
        let hop = isDirect && isPlain ? target.directHop : try nextHop(to: target)
        if plan?.steps.isEmpty ?? true, !hasDotSegments {
            markHopByHop(for: hop)
            return AdaptedRequest(
                head: request,
                origin: target.origin,
                hop: hop,
                isHostFromFile: false,
                target: isDirect && isPlain ? target : nil
            )
        }
        // Kept before the marks, which would otherwise be made in a copy each time.
        let original = request
        markHopByHop(for: hop)
        return try applySteps(target.origin, hop, original)
    }

    private func applySteps(
        _ clientOrigin: Origin,
        _ clientHop: NextHop,
        _ original: RequestHead
    ) throws(LupinError) -> AdaptedRequest {
        var origin = clientOrigin
        var head = request
        let result: AppliedSteps
        do throws(StepProblem) {
            result = try RequestSteps.apply(
                plan?.steps ?? [],
                to: &head,
                original: original,
                id: record.id.text,
                origin: &origin
            )
        } catch {
            throw LupinError(
                .proxyInternalError,
                host: origin.host.text,
                detail: error.sentence,
                side: .config,
                status: 502
            )
        }
        let dropped = result.dropped.map { "\($0.step) (dropped: \($0.reason))" }
        record.rules.steps = result.applied + dropped
        if origin != clientOrigin, let denial = snapshot.access.denial(ofName: origin.host) {
            throw denial
        }
        let hop = origin == clientOrigin ? clientHop : try nextHop(to: origin)
        // They were kept for the parent on the client's way, and for no one else.
        if hop.parent != clientHop.parent { HopByHop.dropProxyAuthorization(&head.fields) }
        return AdaptedRequest(
            head: head,
            origin: origin,
            hop: hop,
            isHostFromFile: result.isHostFromFile
        )
    }

    /// Marks the fields that stay behind, and notes what they asked for.
    func markHopByHop(for hop: NextHop) {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        wishes = HopByHop.mark(
            request: &fields,
            keepsProxyAuthorization: hop.parent != nil && hop.parent?.userinfo == nil
        )
        swap(&fields, &request.fields)
        // RFC 9110 §7.8: Upgrade in an HTTP/1.0 request is ignored.
        if request.version == .http10 { wishes.upgrade = nil }
        if request.version == .http2 { wishes.upgrade = protocolName }
    }

    /// Where the path and its normal form differ in dot segments, the normal form is sent.
    private var hasDotSegments: Bool {
        let storage = request.fields.storage
        let path = storage.span.extracting(request.pathAndQuery.range)
        return NormalPath(path).differsInDotSegments
    }

    /// The way that requests to `target` go.
    private func nextHop(to target: KnownTarget) throws(LupinError) -> NextHop {
        guard target.origin.scheme == .https, snapshot.isDirect, plan?.proxy == nil else {
            return try nextHop(to: target.origin)
        }
        let security = try originSecurity(for: target.origin)
        if let hop = target.secureHop, case .secure(_, security, through: nil) = hop { return hop }
        let hop = NextHop.secure(target.origin, security, through: nil)
        target.secureHop = hop
        return hop
    }

    private func nextHop(to origin: Origin) throws(LupinError) -> NextHop {
        let parent = try parentHop(to: origin)
        if origin.scheme == .https {
            return .secure(origin, try originSecurity(for: origin), through: parent)
        }
        return parent.map(NextHop.parent) ?? .origin(origin)
    }

    /// The way that a tunnel to `origin` goes.
    func tunnelHop(to origin: Origin) throws(LupinError) -> NextHop {
        try parentHop(to: origin).map(NextHop.parent) ?? .origin(origin)
    }

    func parentHop(to origin: Origin) throws(LupinError) -> ParentHop? {
        let parent = snapshot.settings.upstream.nextHop(
            for: origin.scheme,
            host: origin.host,
            port: origin.port,
            override: plan?.proxy
        )
        guard let parent else { return nil }
        let isSecure = parent.scheme == .https
        return ParentHop(
            proxy: parent,
            security: isSecure ? try snapshot.securities.security(SecurityDemand()) : nil
        )
    }

    private func originSecurity(for origin: Origin) throws(LupinError) -> OriginSecurity {
        if snapshot.settings.upstream.tls.demandsTrustRule, plan?.trust == nil {
            throw .noTrustRule(for: origin)
        }
        var demand = SecurityDemand()
        demand.clientCertificate = clientCertificate
        if let plan {
            if let trust = plan.trust { demand.trust = trust }
            demand.tls = plan.tls
        }
        return try snapshot.securities.security(demand)
    }

    /// Checks the deny list for a target that a parent proxy will reach: it resolves names
    /// unwatched, but an address that the client wrote is plain to see.
    func checkBehindParent(
        _ origin: Origin,
        _ hop: NextHop,
        isHostFromFile: Bool
    ) throws(LupinError) {
        guard hop.connectedParent != nil, let address = origin.host.address else { return }
        let denial = snapshot.access.denial(
            of: address,
            port: origin.port,
            host: origin.host,
            client: client.address,
            isHostFromFile: isHostFromFile
        )
        if let denial { throw denial }
    }

    /// Sends the request, again where that is safe, until there is a final response's head.
    func obtainResponse(to adapted: AdaptedRequest) async throws(LupinError) -> ParsedResponse {
        try checkBehindParent(
            adapted.origin,
            adapted.hop,
            isHostFromFile: adapted.isHostFromFile
        )
        var replay: BodyReplay?
        while true {
            let attempt = Attempt(adapted, of: self, replay: replay)
            do throws(LupinError) {
                let response = try await attempt.run()
                attempt.close(status: response.status, decision: .deliver, reason: "")
                return response
            } catch {
                let result = attempt.evaluate(error, retries: attempts.count)
                guard case .retry(let reason) = result else {
                    if case .doNotRetry(let reason) = result {
                        attempt.close(error: error, decision: .giveUp, reason: reason)
                    }
                    throw error
                }
                attempt.close(error: error, decision: .retry, reason: reason)
                replay = attempt.replay
                dropUpstream()
                upload = nil
            }
        }
    }
}
