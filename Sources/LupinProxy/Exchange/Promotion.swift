// Decides by values alone whether an exchange needs a task.
package import LupinCore
package import LupinPolicy

/// Why an exchange that began without a task got one.
package enum TaskCause: Int, CaseIterable, Sendable {
    /// The listener requires a password.
    case password
    case connect
    /// An extended CONNECT (RFC 8441).
    case webSocket
    /// The client waits for 100 (Continue).
    case expectation
    /// An embedding program takes part in every step.
    case interceptor
    /// The request is for lupin itself.
    case ownAnswer
    /// A timeout could expire before the exchange is checked.
    case shortTimeout
    case purge
    /// The kernel must be asked for the client's user.
    case unknownClient
    /// A rule demands something that needs a wait.
    case demand
    /// A credential must be fetched.
    case credential
    case upgrade
    /// The response is not in the cache's memory, or must be validated.
    case store
    /// No connection is available.
    case connection
    case clientLeft
    case failure
    /// A decision about the response is needed.
    case verdict
    /// It took so long that timeouts begin to matter.
    case lateness
    /// lupin stops, or the exchange was cancelled.
    case cut

    /// The word for metrics.
    package var word: String {
        switch self {
        case .password: "password"
        case .connect: "connect"
        case .webSocket: "websocket"
        case .expectation: "expectation"
        case .interceptor: "interceptor"
        case .ownAnswer: "own-answer"
        case .shortTimeout: "short-timeout"
        case .purge: "purge"
        case .unknownClient: "unknown-client"
        case .demand: "demand"
        case .credential: "credential"
        case .upgrade: "upgrade"
        case .store: "store"
        case .connection: "connection"
        case .clientLeft: "client-left"
        case .failure: "failure"
        case .verdict: "verdict"
        case .lateness: "lateness"
        case .cut: "cut"
        }
    }
}

/// The points where an exchange may need a task; each returns nil when it doesn't.
package enum Promotion {
    /// When its request has come.
    package static func atRequest(
        _ method: Method,
        asksForPassword: Bool,
        isWebSocket: Bool,
        expectsContinue: Bool,
        hasInterceptor: Bool
    ) -> TaskCause? {
        if asksForPassword { return .password }
        // An extended CONNECT is a request for an upgrade.
        if isWebSocket { return .webSocket }
        if method == .connect { return .connect }
        if expectsContinue { return .expectation }
        return hasInterceptor ? .interceptor : nil
    }

    /// After the rules were matched; nil also when a rule answers, or the cache may.
    package static func atMatch(
        _ plan: Plan?,
        _ handler: RequestHandler,
        isPatient: Bool,
        asksForOwner: Bool
    ) -> TaskCause? {
        if !isPatient { return .shortTimeout }
        switch handler {
        case .tape: return .demand
        case .purge: return .purge
        case .tunnel: return .connect
        case .rule, .cache, .origin: break
        }
        if asksForOwner { return .unknownClient }
        guard let plan else { return nil }
        if let canned = plan.respond { return canned.readsFile ? .demand : nil }
        return plan.demands.subtracting(.storing).isDisjoint(with: .needTask) ? nil : .demand
    }

    /// After a final response has come, as far as its status decides; further demands
    /// (`Demands.presenting` and `.validating`) are checked on the response itself.
    package static func atResponse(
        status: UInt16,
        _ plan: Plan?,
        hasInterceptor: Bool
    ) -> TaskCause? {
        if status == 101 { return .upgrade }
        if status == 407 || hasInterceptor { return .verdict }
        guard let plan else {
            return status >= 400 && RetryPolicy.safe.minds(status) ? .verdict : nil
        }
        return plan.demands.contains(.judging) || plan.minds(status) ? .verdict : nil
    }
}
