// The keys of the rules file that affect each kind of failure.

extension ErrorKind {
    /// The settings and rule keys to check in order to change the outcome.
    ///
    /// A name that ends with a dot stands for all settings below it. The switch is exhaustive, so
    /// every kind must list its keys.
    package var decidingKeys: [String] {
        switch self {
        case .dnsTimeout: ["timeouts.dns"]
        case .dnsError, .destinationNotFound, .destinationIPUnroutable, .connectionRefused,
            .connectionTerminated:
            ["proxy", "upstream.proxy", "retry"]
        case .destinationUnavailable: ["proxy", "upstream.proxy", "retry"]
        case .destinationIPProhibited: ["access.deny_targets"]
        case .connectionTimeout: ["timeouts.connect", "timeouts.tls", "proxy", "upstream.proxy"]
        case .connectionReadTimeout: ["timeouts.idle", "timeouts.tunnel_idle"]
        case .connectionWriteTimeout: ["timeouts.idle"]
        case .connectionLimitReached: ["limits.connections"]
        case .tlsProtocolError: ["tls", "upstream.tls.min"]
        case .tlsCertificateError: ["trust", "upstream.tls.require_trust_rule"]
        case .tlsAlertReceived: ["client_cert", "upstream.tls.client_cert"]
        case .httpRequestError: ["limits.", "access.paths"]
        case .httpRequestDenied: ["access.", "cross_site", "respond", "intercept.client_rejects"]
        case .httpResponseIncomplete: ["retry", "resume"]
        case .httpResponseHeaderSectionSize, .httpResponseHeaderSize: ["limits.header_bytes"]
        case .httpResponseBodySize: ["limits.body"]
        case .httpResponseTrailerSectionSize, .httpResponseTrailerSize: ["limits.trailer_bytes"]
        case .httpResponseTransferCoding, .httpResponseContentCoding, .httpProtocolError,
            .httpUpgradeFailed, .proxyInternalError:
            []
        case .httpResponseTimeout: ["timeouts.response_header", "timeouts.total", "retry"]
        case .proxyInternalResponse: ["validate", "respond"]
        case .proxyConfigurationError: ["auth", "client_cert", "trust", "proxy", "upstream.proxy"]
        case .tunnelNameDenied: ["access.deny_targets", "access.ech", "respond"]
        case .proxyLoopDetected: ["upstream.proxy", "proxy"]
        }
    }
}
