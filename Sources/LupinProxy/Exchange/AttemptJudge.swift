// Decides what follows an attempt: its response goes to the client, or there is another attempt.
package import LupinCore
import LupinIO
package import LupinPolicy
package import LupinUpstream
package import LupinWire

/// The decision about a response.
package enum Verdict {
    case deliver(reason: String)
    /// Send the same request again.
    case again(AttemptRecord.Cause, AttemptRecord.Decision, reason: String, delay: Duration)
    /// Send another request, which a redirect leads to.
    case follow(Leg, reason: String)

    static let loginIsLost = "the client's login is for another connection"
}

/// What a decision has to know of an attempt.
package protocol JudgedAttempt: AnyObject {
    var adapted: AdaptedRequest { get }
    var origin: Origin { get }
    var hop: NextHop { get }
    /// The coding that the body got; nil for none.
    var coding: ContentCoding? { get }
    /// The framing of the body as it was sent.
    var framing: BodyFraming { get }
    /// The body as it was kept, if all of it lies in memory.
    var keptBody: [UInt8]? { get }
    /// Whether every byte of the body that was consumed can be sent again.
    var isReplayable: Bool { get }
    var hasIdempotencyKey: Bool { get }
    /// The facts for the decision about another attempt.
    func failure(_ error: LupinError?) -> FailedAttempt
    func close(
        status: UInt16,
        error: LupinError?,
        decision: AttemptRecord.Decision,
        reason: String,
        delay: Duration
    )
}

