// The kinds of failures of an exchange: RFC 9209 tokens, and their status, side and retry class.

/// The reason for which lupin could not deliver a response: the error types of RFC 9209 §2.3, and
/// one of its own.
///
/// The raw value is the token, as in the record's `error.type`.
package enum ErrorKind: String, Sendable, CaseIterable {
    case dnsTimeout = "dns_timeout"
    case dnsError = "dns_error"
    case destinationNotFound = "destination_not_found"
    case destinationUnavailable = "destination_unavailable"
    case destinationIPProhibited = "destination_ip_prohibited"
    case destinationIPUnroutable = "destination_ip_unroutable"
    case connectionRefused = "connection_refused"
    case connectionTerminated = "connection_terminated"
    case connectionTimeout = "connection_timeout"
    case connectionReadTimeout = "connection_read_timeout"
    case connectionWriteTimeout = "connection_write_timeout"
    case connectionLimitReached = "connection_limit_reached"
    case tlsProtocolError = "tls_protocol_error"
    case tlsCertificateError = "tls_certificate_error"
    case tlsAlertReceived = "tls_alert_received"
    case httpRequestError = "http_request_error"
    case httpRequestDenied = "http_request_denied"
    case httpResponseIncomplete = "http_response_incomplete"
    case httpResponseHeaderSectionSize = "http_response_header_section_size"
    case httpResponseHeaderSize = "http_response_header_size"
    case httpResponseBodySize = "http_response_body_size"
    case httpResponseTrailerSectionSize = "http_response_trailer_section_size"
    case httpResponseTrailerSize = "http_response_trailer_size"
    case httpResponseTransferCoding = "http_response_transfer_coding"
    case httpResponseContentCoding = "http_response_content_coding"
    case httpResponseTimeout = "http_response_timeout"
    case httpUpgradeFailed = "http_upgrade_failed"
    case httpProtocolError = "http_protocol_error"
    case proxyInternalResponse = "proxy_internal_response"
    case proxyInternalError = "proxy_internal_error"
    case proxyConfigurationError = "proxy_configuration_error"
    case proxyLoopDetected = "proxy_loop_detected"
    /// lupin's own: what a client shows inside a tunnel is not allowed there.
    case tunnelNameDenied = "tunnel_name_denied"

    /// The token in records and responses.
    package var token: String { rawValue }

    /// The token of RFC 9209, for `Proxy-Status`.
    package var registeredToken: String {
        self == .tunnelNameDenied ? ErrorKind.httpRequestDenied.rawValue : rawValue
    }
}

/// The side at fault; the raw value is the record's `error.side`.
package enum ErrorSide: String, Sendable {
    case downstream = "client"
    case upstream
    case lupin = "proxy"
    case config
}

/// The class of a failure in a retry policy's `errors:` list; the raw value is its word there.
package enum RetryClass: String, Sendable, CaseIterable {
    case dns
    case connect
    /// The connection broke during a request that may have been processed.
    case reset
    /// The connection came from the pool and had already been closed.
    case staleConnection = "stale-connection"
    case timeout
    case tlsTransient = "tls-transient"
    /// The origin reset the stream with REFUSED_STREAM: it did not process it (RFC 9113 §8.7).
    case refusedStream = "refused-stream"
    /// The stream is above the last one of the origin's GOAWAY: it was not processed (RFC 9113
    /// §6.8).
    case goaway
    /// A retry can't help, or would do harm.
    case never
}

extension RetryClass {
    /// Whether the origin itself reports that it did not process the request, whatever was sent.
    package var isUnprocessed: Bool {
        switch self {
        case .refusedStream, .goaway: true
        case .dns, .connect, .reset, .staleConnection, .timeout, .tlsTransient, .never: false
        }
    }
}

extension ErrorKind {
    /// The default status of the response that lupin sends.
    ///
    /// As RFC 9209 §2.3 recommends, with one exception: `destination_not_found` is 502 here,
    /// because an unknown host is not an error inside lupin.
    package var defaultStatus: UInt16 {
        switch self {
        case .dnsTimeout, .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .httpResponseTimeout:
            504
        case .destinationUnavailable, .connectionLimitReached:
            503
        case .dnsError, .destinationNotFound, .destinationIPProhibited, .destinationIPUnroutable,
            .connectionRefused, .connectionTerminated, .tlsProtocolError, .tlsCertificateError,
            .tlsAlertReceived, .httpResponseIncomplete, .httpResponseHeaderSectionSize,
            .httpResponseHeaderSize, .httpResponseBodySize, .httpResponseTrailerSectionSize,
            .httpResponseTrailerSize, .httpResponseTransferCoding, .httpResponseContentCoding,
            .httpUpgradeFailed, .httpProtocolError, .proxyLoopDetected:
            502
        case .httpRequestError: 400
        case .httpRequestDenied, .tunnelNameDenied: 403
        case .proxyInternalResponse, .proxyInternalError, .proxyConfigurationError: 500
        }
    }

    /// The class in a retry policy, unless the connection came from the pool.
    package var retryClass: RetryClass {
        switch self {
        case .dnsTimeout, .dnsError: .dns
        case .destinationUnavailable, .destinationIPUnroutable, .connectionRefused,
            .connectionTimeout, .connectionLimitReached:
            .connect
        case .connectionTerminated, .httpResponseIncomplete: .reset
        case .connectionReadTimeout, .connectionWriteTimeout, .httpResponseTimeout: .timeout
        case .tlsProtocolError, .tlsAlertReceived: .tlsTransient
        case .destinationNotFound, .destinationIPProhibited, .tlsCertificateError,
            .httpRequestError, .httpRequestDenied, .httpResponseHeaderSectionSize,
            .httpResponseHeaderSize, .httpResponseBodySize, .httpResponseTrailerSectionSize,
            .httpResponseTrailerSize, .httpResponseTransferCoding, .httpResponseContentCoding,
            .httpUpgradeFailed, .httpProtocolError, .proxyInternalResponse, .proxyInternalError,
            .proxyConfigurationError, .proxyLoopDetected, .tunnelNameDenied:
            .never
        }
    }

    /// The side at fault when nothing else is known.
    package var defaultSide: ErrorSide {
        switch self {
        case .httpRequestError, .httpRequestDenied, .tunnelNameDenied: .downstream
        case .connectionLimitReached, .proxyInternalError, .proxyInternalResponse: .lupin
        case .destinationIPProhibited, .proxyConfigurationError, .proxyLoopDetected: .config
        case .dnsTimeout, .dnsError, .destinationNotFound, .destinationUnavailable,
            .destinationIPUnroutable, .connectionRefused, .connectionTerminated,
            .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .tlsProtocolError, .tlsCertificateError, .tlsAlertReceived, .httpResponseIncomplete,
            .httpResponseHeaderSectionSize, .httpResponseHeaderSize, .httpResponseBodySize,
            .httpResponseTrailerSectionSize, .httpResponseTrailerSize,
            .httpResponseTransferCoding, .httpResponseContentCoding, .httpResponseTimeout,
            .httpUpgradeFailed, .httpProtocolError:
            .upstream
        }
    }
}
