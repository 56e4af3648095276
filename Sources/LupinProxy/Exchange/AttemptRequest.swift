// The request that an attempt sends, and the way that it takes.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Attempt {
    /// What an attempt sends.
    enum Sent {
        /// The client's request as it came, to its own target in clear text.
        case asItCame(KnownTarget)
        case adapted(AdaptedRequest)

        /// The request; made from that of `exchange` where nothing was changed.
        func adapted(of exchange: Exchange) -> AdaptedRequest {
            switch self {
            case .adapted(let adapted): adapted
            case .asItCame(let target):
                AdaptedRequest(
                    UpstreamRequest(head: exchange.request, origin: target.origin),
                    hop: target.directHop,
                    known: target
                )
            }
        }
    }

    var adapted: AdaptedRequest { sent.adapted(of: exchange) }

    /// Whether it goes to another URL than the client's.
    var goesElsewhere: Bool {
        if exchange.hasMoved { return true }
        guard case .adapted(let adapted) = sent else { return false }
        // The client's own target has the origin of the record.
        let isElsewhere = adapted.known == nil && adapted.origin != exchange.record.origin
        return isElsewhere || adapted.request.steps.isTargetChanged
    }

    var origin: Origin {
        switch sent {
        case .adapted(let adapted): adapted.origin
        case .asItCame(let target): target.origin
        }
    }

    /// The way that it takes.
    var hop: NextHop {
        switch sent {
        case .adapted(let adapted): adapted.hop
        case .asItCame(let target): target.directHop
        }
    }

    /// The client's own target, unless the request was directed elsewhere.
    var known: KnownTarget? {
        switch sent {
        case .adapted(let adapted): adapted.known
        case .asItCame(let target): target
        }
    }

    /// The recent health of the origin.
    func health(now: UInt64) -> OriginHealths.Record {
        let healths = exchange.resources.shared.health
        if let known { return known.health(in: healths, now: now) }
        return healths.record(of: origin, now: now)
    }

    /// The host stands literally in the rules file.
    var isHostFromFile: Bool {
        if case .adapted(let adapted) = sent { adapted.isHostFromFile } else { false }
    }

    /// The coding that the body gets; nil for none.
    var coding: ContentCoding? {
        if case .adapted(let adapted) = sent { adapted.request.coding } else { nil }
    }

    /// Whether the origin can detect a repetition of the request.
    var hasIdempotencyKey: Bool {
        switch sent {
        case .adapted(let adapted): adapted.head.hasIdempotencyKey
        case .asItCame: exchange.request.hasIdempotencyKey
        }
    }

    /// The framing of the body; the length of one that is compressed while it is sent is unknown.
    var framing: BodyFraming {
        guard let coding else { return exchange.framing }
        return exchange.heldBody(under: coding).map { .length(UInt64($0.count)) } ?? .chunked
    }

    /// The target as a parent proxy sees it.
    var target: String {
        if exchange.request.method == .connect { return origin.hostAndPort }
        return "\(origin.scheme.name)://\(origin.authority)\(adapted.head.pathText)"
    }

    /// Sends the head.
    func sendHead(over upstream: any Upstream) throws(LupinError) {
        switch sent {
        case .asItCame(let target):
            try exchange.sendHead(
                over: upstream,
                exchange.options(target: .origin, target.origin, exchange.framing)
            )
        case .adapted(let adapted): try adapted.begin(on: upstream, options(for: adapted))
        }
    }

    private func options(for adapted: AdaptedRequest) -> RequestOptions {
        let isConnect = exchange.request.method == .connect
        guard case .parent(let parent) = adapted.hop else {
            let form = isConnect ? RequestOptions.Target.authority : .origin
            return exchange.options(target: form, adapted.origin, framing)
        }
        let authorization = exchange.resources.shared.servers.parentCredentials.field(
            for: parent.proxy,
            method: adapted.head.method,
            uri: target,
            content: framing.isEmpty ? [] : nil
        )
        return exchange.options(
            target: isConnect ? .authority : .absolute(adapted.origin.scheme),
            adapted.origin,
            framing,
            proxyAuthorization: authorization ?? parent.login
        )
    }

    /// The fields that describe the body as it is sent.
    var sentFields: FieldSection {
        var fields = adapted.head.fields
        if let coding { fields.set(name: "Content-Encoding", value: coding.token) }
        return fields
    }

    /// Whether the body may have to be sent again.
    func mayComeBack(_ upstream: any Upstream) -> Bool {
        // An origin may refuse a stream unread at any time, whatever the method.
        if upstream.version == .http2 || exchange.mayRepeatBody
            || hop.parent?.userinfo != nil
        {
            return true
        }
        guard let policy = exchange.plan?.retry else {
            return upstream.isReused && RetryPolicy.safeMayRepeat(exchange.request.method)
        }
        // Even for a method that is not repeated: 421 and 425 mean that nothing was processed.
        if policy.repairsWhatWasSent { return true }
        return upstream.isReused
            && policy.mayRepeat(exchange.request.method, hasIdempotencyKey: hasIdempotencyKey)
    }
}

extension Exchange {
    /// What the next hop needs beyond a request's head.
    fileprivate func options(
        target: RequestOptions.Target,
        _ origin: Origin,
        _ framing: BodyFraming,
        proxyAuthorization: String? = nil
    ) -> RequestOptions {
        // In one expression: changing it afterwards would copy it.
        RequestOptions(
            target: target,
            authority: target == .authority ? origin.hostAndPort : origin.authority,
            framing: framing,
            via: via(received: request.version),
            acceptsTrailers: acceptsTrailers,
            upgrade: wishes.upgrade?.text,
            proxyAuthorization: proxyAuthorization
        )
    }

    /// Sends the head of the client's request as it came.
    ///
    /// It is moved out and back, since a copy would count references.
    fileprivate func sendHead(
        over upstream: any Upstream,
        _ options: borrowing RequestOptions
    ) throws(LupinError) {
        var head = RequestHead()
        swap(&head, &request)
        defer { swap(&head, &request) }
        try upstream.begin(head, options)
    }
}
