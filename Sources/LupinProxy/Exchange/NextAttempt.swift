// Makes the request of the next attempt: by adapters, rules and the cache, each of them once.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

/// What is known of an attempt before it begins.
///
/// The first one has none unless something of it has to be kept while the exchange waits.
final class NextAttempt {
    var cause = AttemptRecord.Cause.first
    var replay: BodyReplay?
    /// The response before it, if that came by a login which this one may lack.
    var former: ObtainedResponse?
    /// A request that is sent unchanged: a CONNECT to a parent proxy.
    var fixed: AdaptedRequest?
    /// The client's request, before the fields of its connection were marked.
    fileprivate(set) var original: RequestHead?
    /// The request as an embedding program's adapters left it.
    fileprivate(set) var intercepted: UpstreamRequest?
    /// The request without credentials: that of the cache look-up.
    var base: AdaptedRequest?
    /// The request after all adapters.
    fileprivate(set) var adapted: AdaptedRequest?
    /// What rules demand before it is sent was done.
    fileprivate(set) var isReady = false
    /// When its waits began, in microseconds of the loop's clock.
    let begun: UInt64

    init(at now: UInt64) { begun = now }

    /// Another one with the same request.
    init(
        _ cause: AttemptRecord.Cause,
        after attempt: Attempt,
        _ last: NextAttempt?,
        insteadOf obtained: ObtainedResponse? = nil
    ) {
        self.cause = cause
        begun = attempt.exchange.now
        replay = attempt.replay
        fixed = last?.fixed
        former = last?.former
        if let obtained { former = obtained.loggedInWay == nil ? nil : obtained }
    }
}

extension Exchange {
    /// What is known of the next attempt, from now on.
    private func makeNext() -> NextAttempt {
        if let next { return next }
        let made = NextAttempt(at: now)
        next = made
        return made
    }

    /// Keeps what adapters have made while what follows needs a wait: no adapter runs twice.
    func keep(_ base: AdaptedRequest) { makeNext().base = base }
    func keep(original: RequestHead) { makeNext().original = original }
    func keep(adapted: AdaptedRequest) { makeNext().adapted = adapted }

    /// The request after all adapters: a fresh copy of the client's for each attempt.
    ///
    /// Credentials come last, since they depend on the final origin.
    /// - Returns: nil when an adapter has to be waited for; see `lackingNeed`.
    func adapted(
        for target: KnownTarget,
        isPlain: Bool
    ) throws(LupinError) -> AdaptedRequest? {
        if let known = next?.adapted ?? next?.fixed { return known }
        guard let base = try base(for: target, isPlain: isPlain) else { return nil }
        if isPlain { return base }
        guard let signed = try signed(base) else {
            keep(base)
            return nil
        }
        if remembersHeads { sent = SentRequest(signed.head) }
        return signed
    }

    /// The same request without credentials.
    func base(
        for target: KnownTarget,
        isPlain: Bool
    ) throws(LupinError) -> AdaptedRequest? {
        if let base = next?.base { return base }
        return isPlain ? try unadapted(for: target) : try stepped(for: target, next?.intercepted)
    }

    /// What the last adapter that could not run needs.
    var lackingNeed: Need { authentication?.isMissing == true ? .credential : .interceptor }

    /// Has the embedding program adapt the request.
    func askProgram() async throws(LupinError) {
        guard let target else { return }
        makeNext().intercepted = try await intercepted(target)
    }

    /// Whether a rule demands something that takes time before the request is sent.
    var mustWait: Bool {
        if heldUpload != nil { return true }
        guard let plan else { return false }
        return !plan.demands.isDisjoint(with: [.waiting, .recoding])
    }

    /// Does what rules demand before the request is sent.
    func makeReady() async throws(LupinError) {
        guard let next, let adapted = next.adapted ?? next.fixed else { return }
        if next.fixed == nil, let wait = plan?.delay { try await pause(wait, .delay) }
        try await holdUpload(for: adapted)
        next.isReady = true
    }

    /// The request with what the held body, the cache and a login make of it.
    func completed(_ adapted: AdaptedRequest) -> AdaptedRequest {
        guard let next else { return adapted }
        var adapted = adapted
        if let heldUpload, heldUpload.isChanged {
            adapted = adapted.withEditedBody(isPlain: heldUpload.isPlain)
        }
        if let caching, !hasMoved {
            if let conditions = caching.conditions { adapted = adapted.with(conditions) }
            if let completion = caching.completion { adapted = adapted.with(completion) }
        }
        // On a connection that has the login, its last message would begin another one.
        return next.former == nil ? adapted : adapted.withoutLogin()
    }
}
