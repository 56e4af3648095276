// The checks that a request must pass before its rules count for anything.
import LupinCore
import LupinPolicy

extension DryRunResult {
    /// A check that refuses the request or lets it pass.
    package struct Check: Sendable {
        package var setting: String
        package var passes: Bool
        /// Without a full stop.
        package var sentence: String

        /// The `setting` of the check of a tunnel's server name, which is a field of the record.
        static let serverName = "tunnel.sni"
    }

    private var settings: Settings { dryRun.configuration.settings }

    /// The checks in the order of the engine.
    package var checks: [Check] {
        let access = dryRun.access
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
                Self.clause(denial?.detail ?? "")
            )
        }
        if request.isByConnect {
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
        if answer == nil, case .none(let obstacle) = way {
            check("upstream.proxy", false, "", "\(obstacle): 502")
        }
        if let check = nameCheck { checks.append(check) }
        if settings.access.paths == .strict, !isPurge,
            let other = dryRun.rules.otherReading(of: subject)
        {
            check("access.paths", false, "", "\(Self.clause(other.sentence)): 400")
        }
        if let check = credentialCheck { checks.append(check) }
        if let check = echoCheck { checks.append(check) }
        checks += [pageCheck, filePageCheck].compactMap(\.self)
        return checks
    }

    /// Whether names inside tunnels are judged.
    package var judgesNames: Bool { dryRun.rules.judgesNames || dryRun.access.judgesNames }

    /// Why the tunnel must not carry TLS that asks for `name`; nil when it may, or when this is no
    /// tunnel.
    package func objection(to name: String) -> String? {
        guard case .connect(.tunnel) = entry, judgesNames else { return nil }
        return dryRun.rules.objection(
            to: name,
            inside: request.connectSubject,
            access: dryRun.access,
            settings: settings
        )
    }

    /// Whether the TLS inside the CONNECT may ask for its server name.
    private var nameCheck: Check? {
        guard let name = request.serverName, case .connect(let decision) = entry else { return nil }
        var objection: String?
        switch decision {
        case .answer: return nil
        case .tunnel:
            objection = self.objection(to: name)
                .map { "TLS that asks for \(name) gets no tunnel: \($0)" }
        case .intercept:
            // For an address this depends on more than the rules.
            guard request.origin.host.address == nil else { return nil }
            if Host(name) != request.origin.host {
                objection = "requests inside TLS that asks for \(name) get 421"
            }
        }
        return Check(
            setting: Check.serverName,
            passes: objection == nil,
            sentence: objection ?? "the TLS inside may ask for \(name)"
        )
    }

    private func denial(of origin: Origin) -> LupinError? {
        if let denial = dryRun.access.denial(ofName: origin.host) { return denial }
        guard let address = origin.host.address else { return nil }
        return denial(of: address, for: origin)
    }

    /// Why `address`, which `origin` resolves to, may not be connected to; nil when it may.
    func denial(of address: IPAddress, for origin: Origin) -> LupinError? {
        dryRun.access.denial(
            of: address,
            port: origin.port,
            host: origin.host,
            client: request.client,
            isHostFromFile: preview?.steps.isHostFromFile ?? false
        )
    }

    /// Whether credentials are attached that only the owner's requests may use.
    private var isForOwner: Bool {
        plan.isForOwner(
            at: request.origin,
            isConnect: !entry.showsRequest || request.head.method == .connect,
            defaultCertificate: settings.upstream.tls.clientCertificate
        )
    }

    /// Which users may use the credentials; not decided when the user is unknown.
    private var credentialCheck: Check? {
        guard isForOwner, !isPurge else { return nil }
        let whom: String
        switch settings.access.credentials {
        case .any: whom = "anybody"
        case .owner: whom = "lupin's user and root"
        case .users(let names):
            whom = names.joined(separator: ", ")
            if let user = request.user {
                let mayUse = settings.access.credentials.admits(user, owner: nil)
                return Check(
                    setting: "access.credentials",
                    passes: mayUse,
                    sentence: mayUse
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

    /// Whether the response would repeat the credentials; nil where it doesn't.
    private var echoCheck: Check? {
        let method = request.head.method
        guard entry.showsRequest, isForOwner, method.echoesRequest else { return nil }
        return Check(
            setting: "access",
            passes: false,
            sentence: "\(Self.clause(Plan.refusal(ofEcho: method))): 403"
        )
    }

    /// Whether a page of another site may use the credentials; nil for a request of no such page.
    private var pageCheck: Check? {
        let pages = request.head.foreignPages(at: request.origin, first: request.origin)
        guard !isPurge, let page = pages.first else { return nil }
        let refused = plan.refusedPage(
            in: pages,
            at: request.origin,
            isConnect: !entry.showsRequest || request.head.method == .connect,
            defaultCertificate: settings.upstream.tls.clientCertificate
        )
        let refusal = refused.map { Plan.refusal(of: $0, by: plan, at: request.origin) }
        if refusal == nil, !plan.isForOwnPages { return nil }
        return Check(
            setting: RuleKey.crossSite.rawValue,
            passes: refusal == nil,
            sentence: refusal.map { "\(Self.clause($0)): 403" }
                ?? "\(page.text) may use the credentials of this request"
        )
    }

    /// What a page of another site does not get of a folder; nil for a request of no such page.
    ///
    /// Which files are for their owner alone, no rule says.
    private var filePageCheck: Check? {
        guard entry.showsRequest, !isPurge, request.head.method != .connect else { return nil }
        let pages = request.head.foreignPages(at: request.origin, first: request.origin)
        guard let page = plan.refusedPageOfFile(in: pages) else { return nil }
        return Check(
            setting: RuleKey.crossSite.rawValue,
            passes: true,
            sentence: "\(page.text) gets no file that its owner alone may read: 403"
        )
    }

    /// Drops the full stop, for use inside another sentence.
    private static func clause(_ sentence: String) -> String {
        sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    }
}
