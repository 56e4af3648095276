// What the rules do to a request, computed from the rules file alone, without any network.
import LupinCore
import LupinProxy
import LupinRules

/// The content of `lupin explain`.
struct Explanation {
    /// A check that refuses the request or lets it pass.
    struct Check {
        var setting: String
        var passes: Bool
        /// Without a full stop.
        var sentence: String
    }

    /// A setting that applies to the request, as the file writes it.
    struct SettingValue {
        var name: String
        var text: String
        /// nil for a default.
        var line: Int?
        /// Whether to print it even when most settings are left out.
        var isKey: Bool
    }

    /// How the request reaches lupin, and what lupin does about TLS.
    enum Entry {
        /// By http: every rule sees it.
        case plain
        /// For lupin itself, which shows its own page.
        case own
        /// In a CONNECT, of which lupin decides this.
        case connect(ConnectDecision)

        var word: String {
            switch self {
            case .plain, .own: "none"
            case .connect(.intercept): "intercept"
            case .connect(.tunnel): "tunnel"
            case .connect(.answer): "respond"
            }
        }

        var isOwn: Bool { if case .own = self { true } else { false } }

        /// Whether lupin sees the request, and not only a CONNECT.
        var showsRequest: Bool {
            switch self {
            case .plain, .own, .connect(.intercept): true
            case .connect(.answer), .connect(.tunnel): false
            }
        }
    }

    let request: ExplainedRequest
    let configuration: Configuration
    let written: WrittenFile?
    let entry: Entry
    let verdicts: [RuleVerdict]
    let plan: Plan
    let keys: [EffectiveKey]
    /// nil when lupin doesn't see the request, or sends nothing upstream.
    let preview: RequestPreview?
    /// The past exchange that the request is from; nil for a request of the command line.
    let record: RecordedExchange?
    /// Clients for which a running lupin currently tunnels the host.
    var bypasses: [RunningBypass] = []
    private let access: AccessPolicy
    private(set) var checks: [Check] = []
    private(set) var settings: [SettingValue] = []

    init(
        _ request: ExplainedRequest,
        _ configuration: Configuration,
        _ written: WrittenFile?,
        record: RecordedExchange? = nil
    ) {
        self.request = request
        self.record = record
        self.configuration = configuration
        self.written = written
        access = AccessPolicy(
            configuration.settings,
            listeners: configuration.settings.listeners.map { ($0.address, $0.port) }
        )
        let rules = Explanation.labelled(configuration.rules, written)
        let redactor = Explanation.redactor(configuration)
        let entry = Explanation.entry(of: request, rules, configuration.settings)
        self.entry = entry
        let subject = Explanation.subject(of: request, entry)
        verdicts = rules.verdicts(for: subject, redactor: redactor)
        plan = rules.plan(for: subject)
        keys = rules.effectiveKeys(of: plan, for: subject)
        if subject.isConnect || plan.respond != nil || entry.isOwn {
            preview = nil
        } else {
            preview = Explanation.preview(
                of: request,
                plan,
                rules,
                configuration,
                labels: written?.rules.flatMap(\.labels) ?? [],
                redactor
            )
        }
        checks = makeChecks()
        settings = makeSettings()
    }

    var rules: [Rule] { configuration.rules.rules }

    /// The subject to match rules with: the request, or the CONNECT when that is all lupin sees.
    private static func subject(of request: ExplainedRequest, _ entry: Entry) -> MatchSubject {
        entry.showsRequest && request.head.method != .connect
            ? request.subject : request.connectSubject
    }

    /// The rules, with labels in place of the secrets in their steps.
    private static func labelled(_ rules: RuleSet, _ written: WrittenFile?) -> RuleSet {
        RuleSet(
            rules.rules.enumerated().map { index, rule in
                let labels = written.flatMap { file in
                    file.rules.indices.contains(index) ? file.rules[index].labels : nil
                }
                return rule.labellingSecrets(labels ?? [])
            }
        )
    }

    private static func redactor(_ configuration: Configuration) -> Redactor {
        Redactor(
            settings: configuration.settings.log.redact,
            secrets: configuration.secrets,
            digest: { _ in 0 }
        )
    }

    private static func entry(
        of request: ExplainedRequest,
        _ rules: RuleSet,
        _ settings: Settings
    ) -> Entry {
        guard request.origin.scheme == .https || request.head.method == .connect else {
            return request.origin.isSetupPage && rules.leavesSetupHost ? .own : .plain
        }
        return .connect(
            rules.decision(
                on: request.connectSubject,
                respond: rules.plan(for: request.connectSubject).respond,
                settings: settings
            )
        )
    }

