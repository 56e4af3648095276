// Decides by values alone which phase of an exchange follows, and what that needs.
package import LupinCore
package import LupinPolicy

/// Where an exchange stands: what is to be done next.
package enum Phase: CaseIterable, Sendable {
    /// Its request has come. Then `matched` or, if it is for lupin itself, `over`.
    case arrived
    /// The rules are known. Then what gives the response, or `over`.
    case matched
    /// A CONNECT is served. Then `over` or `targetInside`.
    case tunnelling
    /// A rule answers. Then `relaying`.
    case answering
    /// The cache is asked. Then `relaying`, `asking`, or `over`.
    case lookingUp
    /// The store that machines share is asked. Then `relaying` or `over`.
    case asking
    /// The request of the next attempt is made. Then `connecting`.
    case preparing
    /// It wants a connection. Then `awaiting`; with a task also what follows that.
    case connecting
    /// It was sent. Then `relaying` or `broken`; with a task what the verdict says.
    case awaiting
    /// The attempt has failed. Then `preparing` or `failed`.
    case broken
    /// The cache or a tunnel has its response, and does the rest.
    case obtained
    /// There is a response for the client. Then `over`.
    case delivering
    /// The body of the response is on its way. Then `finishing`.
    case relaying
    /// The client has its response. Then `over`.
    case finishing
    /// An error ends the exchange. Then `over`.
    case failed
    /// It goes on inside a CONNECT.
    case targetInside
    case over
}

/// The phases of one exchange, and who drives it through them: events, or a task.
///
/// Every function is told what has happened in a phase, and returns what is needed to go on; nil
/// when the phase that follows can begin at once.
package struct Course: Sendable {
    package private(set) var phase = Phase.arrived
    /// Events alone drive it: nothing but bytes can be waited for.
    package private(set) var isTaskless = false
    /// The cache or a tunnel asks for responses, and delivers them.
    private var isForCaller = false

    package init() {}

    // MARK: Who drives

    package mutating func leaveToEvents() { isTaskless = true }
    package mutating func leaveToTask() { isTaskless = false }

    // MARK: Until the rules have spoken

    package func arrived(
        _ method: Method,
        asksForPassword: Bool,
        isWebSocket: Bool,
        expectsContinue: Bool,
        hasInterceptor: Bool
    ) -> Need? {
        if asksForPassword { return .password }
        guard isTaskless else { return nil }
        // An extended CONNECT is a request for an upgrade.
        if isWebSocket { return .webSocket }
        if method == .connect { return .connect }
        if expectsContinue { return .expectation }
        return hasInterceptor ? .interceptor : nil
    }

    package mutating func admitted() { phase = .matched }

    /// The rules were matched; `asksForOwner` where the client's user has to be known.
    package func matched(
        _ plan: Plan?,
        _ handler: RequestHandler,
        hasLongTimeouts: Bool,
        asksForOwner: Bool
    ) -> Need? {
        if isTaskless, !hasLongTimeouts { return .shortTimeout }
        switch handler {
        case .tape: return .demand
        case .purge: return .purge
        case .tunnel: return isTaskless ? .connect : nil
        case .rule, .cache, .origin: break
        }
        guard isTaskless else { return nil }
        if asksForOwner { return .unknownClient }
        guard let plan else { return nil }
        if let canned = plan.respond {
            return canned.readsFile || plan.answersSlowly ? .demand : nil
        }
        return plan.demands.subtracting(.storing).isDisjoint(with: .needTask) ? nil : .demand
    }

    /// Nothing but the client's user, where that counts, can refuse the request any more.
    package mutating func permitted(_ handler: RequestHandler, asksForOwner: Bool) -> Need? {
        if asksForOwner { return .unknownClient }
        switch handler {
        case .tunnel: phase = .tunnelling
        case .rule: phase = .answering
        case .cache: phase = .lookingUp
        case .origin: phase = .preparing
        // They are served where they are needed.
        case .tape, .purge: phase = .over
        }
        return nil
    }

    // MARK: The cache

    /// Memory has nothing that is certain without a wait; other machines may have been asked.
    package mutating func missed(areOthersAsked: Bool) -> Need? {
        guard areOthersAsked else { return .store }
        phase = .asking
        return nil
    }

    // MARK: Attempts

    /// The cache or a tunnel asks for a response.
    package mutating func beginAttempts() {
        isForCaller = true
        phase = .preparing
    }

    package mutating func prepared() { phase = .connecting }

    /// A task may race attempts, and make a connection; events take what is there.
    package func connects(isUpgrade: Bool) -> Need? {
        if !isTaskless { return .connection }
        return isUpgrade ? .upgrade : nil
    }

    package mutating func sending() { phase = .awaiting }

    /// The attempt under way has failed.
    package mutating func broke() -> Need? {
        phase = .broken
        return .failure
    }

    /// Why a final response has to be decided on, as far as its status tells; further demands
    /// (`Demands.presenting` and `.validating`) are checked on the response itself.
    package static func need(
        ofStatus status: UInt16,
        _ plan: Plan?,
        hasInterceptor: Bool
    ) -> Need? {
        if status == 101 { return .upgrade }
        if status == 407 || hasInterceptor { return .verdict }
        guard let plan else {
            return status >= 400 && RetryPolicy.safe.minds(status) ? .verdict : nil
        }
        return plan.demands.contains(.judging) || plan.minds(status) ? .verdict : nil
    }

    /// The decision about a response, or about a failure.
    package enum Decision: Sendable {
        case deliver
        /// The same request again, or the one that a redirect leads to.
        case again
        /// A redirect led to a rule that answers.
        case answerByRule
    }

    package mutating func decided(_ decision: Decision) {
        switch decision {
        case .again: phase = .preparing
        case .deliver: phase = isForCaller ? .obtained : .delivering
        case .answerByRule: phase = isForCaller ? .obtained : .answering
        }
    }

    // MARK: The response

    /// The head of the response is on its way to the client.
    package mutating func presented() { phase = .relaying }

    /// What a body that has not ended waits for.
    package func relays(isClientGone: Bool, hasUploadFailed: Bool) -> Need {
        guard isTaskless else { return .bytes }
        if isClientGone { return .clientLeft }
        return hasUploadFailed ? .failure : .bytes
    }

    package mutating func delivered() { phase = .finishing }

    /// The client has everything; the origin may still want the rest of the request.
    package mutating func finished(uploadGoesOn: Bool) -> Need? {
        if uploadGoesOn { return .lateness }
        phase = .over
        return nil
    }

    // MARK: The end

    package mutating func fail() { phase = .failed }
    package mutating func intercept() { phase = .targetInside }
    package mutating func end() { phase = .over }
}
