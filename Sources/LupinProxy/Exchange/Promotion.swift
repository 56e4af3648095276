// Why an exchange needs a task, decided by values alone.
package import LupinCore

/// Why an exchange that began without a task got one.
package enum TaskCause: Int, CaseIterable, Sendable {
    /// The listener asks for a password.
    case password
    case connect
    /// An extended CONNECT (RFC 8441).
    case webSocket
    /// The client waits for 100 (Continue).
    case expectation
    /// An embedding program has a say in every step.
    case interceptor
    /// The request is for lupin itself.
    case ownAnswer
    /// A timeout could run out before anybody looks.
    case shortTimeout
    case purge
    /// The kernel has to be asked who the client is.
    case unknownClient
    /// A rule asks for what has to be waited for.
    case demand
    /// A credential has to be fetched.
    case credential
    case upgrade
    /// It is not in the cache's memory, or has to be validated.
    case store
    /// There is no connection that it could go over.
    case connection
    case clientLeft
    case failure
    /// Somebody has a say about the response.
    case verdict
    /// It took so long that timeouts begin to matter.
    case lateness
    /// lupin stops, or somebody had it cut.
    case cut

    /// As metrics name it.
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

/// Where an exchange may find that it needs a task; nil wherever it does not.
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
        // An extended CONNECT is one for an upgrade.
        if isWebSocket { return .webSocket }
        if method == .connect { return .connect }
        if expectsContinue { return .expectation }
        return hasInterceptor ? .interceptor : nil
    }

    /// When the rules have said what they want; nil also where they answer, or the cache may.
    package static func atMatch(
        _ plan: Plan?,
        isPatient: Bool,
        isPurge: Bool,
        asksForOwner: Bool
    ) -> TaskCause? {
        if !isPatient { return .shortTimeout }
        if isPurge { return .purge }
        if asksForOwner { return .unknownClient }
        guard let plan else { return nil }
        if let canned = plan.respond { return canned.readsFile ? .demand : nil }
        return plan.demands.subtracting(.storing).isDisjoint(with: .needTask) ? nil : .demand
    }

    /// When a final response has come, as far as its status tells; what it is held to besides
    /// (`Demands.presenting` and `.validating`) is asked where the response is at hand.
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
