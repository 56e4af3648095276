// The alerts with which one side of a TLS connection reports why it fails.

/// An alert's number and name (RFC 8446 §6).
package struct TLSAlert: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let handshakeFailure = TLSAlert(rawValue: 40)
    package static let badCertificate = TLSAlert(rawValue: 42)
    package static let unsupportedCertificate = TLSAlert(rawValue: 43)
    package static let certificateRevoked = TLSAlert(rawValue: 44)
    package static let certificateExpired = TLSAlert(rawValue: 45)
    package static let certificateUnknown = TLSAlert(rawValue: 46)
    package static let unknownAuthority = TLSAlert(rawValue: 48)
    package static let accessDenied = TLSAlert(rawValue: 49)
    package static let protocolVersion = TLSAlert(rawValue: 70)
    package static let insufficientSecurity = TLSAlert(rawValue: 71)
    package static let unrecognizedName = TLSAlert(rawValue: 112)
    package static let badStatusResponse = TLSAlert(rawValue: 113)
    package static let certificateRequired = TLSAlert(rawValue: 116)
    package static let noApplicationProtocol = TLSAlert(rawValue: 120)

    /// The alert's name in RFC 8446 §6, or its number if it has no name there.
    package var name: String {
        TLSAlert.names[rawValue] ?? "alert \(rawValue)"
    }

    /// Whether the alert reports that its sender rejected the certificate presented to it.
    ///
    /// False for `certificate_required`: that peer saw none.
    package var rejectsCertificate: Bool {
        switch self {
        case .badCertificate, .unsupportedCertificate, .certificateRevoked, .certificateExpired,
            .certificateUnknown, .unknownAuthority, .accessDenied, .badStatusResponse:
            true
        default: false
        }
    }

    private static let names: [UInt8: String] = [
        0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow",
        40: "handshake_failure", 42: "bad_certificate", 43: "unsupported_certificate",
        44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
        47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error",
        51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
        80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled",
        100: "no_renegotiation", 109: "missing_extension", 110: "unsupported_extension",
        112: "unrecognized_name", 113: "bad_certificate_status_response",
        115: "unknown_psk_identity", 116: "certificate_required", 120: "no_application_protocol",
    ]
}
