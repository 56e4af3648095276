// What a configuration does with one request, by the engine's own decisions and without a network.
import LupinCaching
package import LupinCore
package import LupinPolicy

/// A configuration that tells what it would do with requests.
package struct DryRun: Sendable {
    package let configuration: Configuration
    /// The rules, with labels in place of the secrets in their steps.
    package let rules: RuleSet
    package let redactor: Redactor
    let access: AccessPolicy
    let labels: [String]

    /// `labels` has, for each rule, what stands for the secrets in its steps.
    package init(_ configuration: Configuration, labels: [[String]] = []) {
        self.configuration = configuration
        self.labels = labels.flatMap { $0 }
        var rules = RuleSet(
            configuration.rules.rules.enumerated().map { index, rule in
                rule.labellingSecrets(labels.indices.contains(index) ? labels[index] : [])
            }
        )
        rules.keptTokens = Set(configuration.settings.exec.variables.map(\.token))
        self.rules = rules
        let settings = configuration.settings
        redactor = Redactor(
            settings: settings.log.redact,
            secrets: configuration.secrets,
            digest: { _ in 0 }
        )
        access = AccessPolicy(
            settings,
            listeners: settings.listeners.map { ($0.address, $0.port) }
        )
    }

    package func result(for request: ExplainedRequest) -> DryRunResult {
        DryRunResult(request, by: self)
    }

    /// How `request` reaches lupin, and what lupin does about TLS.
    func entry(of request: ExplainedRequest) -> DryRunResult.Entry {
        guard request.isByConnect else {
            return request.origin.isSetupPage && rules.leavesSetupHost ? .own : .plain
        }
        return .connect(decision(on: request.connectSubject))
    }

    /// What becomes of a CONNECT.
    func decision(on connect: MatchSubject) -> ConnectDecision {
        rules.decision(
            on: connect,
            respond: rules.plan(for: connect).respond,
            settings: configuration.settings
        )
    }

    /// The parent proxy on the way to `origin`; nil for a direct connection.
    func parent(
        to origin: Origin,
        as scheme: Scheme,
        _ plan: Plan
    ) -> ParentProxy? {
        if case .parent(let parent) = way(to: origin, as: scheme, plan) { parent } else { nil }
    }

    func way(to origin: Origin, as scheme: Scheme, _ plan: Plan) -> UpstreamWay {
        configuration.settings.upstream.way(
            for: scheme,
            host: origin.host,
            port: origin.port,
            override: plan.proxy
        )
    }
}

/// What becomes of one request.
package struct DryRunResult: Sendable {
    /// How the request reaches lupin, and what lupin does about TLS.
    package enum Entry: Sendable {
        /// By http: every rule sees it.
        case plain
        /// For lupin itself, which shows its own page.
        case own
        /// In a CONNECT, for which lupin makes this decision.
        case connect(ConnectDecision)

        package var word: String {
            switch self {
            case .plain, .own: "none"
            case .connect(.intercept): "intercept"
            case .connect(.tunnel): "tunnel"
            case .connect(.answer): "respond"
            }
        }

        package var isOwn: Bool { if case .own = self { true } else { false } }

        /// Whether lupin ends the client's TLS.
        package var isIntercepted: Bool {
            if case .connect(.intercept) = self { true } else { false }
        }

        /// Whether lupin sees the request, and not only a CONNECT.
        package var showsRequest: Bool {
            switch self {
            case .plain, .own, .connect(.intercept): true
            case .connect(.answer), .connect(.tunnel): false
            }
        }
    }

    package let request: ExplainedRequest
    package let entry: Entry
    /// What rules are matched with: the request, or the CONNECT when that is all lupin sees.
    package let subject: MatchSubject
    package let plan: Plan
    /// nil when lupin doesn't see the request, or sends nothing upstream.
    package let preview: RequestPreview?
    let dryRun: DryRun

    fileprivate init(_ request: ExplainedRequest, by dryRun: DryRun) {
        self.request = request
        self.dryRun = dryRun
        entry = dryRun.entry(of: request)
        subject =
            entry.showsRequest && request.head.method != .connect
            ? request.subject : request.connectSubject
        plan = dryRun.rules.plan(for: subject)
        if subject.isConnect || plan.respond != nil || entry.isOwn {
            preview = nil
        } else {
            preview = Self.preview(of: request, plan, dryRun)
        }
    }

    private static func preview(
        of request: ExplainedRequest,
        _ plan: Plan,
        _ dryRun: DryRun
    ) -> RequestPreview? {
        guard request.head.method != .connect else { return nil }
        let settings = dryRun.configuration.settings
        var head = request.head
        let parent = dryRun.parent(to: request.origin, as: request.origin.scheme, plan)
        let isPlain = request.origin.scheme == .http
        HopByHop.mark(
            request: &head.fields,
            keepsProxyAuthorization: isPlain && parent != nil && parent?.userinfo == nil
        )
        return RequestPreview(
            of: head,
            at: request.origin,
            plan: plan,
            rules: dryRun.rules,
            tokens: settings.tokens,
            labels: dryRun.labels,
            upstream: settings.upstream,
            redactor: dryRun.redactor,
            standIns: settings.exec.variables.map(\.token)
        )
    }

    // MARK: Where it goes

    /// The origin after the steps of rules.
    package var finalOrigin: Origin { preview?.origin ?? request.origin }

    /// The parent proxy for the request; nil for a direct connection.
    package var parent: ParentProxy? {
        if case .parent(let parent) = way { parent } else { nil }
    }

    /// The rule that names the parent proxy only once the request is seen: by a 407 this proxy
    /// asks nobody, since the client's CONNECT came before; nil where the CONNECT has it as well.
    package var lateProxyRule: String? {
        guard preview != nil, case .connect(.intercept) = entry, let parent,
            parent.userinfo == nil, let rule = plan.proxyRule
        else { return nil }
        let connect = dryRun.rules.plan(for: request.connectSubject)
        return dryRun.parent(to: request.origin, as: .https, connect) == parent ? nil : rule
    }

    /// The way of the request.
    var way: UpstreamWay { dryRun.way(to: finalOrigin, as: wayScheme, plan) }

    private var wayScheme: Scheme {
        if case .connect(.tunnel) = entry { .https } else { finalOrigin.scheme }
    }

    /// Why it goes direct although a parent proxy is set, as a clause; nil where it does not.
    package var proxyException: String? {
        dryRun.configuration.settings.upstream.exception(
            for: wayScheme,
            host: finalOrigin.host,
            port: finalOrigin.port,
            override: plan.proxy
        )
    }

    /// The response that lupin sends itself.
    package var answer: CannedResponse? {
        guard var response = plan.respond else { return nil }
        if case .connect(.answer) = entry { response.status = response.status(answering: .connect) }
        return response
    }

    /// Whether lupin answers the request itself, and drops what the cache holds for its URL.
    package var isPurge: Bool {
        preview != nil && request.head.method == .purge && plan.cache != nil
    }
}
