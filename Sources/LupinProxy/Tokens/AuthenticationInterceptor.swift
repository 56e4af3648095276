// Attaches credentials to requests and reacts to a 401, like Alamofire's AuthenticationInterceptor.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinWire

/// The credentials that the rules of one exchange name; lives as long as the exchange.
///
/// Every attempt asks for them again, so a refreshed one is used at once.
package final class AuthenticationInterceptor {
    /// How the last attempt was authenticated.
    struct Use {
        let definition: TokenDefinition
        let origin: Origin
        var version: Int?
        var mark: DigestSession.Mark?
        var isSent = false

        /// Whether the next attempt may send another credential.
        var isCurable: Bool {
            switch definition.source {
            case .digest: version != nil
            case .basic where !isSent: version != nil
            case .basic, .bearer, .command, .oauth2: definition.source.isRefreshable
            }
        }
    }

    unowned let exchange: Exchange
    /// The tokens of `auth` steps; a later one replaces an earlier one for the same field.
    private let attached: [TokenDefinition]
    /// The tokens that steps name by `${token:…}`.
    private let named: [TokenDefinition]
    /// The tokens whose stand-ins are exchanged.
    let exchangeable: [Exchangeable]
    var uses: [Use] = []
    /// What took the place of stand-ins, and the fields where it did.
    var exchanged = ExchangedStandIns()
    /// All texts that reveal the credentials of the exchange's attempts.
    private var presented: Set<String> = []
    /// Those of all tokens of the plan.
    private let tokens: [TokenDefinition]
    /// The versions of the credentials that the steps of the next attempt name.
    private var namedVersions: [String: Int] = [:]
    /// Their values, until the next attempt has its credentials.
    private var namedTexts: [String: String]?
    /// The credentials that are known of those asked for; the rest is waited for.
    var gathered: [CredentialState.Issued?] = []
    /// The one to wait for.
    var missing: TokenDefinition?
    var replays = 0
    /// The client's content, once an attempt has sent it and it was kept.
    private var sentContent: [UInt8]?
    /// The names of fields that carry a credential, for code that must not pass them on.
    var fieldNames: [String] { attached.map(\.field.name) + exchanged.fieldNames }

    /// The interceptor of an exchange; nil when the plan names no token.
    static func of(_ plan: Plan, for exchange: Exchange) -> AuthenticationInterceptor? {
        guard !plan.standIns.isEmpty || !plan.namedTokens.isEmpty else { return nil }
        return AuthenticationInterceptor(plan, exchange)
    }

    private init(_ plan: Plan, _ exchange: Exchange) {
        self.exchange = exchange
        let planned = PlannedTokens(of: plan, from: exchange.snapshot.tokens)
        (attached, named) = (planned.attached, planned.named)
        tokens = planned.exchanged + planned.named
        let standIns = exchange.resources.shared.standIns
        exchangeable = planned.exchanged.compactMap { token in
            standIns[token: token.name].map { (token, $0, plan.standInLocations[token.name] ?? []) }
        }
    }

    var store: TokenStore { exchange.resources.shared.tokens }
    var now: UInt64 { exchange.slot.loop.now }

    // MARK: Adapting

    /// The values of `${token:…}` in the steps of the next attempt; nil when one has to be waited
    /// for.
    func texts() throws(LupinError) -> [String: String]? {
        if let known = namedTexts { return known }
        guard let credentials = try credentials(of: named, for: nil) else { return nil }
        namedVersions = [:]
        var texts: [String: String] = [:]
        for (definition, issued) in zip(named, credentials) {
            guard let issued else { continue }
            texts[definition.name] = issued.credential.text
            note(presented: issued.credential)
            namedVersions[definition.name] = issued.version
        }
        namedTexts = texts
        return texts
    }

    /// Attaches the credentials to a request whose target no step changes afterwards.
    /// - Returns: nil when one of them has to be waited for.
    /// - Throws: Why the request may not be sent.
    func adapt(_ request: UpstreamRequest) throws(LupinError) -> UpstreamRequest? {
        let wanted = wanted(by: request)
        guard let texts = try texts(),
            let credentials = try credentials(of: wanted, for: request.origin)
        else { return nil }
        // Every attempt asks for them again.
        namedTexts = nil
        return try adapt(request, texts: texts, wanted, credentials)
    }

    /// The tokens whose credentials the request gets: first those attached, and then those whose
    /// stand-ins are in it.
    private func wanted(by request: borrowing UpstreamRequest) -> [TokenDefinition] {
        var wanted = attached
        for entry in exchangeable
        where entry.standIn.isExchangeable(in: request.head, at: entry.locations) {
            wanted.append(entry.definition)
        }
        return wanted
    }

    /// Attaches the credentials of the `wanted` tokens; nil stands for one that is not to be had.
    private func adapt(
        _ request: consuming UpstreamRequest,
        texts: [String: String],
        _ wanted: [TokenDefinition],
        _ credentials: [CredentialState.Issued?]
    ) throws(LupinError) -> UpstreamRequest {
        var request = request
        try noteNamed(texts, request.origin)
        for (definition, issued) in zip(attached, credentials) {
            try attach(issued, of: definition, to: &request)
        }
        for (definition, issued) in zip(wanted, credentials).dropFirst(attached.count) {
            let entry = exchangeable.first { $0.definition.name == definition.name }
            // The field in which it stood may have got another credential meanwhile.
            guard let entry, entry.standIn.isExchangeable(in: request.head, at: entry.locations)
            else { continue }
            try exchange(entry, for: issued, in: &request)
        }
        keepReadable(&request)
        return request
    }

    /// Notes the credentials that steps have put into the request.
    private func noteNamed(
        _ texts: [String: String],
        _ origin: Origin
    ) throws(LupinError) {
        uses = []
        exchanged.beginAttempt()
        for definition in named where texts[definition.name] != nil {
            try checkTarget(definition, origin)
            var use = Use(definition: definition, origin: origin)
            use.version = namedVersions[definition.name]
            use.isSent = true
            uses.append(use)
        }
    }

    /// Asks for no coding that lupin can't undo, where bodies tell of refusals.
    private func keepReadable(_ request: inout UpstreamRequest) {
        guard uses.contains(where: \.definition.refresh.readsBodies) else { return }
        request.head.fields.keepKnownCodings()
    }

    private func attach(
        _ issued: CredentialState.Issued?,
        of definition: TokenDefinition,
        to request: inout UpstreamRequest
    ) throws(LupinError) {
        var use = Use(definition: definition, origin: request.origin)
        defer { uses.append(use) }
        guard let issued else { return }
        use.version = issued.version
        note(presented: issued.credential)
        if keepsForm(of: definition, request.head) {
            use.isSent = true
            request.steps.note(applied: "auth \(definition.name)")
            return
        }
        do throws(TokenFailure) {
            guard let value = try value(of: issued, definition, request, &use) else {
                // The rule sets whose credentials are used: the client's own must not replace them
                // before the server has sent a challenge.
                request.head.fields.remove(name: definition.field.name)
                return
            }
            request.head.fields.set(name: definition.field.name, octets: value)
            use.isSent = true
            request.steps.note(applied: "auth \(definition.name)")
        } catch {
            throw failure(error, definition)
        }
    }

    /// The value of the field; nil when the server must send a challenge first.
    private func value(
        of issued: CredentialState.Issued,
        _ definition: TokenDefinition,
        _ request: UpstreamRequest,
        _ use: inout Use
    ) throws(TokenFailure) -> String? {
        if case .digest = definition.source, case .password(let pair) = issued.credential.content {
            let answer = store.digest(
                definition,
                for: request.origin,
                method: request.head.method.token,
                uri: request.head.pathText,
                content: content(of: request),
                credentials: pair
            )
            use.mark = answer?.mark
            return answer?.field
        }
        if case .basic(_, _, preemptive: false) = definition.source,
            !store.wantsBasic(definition, request.origin)
        {
            return nil
        }
        return try definition.field.value(credential: issued.credential.text)
    }

    /// Whether the next attempt knows the content of its request.
    var isContentKnown: Bool {
        exchange.framing.isEmpty || exchange.heldUpload?.whole != nil || sentContent != nil
    }

    /// The content of a request as it is sent, for a Digest that protects it; nil where it is not
    /// known yet.
    func content(of request: UpstreamRequest) -> [UInt8]? {
        if exchange.framing.isEmpty { return [] }
        // A coding of ours is made while it is sent.
        guard request.coding == nil else { return nil }
        return exchange.heldUpload?.whole ?? sentContent
    }

    /// - Throws: Why the credential may not be sent there.
    func checkTarget(
        _ definition: TokenDefinition,
        _ origin: Origin
    ) throws(LupinError) {
        let refusal = exchange.snapshot.rules.refusal(
            of: definition,
            at: origin,
            isProtected: exchange.protects(origin)
        )
        guard let refusal else { return }
        throw LupinError(
            .proxyConfigurationError,
            host: origin.host.text,
            detail: refusal,
            side: .config,
            status: 502
        )
    }

    // MARK: Retrying

    /// Whether a status may mean that a credential was refused.
    func minds(_ status: UInt16) -> Bool {
        uses.contains { $0.definition.refresh.minds(status) }
    }

    /// The responses that mean so.
    var conditions: [ValidationPolicy] { uses.flatMap(\.definition.refresh.on) }

    /// Whether a response asks for another credential; returns the decision and its reason.
    ///
    /// A token is refreshed at most once per exchange: a second 401 goes to the client.
    ///
    /// `meets` says whether the response meets a condition; `content` is what the request has sent,
    /// nil where it was not kept.
    func retry(
        after response: ResponseHead,
        isReplayable: Bool,
        content: [UInt8]?,
        meets: (ValidationPolicy) -> Bool
    ) async throws(LupinError) -> (decision: AttemptRecord.Decision, reason: String)? {
        let refused = uses.filter { $0.definition.refresh.on.contains(where: meets) }
        // Of several credentials it means one that can change for the next attempt.
        guard let use = refused.last(where: \.isCurable) ?? refused.last else { return nil }
        sentContent = content
        let challenges = AuthenticationChallenge.challenges(in: response.fields, .wwwAuthenticate)
        if challenges.isInsufficientScope { return (.deliver, "insufficient_scope") }
        switch use.definition.source {
        case .digest where use.version != nil: return answer(challenges, use, isReplayable)
        case .basic where !use.isSent && use.version != nil:
            return answerBasic(challenges, use, isReplayable)
        default: break
        }
        guard replays == 0 else { return (.deliver, "refused again") }
        return try await refresh(after: use, challenges, isReplayable)
    }

    private func refresh(
        after use: Use,
        _ challenges: [AuthenticationChallenge],
        _ isReplayable: Bool
    ) async throws(LupinError) -> (decision: AttemptRecord.Decision, reason: String) {
        let definition = use.definition
        let began = now
        defer { note(definition, waitedSince: began) }
        let wait = CredentialWait(exchange.slot)
        var rejection = store.rejected(
            definition,
            version: use.version,
            canReplay: isReplayable,
            now: began,
            wake: wait.wake
        )
        if case .wait(let startsRefresh) = rejection {
            if startsRefresh { refresh(definition) }
            note(definition, startsRefresh ? .refreshed : .waited)
            exchange.note(.tokenWait(definition.name))
            guard try await wait.end(of: definition.source, for: exchange, since: began) else {
                note(definition, .failed)
                return (.deliver, "the refresh took too long")
            }
            rejection = store.settled(definition, version: use.version, now: now)
        }
        switch rejection {
        case .replay:
            replays += 1
            let error = challenges.first { $0.isScheme("Bearer") }?["error"]
            return (.refresh, error.map { "bearer \($0)" } ?? "another credential is there")
        case .wait: return (.deliver, "the refresh took too long")
        case .deliver(let reason, let startsRefresh):
            if startsRefresh { refresh(definition) }
            note(definition, reason == .excessive ? .excessive : .failed)
            return (.deliver, reason.sentence(token: definition.name))
        }
    }

    // MARK: Secrets

    func note(presented credential: Credential) { note(presented: credential.secrets) }

    func note(presented texts: [String]) { presented.formUnion(texts) }

    /// Whether a credential was sent, attached or exchanged for a stand-in.
    var hasPresented: Bool { !presented.isEmpty || !exchanged.secrets.isEmpty }

    /// All texts that reveal credentials of the plan's tokens: those that were sent, and those of
    /// now, which a response may tell of.
    var secrets: [String] {
        Array(tokens.reduce(into: presented) { $0.formUnion(store.secrets(of: $1)) })
    }

    // MARK: The record

    func note(
        _ definition: TokenDefinition,
        _ action: AuthenticationRecord.Action,
        version: Int? = nil
    ) {
        var record = exchange.record.authentication ?? AuthenticationRecord(token: definition.name)
        record.token = definition.name
        if let version { record.version = version }
        // `refreshed` tells more than `used`, so it stays.
        if action != .used || record.action == .none { record.action = action }
        exchange.record.authentication = record
    }

    func note(_ definition: TokenDefinition, waitedSince began: UInt64) {
        let waited = now &- began
        guard waited > 0 else { return }
        exchange.trace?.mark(.token(name: definition.name), since: began, until: now)
        let before = exchange.record.authentication?.waitMicroseconds ?? 0
        exchange.record.authentication?.waitMicroseconds = before + Int64(clamping: waited)
    }
}

extension CredentialState.Reason {
    /// Why the client gets its 401, for the record.
    fileprivate func sentence(token: String) -> String {
        switch self {
        case .notRefreshable: "the credential cannot be refreshed"
        case .excessive: "refreshed too often"
        case .failed(let failure): failure.sentence(token: token)
        case .unchanged: "the refresh gave the same credential"
        case .notReplayable: "the body was not kept"
        }
    }
}
