// Errors that several parts of the engine report.
import LupinCore
import LupinUpstream

extension LupinError {
    static let tunnelIdle = LupinError(
        .connectionReadTimeout,
        detail: "The tunnel was silent for timeouts.tunnel_idle."
    )

    static func tooManyConnections(_ limit: Int) -> LupinError {
        .request(status: 429, detail: "One client may have \(limit) connections at a time.")
    }

    static func noTrustRule(for origin: Origin) -> LupinError {
        .request(
            status: 403,
            host: origin.hostAndPort,
            detail: "upstream.tls.require_trust_rule is on, and no rule says how to trust "
                + "\(origin.host.text)."
        )
    }

    /// Whether access rules forbade the request.
    var isDenial: Bool {
        switch kind {
        case .httpRequestDenied, .destinationIPProhibited, .tunnelNameDenied: true
        default: false
        }
    }

    /// The exchange was cancelled through the admin interface.
    static let cancelled = LupinError(
        .connectionTerminated,
        detail: "The exchange was cancelled by a request to lupin's admin interface.",
        side: .lupin,
        retry: .never,
        status: 503
    )

    static func totalTimeIsOver(_ origin: Origin?) -> LupinError {
        LupinError(
            .httpResponseTimeout,
            host: origin?.host.text,
            detail: "timeouts.total is over."
        )
    }

    /// Whether lupin itself, or the client's leaving, ended the attempt.
    var isOurs: Bool { side == .lupin || side == .downstream }
}
