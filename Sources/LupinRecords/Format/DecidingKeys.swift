// The keys of the rules file that affect each kind of failure.
package import LupinCore
import LupinPolicy

extension ErrorKind {
    /// The settings and rule keys to check in order to change the outcome.
    ///
    /// A name that ends with a dot stands for what the file itself says there or below, since the
    /// default refuses nothing. The switch is exhaustive, so every kind must list its keys; for
    /// refused requests they depend on the status, as the sentence does.
    package func decidingKeys(status: UInt16) -> [String] {
        switch self {
        case .dnsTimeout: ["timeouts.dns", "upstream.dns.ttl"] + Self.way
        case .dnsError: ["upstream.dns.ttl"] + Self.way
        case .destinationNotFound: ["tape.match", "tape.ignore"]
        // An address may have been remembered for too long.
        case .destinationUnavailable, .destinationIPUnroutable, .connectionRefused,
            .connectionTerminated:
            Self.way + ["upstream.dns."]
        case .destinationIPProhibited: ["access.deny_targets"]
        case .connectionTimeout:
            ["timeouts.connect", "timeouts.tls"] + Self.way + ["upstream.dns."]
        case .connectionReadTimeout: ["timeouts.idle", "timeouts.tunnel_idle", "retry", "resume"]
        case .connectionWriteTimeout: ["timeouts.idle", "retry"]
        case .connectionLimitReached: ["limits.connections"]
        case .tlsProtocolError: ["tls", "upstream.tls.min", "intercept.except"]
        case .tlsCertificateError: ["trust", "upstream.tls.roots", "intercept.except"]
        case .tlsAlertReceived: ["client_cert", "upstream.tls.client_cert"]
        case .httpRequestError: Self.keys(ofRequestError: status)
        case .httpRequestDenied: Self.keys(ofDeniedRequest: status)
        case .httpResponseIncomplete: ["retry", "resume"]
        case .httpResponseHeaderSectionSize, .httpResponseHeaderSize:
            ["limits.header_bytes", "limits.header_fields"]
        case .httpResponseBodySize: ["limits.body"]
        case .httpResponseTrailerSectionSize, .httpResponseTrailerSize: ["limits.trailer_bytes"]
        case .httpResponseContentCoding: ["scrub", "stand_ins", "response", "validate"]
        case .httpUpgradeFailed: ["scrub", "stand_ins"]
        case .httpProtocolError: ["upstream.strict."]
        // Where a body ends is not for a setting to say.
        case .httpResponseTransferCoding: []
        case .httpResponseTimeout: ["timeouts.response_header", "timeouts.total", "retry"]
        case .proxyInternalError where status == 502:
            ["request", "response", "redirect", "respond"]
        case .proxyInternalError: ["respond"]
        case .proxyInternalResponse: ["validate", "respond"]
        case .proxyConfigurationError: ["auth", "client_cert", "trust", "proxy", "upstream.proxy"]
        case .tunnelNameDenied:
            ["access.deny_targets", "access.opaque_ports", "access.ech", "respond"]
        case .proxyLoopDetected: ["upstream.proxy", "proxy"]
        }
    }

    /// By which way a request goes to a server, and whether it goes again.
    private static let way = ["proxy", "upstream.proxy", "upstream.no_proxy.", "retry"]

    private static func keys(ofRequestError status: UInt16) -> [String] {
        switch status {
        case 408: ["timeouts.client_header", "timeouts.min_rate"]
        case 413: ["limits.body"]
        case 414: ["limits.request_line"]
        case 429: ["limits.connections", "limits.client_connections"]
        case 431: ["limits.header_bytes", "limits.header_fields"]
        case 505: ["listen"]
        default: []
        }
    }

    private static func keys(ofDeniedRequest status: UInt16) -> [String] {
        switch status {
        // Other rules hold for the path as some servers read it.
        case 400: ["access.paths"]
        case 407: ["listen"]
        // What the client says of its target contradicts itself.
        case 421: []
        default:
            [
                "access.", "upstream.tls.require_trust_rule.", "cross_site", "stand_ins",
                "respond", "intercept.client_rejects.",
            ]
        }
    }
}

extension SettingsTable {
    /// The settings that a sentence names.
    static func named(in sentence: String) -> [String] {
        let words = sentence.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
            .map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) }
        return settings.map(\.name).filter { $0.contains(".") && words.contains($0) }
    }
}