    private static func preview(
        of request: ExplainedRequest,
        _ plan: Plan,
        _ rules: RuleSet,
        _ configuration: Configuration,
        labels: [String],
        _ redactor: Redactor
    ) -> RequestPreview? {
        guard request.head.method != .connect else { return nil }
        var head = request.head
        let parent = configuration.settings.upstream.nextHop(
            for: request.origin.scheme,
            host: request.origin.host,
            port: request.origin.port,
            override: plan.proxy
        )
        let isPlain = request.origin.scheme == .http
        HopByHop.mark(
            request: &head.fields,
            keepsProxyAuthorization: isPlain && parent != nil && parent?.userinfo == nil
        )
        return RequestPreview(
            of: head,
            at: request.origin,
            plan: plan,
            rules: rules,
            tokens: configuration.settings.tokens,
            labels: labels,
            via: configuration.settings.upstream.via ? "1.1 lupin-<run>" : nil,
            redactor: redactor
        )
    }

    // MARK: Where it goes

    /// The origin after the steps of rules.
    var finalOrigin: Origin { preview?.origin ?? request.origin }

    /// The parent proxy for the request; nil for a direct connection.
    var parent: ParentProxy? {
        let isTunnel = if case .connect(.tunnel) = entry { true } else { false }
        return configuration.settings.upstream.nextHop(
            for: isTunnel ? .https : finalOrigin.scheme,
            host: finalOrigin.host,
            port: finalOrigin.port,
            override: plan.proxy
        )
    }

    /// The credentials that lupin attaches to the request.
    var attachments: Attachments {
        Attachments(
            of: plan,
            defaultCertificate: configuration.settings.upstream.tls.clientCertificate,
            at: finalOrigin,
            by: parent,
            version: configuration.version
        )
    }

    /// Whether credentials are attached that only the owner's requests may use.
    private var isForOwner: Bool {
        plan.isForOwner(
            at: request.origin,
            isConnect: !entry.showsRequest || request.head.method == .connect,
            defaultCertificate: configuration.settings.upstream.tls.clientCertificate
        )
    }

    /// The response that lupin sends itself.
    var answer: CannedResponse? {
        guard var response = plan.respond else { return nil }
        if case .connect(.answer) = entry { response.status = response.status(answering: .connect) }
        return response
    }

    /// Formats fields; the values of sensitive ones are redacted.
    func shown(_ fields: [(name: String, value: String)]) -> [String] {
        let redactor = Explanation.redactor(configuration)
        return fields.map { name, value in
            let isHidden = redactor.hides(field: name.utf8Span.span)
            let shown = isHidden ? "REDACTED" : redactor.cleaned(value)
            return "\(name): \(shown.replacing("REDACTED.0000", with: "REDACTED"))"
        }
    }

    /// The name of the trust policy for the origin; nil without TLS to it.
    var trustName: String? {
        guard finalOrigin.scheme == .https, entry.showsRequest else { return nil }
        return (plan.trust ?? .system).name
    }

    /// Whether lupin answers the request itself, and drops what the cache holds for its URL.
    var isPurge: Bool { preview != nil && request.head.method == .purge && plan.cache != nil }

    /// The text of a key of a rule as the file writes it.
    func text(of key: EffectiveKey) -> String {
        guard let written, written.rules.indices.contains(key.rule) else { return "" }
        return written.rules[key.rule].value(of: key.key)?.text ?? ""
    }

    /// `lupin.yaml:12`.
    func place(_ line: Int) -> String {
        let name = configuration.fileName?.split(separator: "/").last ?? "rules"
        return "\(name):\(line)"
    }
}

// MARK: Checks

extension Explanation {
    private func makeChecks() -> [Check] {
        let settings = configuration.settings
        var checks: [Check] = []
        func check(_ setting: String, _ passes: Bool, _ yes: String, _ no: String) {
            checks.append(Check(setting: setting, passes: passes, sentence: passes ? yes : no))
        }
        let client = request.client
        check(
            "access.clients",
            access.admits(client: client),
            "\(client.text) is served",
            "\(client.text) is not listed: 403"
        )
        for origin in finalOrigin == request.origin ? [finalOrigin] : [request.origin, finalOrigin]
        {
            let denial = denial(of: origin)
            check(
                "access.deny_targets",
                denial == nil,
                origin.host.address == nil
                    ? "\(origin.host.text) may be reached, if its addresses may"
                    : "\(origin.host.text) may be reached",
                Explanation.clause(denial?.detail ?? "")
            )
        }
        if request.origin.scheme == .https || request.head.method == .connect {
            let port = request.origin.port
            check(
                "access.connect_ports",
                access.allowsConnect(toPort: port),
                "CONNECT to port \(port) is allowed",
                "port \(port) is not listed: 403"
            )
        }
        if settings.upstream.tls.demandsTrustRule, finalOrigin.scheme == .https, answer == nil {
            check(
                "upstream.tls.require_trust_rule",
                plan.trust != nil && entry.showsRequest,
                "a rule says how to trust the origin",
                "no rule says how to trust the origin: 403"
            )
        }
        if let check = nameCheck { checks.append(check) }
        if let check = credentialCheck { checks.append(check) }
        return checks
    }

