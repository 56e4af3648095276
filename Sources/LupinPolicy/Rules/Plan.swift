// The combined effect of all matching rules on one exchange.

package import LupinCore

/// The combination of the rules that match one request.
///
/// Immutable, and shared by requests that match the same rules (`PlanCache`).
package final class Plan: Sendable {
    /// Indices into the rule set, in file order.
    package let matched: [Int]
    /// The names of the matching rules, in file order.
    package let names: [String]
    /// The steps of all matching rules, in file order.
    package let steps: [PlannedStep]
    /// The steps as the record names them.
    package let summaries: [String]
    /// The tokens of `auth` steps, in file order.
    package let auth: [String]
    /// The tokens that values of steps name.
    package let namedTokens: [String]
    /// The tokens whose stand-ins are exchanged: those of `auth` steps and of `stand_ins`.
    package let standIns: [String]
    /// Where they are, by their names.
    package let standInLocations: [String: StandInLocations]
    /// What the keys say that are `true` or `false`; nil is no say.
    package let flags: [RuleKey: Bool]
    /// Whether their secrets are masked in responses.
    package let scrubs: Bool
    /// Whether they are only because a stand-in may become a credential.
    package let scrubsForStandIns: Bool
    /// What the rules attach, whatever the target is; see ``Attachments``.
    package let attachments: [Attached]
    /// Whether some of it is for the owner's requests only.
    package let isForOwner: Bool
    /// The pages of other sites that it is for.
    package let crossSite: CrossSite
    /// The name of the last rule that attaches one of these, or a client certificate.
    package let owningRule: String?
    /// The sum of the `delay` steps, which every attempt waits, and an answer of `respond`; nil for
    /// none.
    package let delay: Duration?
    package let compress: CompressStep?
    /// nil leaves redirects to the client.
    package let redirect: RedirectPolicy?
    /// The conditions on a response; nil for none.
    package let validation: ValidationPolicy?
    /// The failures to retry: `RetryPolicy.safe` by default.
    package let retry: RetryPolicy
    // Stored separately because every exchange reads it: taking it from the whole policy would copy
    // several sets.
    /// `retry.hedge`.
    package let hedge: RetryPolicy.Hedge?
    /// `retry.per_try`.
    package let perTry: Duration?
    /// Whether its policy has a budget or a circuit.
    private let countsAttempts: Bool
    /// How responses are stored and reused; nil without a cache.
    package let caching: PlannedCache?
    /// Whether an interrupted download is completed by range.
    package let resumes: Bool
    package let throttle: ThrottleSettings
    /// The name of the rule whose `throttle` holds: all its exchanges share the rate.
    package let throttleRule: String?
    /// The steps for the response, in file order.
    package let responseSteps: [PlannedStep]
    /// Those steps as the record names them.
    package let responseSummaries: [String]
    /// Those of ``steps`` that change the body.
    package let bodyEdits: [PlannedStep]
    /// Those of ``responseSteps`` that change the body.
    package let responseEdits: [PlannedStep]
    /// The response of the last matching rule that has one.
    package let respond: CannedResponse?
    /// The rule that has it, for users.
    package let respondingRule: String?
    /// Its index in the rule set.
    package let respondingIndex: Int?
    /// The rule whose `validate` holds, for users.
    package let validatingRule: String?
    package let timeouts: TimeoutOverrides
    /// Whether they override anything.
    package let hasTimeouts: Bool
    package let log: LogOverrides
    /// Whether the exchange is kept with its bodies; nil is as the settings say: not.
    package let capture: CaptureRule?
    /// Whether a trace begins with the request; false never traces, nil is as the settings say.
    ///
    /// The field is added to each attempt as it is sent, so no adapter has to run for it.
    package let trace: Bool?
    /// nil inherits `upstream.proxy`.
    package let proxy: UpstreamProxy?
    /// The name of the rule that has it.
    package let proxyRule: String?
    /// nil is `NamedTrustPolicy.system`.
    package let trust: NamedTrustPolicy?
    /// nil inherits `upstream.tls.client_cert`, `.some(nil)` sends none.
    package let clientCertificate: CertificateFiles??
    /// The name of the rule that says so.
    package let certificateRule: String?
    package let tls: TLSOverrides
    /// The file of the cookie jar, from the last matching rule that has one or `off`.
    package let cookieJar: String?
    /// The combined requirements for an exchange.
    package let demands: Demands

    /// Whether an answer of `respond` takes its time.
    package var answersSlowly: Bool { !demands.isDisjoint(with: [.waiting, .throttling]) }

    /// Whether there is a proxy, or the wish for none.
    ///
    /// Every exchange asks for it; to look at the proxy from outside would copy it.
    package var hasProxy: Bool { proxy != nil }

    /// The policy of ``caching``, in a copy.
    package var cache: CachePolicy? { caching?.policy }

    /// Combines the rules at `matched`, which ascend.
    ///
    /// For a CONNECT only `log timeouts throttle proxy` apply, and a `respond` whose rule needs no
    /// clear text and does not answer inside.
    init(_ matched: [Int], of set: RuleSet, isConnect: Bool) {
        let rules = matched.map { set.rules[$0] }
        self.matched = matched
        names = rules.map(\.name)
        timeouts = rules.reduce(into: TimeoutOverrides()) { $0.merge($1.timeouts) }
        hasTimeouts = !timeouts.isEmpty
        log = rules.reduce(into: LogOverrides()) { $0.merge($1.log) }
        let leading = rules.last { $0.proxy != nil }
        (proxy, proxyRule) = (leading?.proxy, leading?.name)
        respondingIndex = matched.last { set.rules[$0].responds(isConnect: isConnect) }
        respond = respondingIndex.flatMap { set.rules[$0].respond }
        respondingRule = respondingIndex.map { set.rules[$0].reference }
        throttle = rules.reduce(into: ThrottleSettings()) { $0.merge($1.throttle) }
        throttleRule = rules.last { !$0.throttle.isEmpty }?.name
        // All other keys are about the requests inside.
        let acting = isConnect ? [] : rules
        let traits = acting.map { StepTraits($0.steps) }
        steps = isConnect ? [] : matched.flatMap { set.steps[$0] }
        summaries = steps.map(\.summary)
        auth = traits.flatMap(\.auth)
        namedTokens = StepTraits(acting.flatMap(\.steps)).namedTokens
        (standIns, standInLocations) = Self.standIns(of: acting)
        let scrubbing = set.keepsOne(of: standIns + namedTokens)
        (flags, scrubsForStandIns) = Self.flags(of: rules, acting, scrubbing: scrubbing)
        (scrubs, trace) = (flags[.scrub] ?? false, flags[.trace])
        attachments = RuleKey.allAttachments(of: acting)
        isForOwner = attachments.contains { $0.gate == .owner }
        crossSite = acting.last { $0.crossSite != nil }?.crossSite ?? .none
        owningRule = acting.last(where: Self.owns)?.name
        delay = traits.compactMap(\.delay).reduce(nil) { ($0 ?? .zero) + $1 }
        compress = traits.last { $0.compress != nil }?.compress
        redirect = acting.last { $0.redirect != nil }?.redirect ?? nil
        let validating = acting.last { $0.validation != nil }
        validation = validating?.validation.flatMap { $0.isEmpty ? nil : $0 }
        validatingRule = validating?.reference
        retry = acting.last { $0.retry != nil }?.retry ?? .safe
        (hedge, perTry) = (retry.hedge, retry.perTry)
        countsAttempts = retry.countsAttempts
        caching = (acting.last { $0.cache != nil }?.cache ?? nil).map(PlannedCache.init)
        resumes = flags[.resume] ?? false
        responseSteps = isConnect ? [] : matched.flatMap { set.responseSteps[$0] }
        responseSummaries = responseSteps.map(\.summary)
        (bodyEdits, responseEdits) = (steps.filter(\.editsBody), responseSteps.filter(\.editsBody))
        trust = Self.trust(of: acting)
        (clientCertificate, certificateRule) = Self.certificate(of: acting)
        tls = acting.last { !$0.tls.isEmpty }?.tls ?? TLSOverrides()
        capture = acting.last { $0.capture != nil }?.capture
        cookieJar = acting.last { $0.cookieJar != nil }?.cookieJar ?? nil
        var demands: Demands = []
        for (key, isOn) in flags where isOn { demands.formUnion(key.flag?.demands ?? []) }
        for key in RuleKey.Special.allCases {
            switch key {
            // They select requests, routes or log options, or copy what passes.
            case .name, .match, .stop, .intercept, .log, .timeouts, .proxy, .capture: break
            case .trust, .clientCert, .tls, .crossSite: break
            // The request asks for the whole body, in a coding that can be undone.
            case .response: if !responseEdits.isEmpty { demands.insert(.adapting) }
            case .request: for steps in traits { demands.formUnion(steps.demands) }
            case .retry: demands.formUnion(retry.demands)
            case .cache: if caching != nil { demands.insert(.storing) }
            case .validate: demands.formUnion(validation?.demands ?? [])
            case .respond: if respond != nil { demands.insert(.answering) }
            case .redirect: if redirect != nil { demands.formUnion([.repeating, .judging]) }
            case .throttle: if !throttle.isEmpty { demands.insert(.throttling) }
            case .standIns: if !standIns.isEmpty { demands.formUnion(.exchanging) }
            case .cookies: if cookieJar != nil { demands.formUnion([.adapting, .judging]) }
            }
        }
        self.demands = demands
    }

    /// The keys that are true or false; with `scrubbing` stand-ins have responses masked unless a
    /// rule says otherwise, which the second result tells.
    private static func flags(
        of rules: [Rule],
        _ acting: [Rule],
        scrubbing: Bool
    ) -> ([RuleKey: Bool], Bool) {
        var flags = acting.flags
        let scrubs = scrubbing && flags[.scrub] == nil
        if scrubs { flags[.scrub] = true }
        // A trace may begin with the CONNECT.
        flags[.trace] = rules.flags[.trace]
        return (flags, scrubs)
    }

    private static func owns(_ rule: Rule) -> Bool {
        RuleKey.allAttachments(of: [rule]).contains { $0.gate == .owner }
            || (rule.clientCertificate ?? nil) != nil
    }

    private static func standIns(
        of rules: [Rule]
    ) -> (names: [String], locations: [String: StandInLocations]) {
        var names: [String] = []
        var locations: [String: StandInLocations] = [:]
        for rule in rules {
            let auth = StepTraits(rule.steps).auth
            for token in auth + rule.standIns {
                if !names.contains(token) { names.append(token) }
                locations[token, default: auth.contains(token) ? .fields : []]
                    .formUnion(rule.standInLocations)
            }
        }
        return (names, locations)
    }

    /// The client certificate of the last rule that has one or refuses it, and that rule's name.
    private static func certificate(
        of rules: [Rule]
    ) -> (files: CertificateFiles??, rule: String?) {
        let last = rules.last { $0.clientCertificate != nil }
        return (last?.clientCertificate, last?.name)
    }

    private static func trust(of rules: [Rule]) -> NamedTrustPolicy? {
        rules.reduce(nil) { trust, rule in
            guard let next = rule.trust?.policy, next.mayFollow(trust) else { return trust }
            return next
        }
    }

    /// Whether something is attached to no request of another site's page.
    package var isForOwnPages: Bool { attachments.contains { $0.forPages == .refused } }

    /// Whether lupin reads bodies of responses, so that it has to know their codings.
    package var readsResponses: Bool {
        !responseEdits.isEmpty || validation?.needsBody == true || scrubs
    }

    /// Whether lupin changes bodies of responses, so that it needs the whole of them.
    package var changesResponses: Bool { !responseEdits.isEmpty || scrubs }

    /// Whether no adapter changes the request.
    package var isPassive: Bool { !demands.contains(.adapting) }

    /// Whether a response may cause the request to be sent again.
    package var mayRepeatBody: Bool { demands.contains(.repeating) }

    /// Whether a response with that status may lead to another attempt.
    package func minds(_ status: UInt16) -> Bool { status >= 400 && retry.minds(status) }

    /// Whether that status is a failure of the host: by the retry policy, or where that counts
    /// nothing, by what policies repeat unless they say otherwise.
    package func isFailure(_ status: UInt16) -> Bool {
        guard status >= 400 else { return false }
        return countsAttempts
            ? retry.status.contains(status) : RetryPolicy.defaultStatus.contains(status)
    }

    /// Whether every response must be inspected, whatever its status.
    package var judgesResponses: Bool { !demands.isDisjoint(with: .lookAtResponses) }
}

extension Rule {
    /// Whether it answers a request that it matches.
    fileprivate func responds(isConnect: Bool) -> Bool {
        respond != nil && (!isConnect || answersConnect)
    }
}

extension RetryPolicy {
    /// Whether the outcomes of attempts matter to a budget or a circuit.
    package var countsAttempts: Bool {
        (budget != nil || circuit != nil) && (limit > 0 || hedge != nil)
    }
}