/// For whom decisions are made: what its request and its rules are, and what was done so far.
package protocol JudgeClient: AnyObject {
    var plan: Plan? { get }
    var request: RequestHead { get }
    var framing: BodyFraming { get }
    /// The origin of the client's request, and that of the redirect that is followed.
    var origin: Origin? { get }
    var redirectedTo: Origin? { get }
    var authentication: AuthenticationInterceptor? { get }
    var program: (any RequestInterceptor)? { get }
    var redirectHandler: (any RedirectHandler)? { get }
    /// The client has said a password of ours.
    var hasUser: Bool { get }
    /// The connection is the client's alone, since it has logged in to it.
    var isForOneClient: Bool { get }
    var isUploadDone: Bool { get }

    // MARK: What was done so far

    var attemptsCount: Int { get }
    var retry: RetryProgress { get set }
    var visited: [String] { get set }
    func note(_ validation: ValidationRecord)
    func note(_ redirect: RedirectRecord)
    func noteCompressionRefusal(by origin: Origin)

    // MARK: Time

    var now: UInt64 { get }
    var wallNow: Int64 { get }
    var totalDeadline: UInt64 { get }
    func deadline(in time: Duration) -> UInt64
    func chance() -> UInt64
    /// What the exchange waits for, where its phase does not say that.
    var awaited: LiveExchange.Wait? { get set }

    // MARK: What is to be done

    /// Reads the body into memory, as far as it fits and comes in time.
    func hold(
        _ obtained: ObtainedResponse,
        bytesMax: Int,
        within time: Duration?
    ) async throws(LupinError) -> (ObtainedResponse, whole: [UInt8]?)
    func answersParent(_ response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> Bool
    func refusal(in response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> LupinError?
    func completeLocation(of response: ParsedResponse, from origin: Origin)
    func keepCookies(of response: ResponseHead, to request: UpstreamRequest)
    func attachCookies(to request: inout UpstreamRequest)
    /// Why the host gets no further attempt; nil when it does, and then the attempt is counted.
    func refusal(ofRetryAt origin: Origin) -> String?
    /// Returns what became of it; nil where the network did not come back.
    func waitForNetwork(atMost time: Duration) async throws(LupinError) -> String?
    /// The text without secrets.
    func cleaned(_ text: String) -> String
}

/// Decides about one attempt, after every wait that the decision needs.
package struct AttemptJudge<Client: JudgeClient, Judged: JudgedAttempt> {
    let client: Client
    let attempt: Judged

    package init(for client: Client, _ attempt: Judged) {
        self.client = client
        self.attempt = attempt
    }

    var plan: Plan? { client.plan }

    /// Decides about a response.
    package func verdict(
        on obtained: inout ObtainedResponse
    ) async throws(LupinError) -> Verdict {
        let (hop, isReplayable) = (attempt.hop, attempt.isReplayable)
        if client.answersParent(obtained.response, by: hop, isReplayable: isReplayable) {
            return .again(.auth, .refresh, reason: "the parent proxy asks for Digest", delay: .zero)
        }
        // No response of the origin: it is neither checked nor repeated; the client answers it.
        if obtained.response.status == 407, hop.asksClient(isOurs: client.hasUser) {
            if plan?.validation != nil {
                client.note(ValidationRecord(note: "the parent proxy asks the client"))
            }
            return .deliver(reason: "")
        }
        if let refusal = client.refusal(
            in: obtained.response,
            by: hop,
            isReplayable: isReplayable
        ) {
            throw refusal
        }
        let isByLogin = client.isForOneClient || hop.isByLogin
        let verdict = try await judge(&obtained)
        var obstacle: String?
        switch verdict {
        case .deliver: return verdict
        case .follow(let leg, _) where leg.dropsBody: break
        // Meanwhile the client may have sent more of its body than is kept.
        case .again, .follow: if !attempt.isReplayable { obstacle = "the body was not kept" }
        }
        if isByLogin, obstacle == nil {
            let held = try await hold(obtained)
            obtained = held.0
            if held.whole == nil { obstacle = Verdict.loginIsLost }
            obtained.loggedInWay = hop
            if case .follow = verdict, let origin = client.redirectedTo ?? client.origin {
                client.completeLocation(of: obtained.response, from: origin)
            }
        }
        guard let obstacle else { return verdict }
        return try await judgeDelivered(&obtained, decided: obstacle)
    }

    func hold(
        _ obtained: ObtainedResponse
    ) async throws(LupinError) -> (ObtainedResponse, whole: [UInt8]?) {
        try await client.hold(
            obtained,
            bytesMax: HeldResponse.bytesMax,
            within: HeldResponse.timeMax
        )
    }

    /// Decides on a final response: credentials, redirects, retriers, and validation of what is
    /// left, as Alamofire's `validate()` with a `RetryPolicy` comes to.
    private func judge(_ obtained: inout ObtainedResponse) async throws(LupinError) -> Verdict {
        // A CONNECT to a parent proxy must not be repeated.
        if client.request.method == .connect { return .deliver(reason: "") }
        client.keepCookies(of: obtained.response.head, to: attempt.adapted.request)
        var decided: String?
        if let verdict = try await repair(&obtained) {
            guard case .deliver(let reason) = verdict else { return verdict }
            decided = reason
        }
        return try await judgeDelivered(&obtained, decided: decided)
    }

    /// Handles responses that another request may repair: credentials, a coding, a redirect.
    private func repair(_ obtained: inout ObtainedResponse) async throws(LupinError) -> Verdict? {
        if let verdict = try await askForCredentials(&obtained) { return verdict }
        if let verdict = sendPlain(obtained.response) { return verdict }
        return try await redirect(obtained.response)
    }

    /// Decides on a response that the client gets unless `validate` or a retrier objects.
    ///
    /// `decided` is the reason not to repeat the request, if there is one already: then only
    /// `validate` is checked.
    private func judgeDelivered(
        _ obtained: inout ObtainedResponse,
        decided: String?
    ) async throws(LupinError) -> Verdict {
        let mayRetry = decided == nil
        var reason = decided ?? ""
        if mayRetry, let verdict = try await askRetriers(obtained.response) {
            guard case .deliver(let refusal) = verdict else { return verdict }
            reason = refusal
        }
        let verdict = try await validate(&obtained, mayRetry: mayRetry, delivered: reason)
        if let verdict { return verdict }
        try await holdBack(&obtained)
        return .deliver(reason: reason)
    }

    /// Holds back a response that refuses the credentials while others are fetched.
    private func askForCredentials(
        _ obtained: inout ObtainedResponse
    ) async throws(LupinError) -> Verdict? {
        guard let authentication = client.authentication else { return nil }
        authentication.noteAuthenticationInfo(of: obtained.response.head)
        let response = obtained.response
        let sent = attempt.adapted.head
        guard authentication.minds(response.status),
            authentication.conditions.contains(where: { $0.check(response, to: sent) == nil })
        else { return nil }
        let held = try await hold(obtained)
        obtained = held.0
        let body = held.whole.flatMap {
            try? ValidationPolicy.decoded(
                $0,
                from: response.head.fields.contentCodings,
                client.cleaned
            )
        }
        let outcome = try await authentication.retry(
            after: response.head,
            isReplayable: attempt.isReplayable,
            content: client.isUploadDone ? attempt.keptBody : nil
        ) { condition in
            guard condition.check(response, to: sent) == nil else { return false }
            guard condition.needsBody else { return true }
            return body.map { condition.check(body: $0.span, head: response.head) == nil } ?? false
        }
        guard let outcome else { return nil }
        guard outcome.decision == .refresh else { return .deliver(reason: outcome.reason) }
        return .again(.auth, .refresh, reason: outcome.reason, delay: .zero)
    }

    /// Whether the response refuses the compression: then the request is sent again uncompressed
    /// (RFC 9110 §15.5.16), and later ones to that origin at once.
    private func sendPlain(_ response: ParsedResponse) -> Verdict? {
        let hasLostLength = client.framing.knownLength != nil && attempt.framing.knownLength == nil
        guard let step = plan?.compress, attempt.coding != nil else { return nil }
        let refusal = step.refusal(
            status: response.status,
            fields: response.head.fields,
            hasLostLength: hasLostLength
        )
        if refusal == .none { return nil }
        client.retry.goesPlain = true
        if refusal == .likely, attempt.isReplayable {
            client.retry.likelyRefusal = response.status
        } else {
            client.noteCompressionRefusal(by: attempt.origin)
        }
        guard attempt.isReplayable else { return .deliver(reason: "the body was not kept") }
        return .again(
            .retry,
            .retry,
            reason: "the server refuses compressed bodies",
            delay: .zero
        )
    }

    /// Remembers a likely refusal if the same request is not refused so without compression.
    func noteCompressionVerdict(_ status: UInt16) {
        guard let refusal = client.retry.likelyRefusal.take() else { return }
        if status != refusal { client.noteCompressionRefusal(by: attempt.origin) }
    }

    /// Holds back as much as `retry.hold` demands, so that an early break of the body loses
    /// nothing; a stream, as its head announces it, passes as it comes.
    private func holdBack(_ obtained: inout ObtainedResponse) async throws(LupinError) {
        guard let policy = plan?.retry, policy.holdBytes > 0,
            client.retry.retries < policy.limit, attempt.isReplayable,
            policy.mayRepeat(
                client.request.method,
                hasIdempotencyKey: attempt.hasIdempotencyKey
            ),
            obtained.response.head.fields.reasonToStream == nil
        else { return }
        obtained = try await client.hold(
            obtained,
            bytesMax: policy.holdBytes,
            within: HeldResponse.timeMax
        ).0
    }
}

extension NextHop {
    /// Whether a 407 by this way asks the client: lupin has no credentials for the parent, and the
    /// client's own are not for lupin (`isOurs`).
    func asksClient(isOurs: Bool) -> Bool {
        guard let parent else { return false }
        return parent.userinfo == nil && !isOurs
    }
}