    /// Whether names inside tunnels are judged.
    var judgesNames: Bool { configuration.rules.judgesNames || access.judgesNames }

    /// Whether the TLS inside the CONNECT may ask for its server name.
    private var nameCheck: Check? {
        guard let name = request.serverName, case .connect(let decision) = entry else { return nil }
        var objection: String?
        switch decision {
        case .answer: return nil
        case .tunnel where judgesNames:
            objection = configuration.rules.objection(
                to: name,
                inside: request.connectSubject,
                access: access,
                settings: configuration.settings
            ).map { "TLS that asks for \(name) gets no tunnel: \($0)" }
        case .tunnel: break
        case .intercept:
            // With an address it depends on more than the rules.
            guard request.origin.host.address == nil else { return nil }
            if Host(name) != request.origin.host {
                objection = "requests inside TLS that asks for \(name) get 421"
            }
        }
        return Check(
            setting: "tunnel.sni",
            passes: objection == nil,
            sentence: objection ?? "the TLS inside may ask for \(name)"
        )
    }

    private func denial(of origin: Origin) -> LupinError? {
        if let denial = access.denial(ofName: origin.host) { return denial }
        guard let address = origin.host.address else { return nil }
        return access.denial(
            of: address,
            port: origin.port,
            host: origin.host,
            client: request.client,
            isHostFromFile: preview?.steps.isHostFromFile ?? false
        )
    }

    /// Which users may use the credentials; not decided when the user is unknown.
    private var credentialCheck: Check? {
        guard isForOwner, !isPurge else { return nil }
        let whom: String
        switch configuration.settings.access.credentials {
        case .any: whom = "anybody"
        case .owner: whom = "lupin's user and root"
        case .users(let names):
            whom = names.joined(separator: ", ")
            if let user = request.user {
                return Check(
                    setting: "access.credentials",
                    passes: names.contains(user),
                    sentence: names.contains(user)
                        ? "\(user) may use the credentials of this request"
                        : "\(user) may not use the credentials of this request: 403"
                )
            }
        }
        return Check(
            setting: "access.credentials",
            passes: true,
            sentence: "the credentials of this request are for \(whom); others get 403"
        )
    }

    /// Drops the full stop, for use inside another sentence.
    private static func clause(_ sentence: String) -> String {
        sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    }
}

// MARK: Settings

extension Explanation {
    /// Sections and settings that apply to a single request.
    private static let sections = [
        "intercept", "log", "timeouts", "upstream", "upstream.dns", "upstream.pool", "upstream.tls",
    ]
    private static let usual: Set<String> = [
        "log.to", "timeouts.connect", "timeouts.idle", "timeouts.response_header",
        "timeouts.total", "upstream.proxy",
    ]

    private func makeSettings() -> [SettingValue] {
        // A setting that a rule overrides is listed among the rule's keys.
        let set = Set(keys.filter { $0.part == .holds }.map(\.key))
        var values: [SettingValue] = SettingsTable.settings.compactMap { setting in
            let isOurs = Explanation.sections.contains(setting.section)
            guard setting.isAvailable, isOurs, !set.contains(setting.name),
                setting.name != "upstream.proxy" || plan.proxy == nil
            else { return nil }
            let own = written?.settings[setting.name]
            return SettingValue(
                name: setting.name,
                text: own?.text ?? setting.defaultText,
                line: own?.line,
                isKey: own != nil || Explanation.usual.contains(setting.name)
            )
        }
        if let line = configuration.settingLines["log"], case .off = configuration.settings.log.to {
            values.removeAll { $0.name.hasPrefix("log.") }
            values.append(SettingValue(name: "log", text: "off", line: line, isKey: true))
        }
        if trustName != nil, plan.trust == nil {
            values.append(SettingValue(name: "trust", text: "system", line: nil, isKey: true))
        }
        return values
    }
}
